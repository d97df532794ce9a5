/* The filters of mas's own programs: each call is tried in a child that has loaded the filter. */
#include "unit.h"

#include "filter/filter.h"
#include "filter/rules.h"
#include "os/landlock.h"
#include "os/proc.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

static int try_raw(void)
{
    return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) == -1;
}
static int try_fork_and_wait(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    return pid == -1 || waitpid(pid, &status, 0) != pid || status != 0;
}
static int try_namespace(void)
{
    return (int)syscall(SYS_clone, SIGCHLD | CLONE_NEWNS, NULL, NULL, NULL, 0) == -1;
}
static int try_names(void)
{
    struct addrinfo *all = NULL;
    int found = getaddrinfo("localhost", "80", NULL, &all);

    if (found == 0)
        freeaddrinfo(all);
    return 0; /* what it finds depends on the machine; how it looks must be allowed */
}

/* What no program of mas has a use for, and what each needs. */
static void check_all(int program, bool sockets)
{
    if (!filter_is_on())
        UNIT_SKIP("no seccomp, or a build with sanitizers");
    check("execve", program, try_exec, false);
    check("ptrace", program, try_ptrace, false);
    check("tgkill of another process", program, try_tgkill, false);
    check("limit of another process", program, try_limit_of_parent, false);
    check("chown", program, try_chown, false);
    check("socket", program, try_socket, sockets);
    check("file", program, try_file, true);
    check("thread", program, try_thread, true);
    check("memory", program, try_memory, true);
    check("signal to itself", program, try_signal_to_itself, true);
}

static void check_alone(int program)
{
    if (!filter_is_on())
        return;
    check("fork", program, try_fork, false);
    check("kill", program, try_kill, false);
    check("inet", program, try_inet, false);
}

TEST(mas_archive_works_on_files_only)
{
    check_all(FILTER_ARCHIVE, false);
    check_alone(FILTER_ARCHIVE);
}

TEST(mas_network_connects_to_all_and_starts_no_program)
{
    check_all(FILTER_NETWORK, true);
    if (!filter_is_on())
        return;
    check("inet", FILTER_NETWORK, try_inet, true);
    check("names", FILTER_NETWORK, try_names, true);
    check("fork", FILTER_NETWORK, try_fork_and_wait, true);
    check("raw", FILTER_NETWORK, try_raw, false);
    check("namespace", FILTER_NETWORK, try_namespace, false);
    check("TIOCSTI", FILTER_NETWORK, try_typing, false);
}

TEST(mas_chat_connects_to_hosts_too)
{
    check_all(FILTER_CHAT, true);
    check_alone(FILTER_CHAT);
    if (filter_is_on())
        check("TIOCSTI", FILTER_CHAT, try_typing, false);
}

static int try_pair(void)
{
    int pair[2];

    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == -1;
}
static int try_accept(void)
{
    return accept4(STDIN_FILENO, NULL, NULL, 0) == -1 && errno != ENOTSOCK && errno != EBADF;
}
static int try_bind(void)
{
    return bind(STDIN_FILENO, NULL, 0) == -1 && errno != ENOTSOCK && errno != EBADF;
}
static int try_listen(void)
{
    return listen(STDIN_FILENO, 1) == -1 && errno != ENOTSOCK && errno != EBADF;
}
static int try_to_look_into_parent(void)
{
    return syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0) == -1 && errno == ENOSYS;
}

TEST(mas_serve_answers_and_starts_nothing)
{
    check_all(FILTER_SERVE, true);
    check_alone(FILTER_SERVE);
    if (!filter_is_on())
        return;
    check("socketpair", FILTER_SERVE, try_pair, true);
    check("accept", FILTER_SERVE, try_accept, true);
    check("bind", FILTER_SERVE, try_bind, false);
    check("listen", FILTER_SERVE, try_listen, false);
    check("process_vm_readv", FILTER_SERVE, try_to_look_into_parent, false);
    check("TIOCSTI", FILTER_SERVE, try_typing, false);
}

enum { FILE_SETATTR = 469, OPEN_TREE_ATTR = 467, PIDFD_OPEN = 434, NOT_LOADED = 200 };

/* The number that a call has here: from 424 on all machines count alike, some from another number.
 */
static long number_of(int call)
{
    return SYS_pidfd_open - PIDFD_OPEN + call;
}

/* Returns the errno of a call with arguments that no kernel takes, behind this filter of an agent.
 */
