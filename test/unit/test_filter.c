/* The filters of mas's own programs: each call is tried in a child that has loaded the filter. */
#include "unit.h"

#include "base/proc.h"
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BY_FILTER = 128 + SIGSYS, SAID_MAX = 256 };

#define REFUSED "this program has no use for system call "

/* ---- what may be tried; each returns 0 if it worked */

static int try_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) == -1;
}
static int try_inet(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) == -1;
}
static int try_exec(void)
{
    char *argv[] = {(char[]){"true"}, NULL};
    struct err ignored = ERR_INIT;

    return proc_exec("/bin/true", argv, NULL, &ignored) == -1;
}
static int try_fork(void)
{
    return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) == -1;
}
static int try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1;
}
static int try_kill(void)
{
    return kill(getppid(), 0) == -1;
}
static int try_tgkill(void)
{
    return syscall(SYS_tgkill, getppid(), getppid(), 0) == -1;
}
static int try_limit_of_parent(void)
{
    return prlimit(getppid(), RLIMIT_CORE, NULL, &(struct rlimit){0}) == -1;
}
static int try_chown(void)
{
    return chown("/nowhere/at/all", 0, 0) == -1 && errno != ENOENT;
}
static int try_typing(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    return ioctl(fd, TIOCSTI, "x") == -1 && errno == EPERM;
}
static int try_file(void)
{
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    char c;

    return fd == -1 || read(fd, &c, 1) != 1 || close(fd) == -1;
}
static void *run_thread(void *arg)
{
    *(int *)arg = 1;
    return arg;
}
static int try_thread(void)
{
    pthread_t thread;
    int ran = 0;

    return pthread_create(&thread, NULL, run_thread, &ran) != 0 ||
           pthread_join(thread, NULL) != 0 || ran != 1;
}
static int try_memory(void)
{
    char *p = malloc(64 << 20);

    if (p == NULL)
        return 1;
    p[0] = 1;
    free(p);
    return 0;
}
static int try_signal_to_itself(void)
{
    return raise(0) != 0;
}

/* Returns how a child ended that tried it behind the filter of this program (-1: no filter); its
 * line on stderr is in `said`. */
static int run(int (*try)(void), int program, char said[SAID_MAX])
{
    int pair[2];
    int status = -1;

    said[0] = '\0';
    if (pipe2(pair, O_CLOEXEC) == -1)
        return -1;
    pid_t pid = proc_fork();
    if (pid == 0) {
        struct err err = ERR_INIT;
        (void)dup2(pair[1], STDERR_FILENO);
        if (program >= 0 && filter_program_load((enum filter_program)program, &err) == -1)
            _exit(99);
        _exit(try());
    }
    (void)close(pair[1]);
    ssize_t n = read(pair[0], said, SAID_MAX - 1);
    said[n > 0 ? n : 0] = '\0';
    (void)close(pair[0]);
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void check(const char *name, int program, int (*try)(void), bool may)
{
    char said[SAID_MAX];

    if (run(try, -1, said) != 0)
        return; /* the machine does not let it, either */
    int status = run(try, program, said);
    bool right = may ? status == 0 : status == BY_FILTER && strstr(said, REFUSED) == said;
    if (!right)
        printf("# %s: %d, %s\n", name, status, said);
    CHECK(right);
}

static void check_all(int program, bool sockets)
{
    if (!filter_is_on())
        UNIT_SKIP("no seccomp, or a build with sanitizers");
    check("execve", program, try_exec, false);
    check("fork", program, try_fork, false);
    check("ptrace", program, try_ptrace, false);
    check("kill", program, try_kill, false);
    check("tgkill of another process", program, try_tgkill, false);
    check("limit of another process", program, try_limit_of_parent, false);
    check("chown", program, try_chown, false);
    check("socket", program, try_socket, sockets);
    check("inet", program, try_inet, false);
    check("file", program, try_file, true);
    check("thread", program, try_thread, true);
    check("memory", program, try_memory, true);
    check("signal to itself", program, try_signal_to_itself, true);
}

static void mas_archive_works_on_files_only(void)
{
    check_all(FILTER_ARCHIVE, false);
}

static void mas_chat_connects_to_hosts_too(void)
{
    check_all(FILTER_CHAT, true);
    if (filter_is_on())
        check("TIOCSTI", FILTER_CHAT, try_typing, false);
}

static const struct unit_test tests[] = {
    TEST(mas_chat_connects_to_hosts_too),
    TEST(mas_archive_works_on_files_only),
};

int main(void)
{
    return UNIT_RUN(tests);
}