static int error_behind(const struct filter_agent *what, int call)
{
    struct err err = ERR_INIT;
    int status = -1;
    pid_t pid = proc_fork();

    if (pid == 0) {
        if (filter_agent_load(what, &err) == -1)
            _exit(NOT_LOADED);
        _exit(syscall(number_of(call), -1, NULL, -1, NULL, 0) == -1 ? errno : 0);
    }
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Debian 12's libseccomp is older than these two. */
TEST(agents_may_not_make_calls_that_libseccomp_does_not_know)
{
    const struct filter_agent plain = {.network = FILTER_OPEN};
    const struct filter_agent nested = {.network = FILTER_OPEN, .nested = true};

    if (!filter_is_on())
        UNIT_SKIP("no seccomp, or a build with sanitizers");
    errno = 0;
    if (syscall(number_of(FILE_SETATTR), -1, NULL, -1, NULL, 0) == -1 && errno == ENOSYS)
        UNIT_SKIP("the kernel has no file_setattr");
    CHECK_INT(error_behind(&plain, FILE_SETATTR), ENOSYS);
    CHECK_INT(error_behind(&nested, FILE_SETATTR), ENOSYS);
    CHECK_INT(error_behind(&plain, OPEN_TREE_ATTR), ENOSYS);
}

/* What an older Landlock than version 3 does not hold. */
static int cut_off_behind_a_filter(const char *path)
{
    const struct filter_agent what = {.network = FILTER_OPEN};
    static const int denied[] = {O_RDONLY | O_TRUNC, O_RDONLY | O_TRUNC | O_CREAT, 3 | O_TRUNC};
    static const int allowed[] = {O_RDONLY, O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC | O_CREAT, 3};
    struct err err = ERR_INIT;

    if (filter_agent_load(&what, &err) == -1)
        return NOT_LOADED;
    for (size_t i = 0; i < ARRAY_LEN(denied); i++)
        if (open(path, denied[i] | O_CLOEXEC, 0600) != -1 || errno != EPERM)
            return 1 + (int)i;
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        if (open(path, allowed[i] | O_CLOEXEC, 0600) == -1)
            return 10 + (int)i;
    if (syscall(SYS_truncate, path, 0) != -1 || errno != EPERM)
        return 20;
    return syscall(SYS_openat2, AT_FDCWD, path, NULL, 0) == -1 && errno == ENOSYS ? 0 : 21;
}

TEST(a_filter_holds_truncation_where_landlock_does_not)
{
    char path[] = "/tmp/mas-test-XXXXXX";
    int status = -1;

    if (!filter_is_on())
        UNIT_SKIP("no seccomp, or a build with sanitizers");
    int fd = mkostemp(path, O_CLOEXEC);
    REQUIRE(fd != -1);
    pid_t pid = proc_fork();
    if (pid == 0)
        _exit(cut_off_behind_a_filter(path));
    (void)waitpid(pid, &status, 0);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    (void)close(fd);
    (void)unlink(path);
}

/* A filter that knows the calls up to pidfd_open(): the ones after it are there, and it denies
 * them. */
static int call_behind_an_old_filter(void)
{
    struct rules rules;
    struct err err = ERR_INIT;

    rules_begin(&rules, SCMP_ACT_ALLOW);
    rules_know(&rules, PIDFD_OPEN);
    if (rules_load(&rules, &err) == -1)
        return NOT_LOADED;
    if (syscall(SYS_pidfd_open, getpid(), 0) == -1)
        return 1;
    return close_range(100, 101, 0) == -1 && errno == ENOSYS ? 0 : 2; /* 436 */
}

TEST(calls_that_are_newer_than_a_filter_are_not_there)
{
    int status = -1;

    if (!filter_is_on())
        UNIT_SKIP("no seccomp, or a build with sanitizers");
    if (close_range(100, 101, 0) == -1)
        UNIT_SKIP("the kernel has no close_range");
    pid_t pid = proc_fork();
    if (pid == 0)
        _exit(call_behind_an_old_filter());
    (void)waitpid(pid, &status, 0);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* Makes a file in the directory and removes another one, behind rules that let it only remove. */
static int remove_only(int dir)
{
    struct landlock_path paths[] = {{.access = ACCESS_READ, .path = "/"},
                                    {.access = ACCESS_REMOVE, .fd = dir}};
    const struct landlock landlock = {.paths = paths, .path_count = ARRAY_LEN(paths)};
    struct err err = ERR_INIT;

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (landlock_enter(&landlock, &err) == -1)
        return 1;
    if (openat(dir, "new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) != -1 || errno != EACCES)
        return 2;
    if (openat(dir, "old", O_WRONLY | O_CLOEXEC) != -1 || errno != EACCES)
        return 3;
    return unlinkat(dir, "old", 0) == 0 ? 0 : 4;
}

TEST(a_directory_may_be_for_removing_only)
{
    char path[] = "/tmp/mas-test-XXXXXX";
    int status = -1;

    if (landlock_abi() < LANDLOCK_FILES)
        UNIT_SKIP("no Landlock");
    REQUIRE(mkdtemp(path) != NULL);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, "old", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    pid_t pid = proc_fork();
    if (pid == 0)
        _exit(remove_only(dir));
    (void)waitpid(pid, &status, 0);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    (void)close(fd);
    (void)close(dir);
    (void)rmdir(path);
}
