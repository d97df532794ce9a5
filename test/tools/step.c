/*
 * Ends a program at a step of it, or lets it run out of memory there. A step is a system call.
 *
 *   step kill|memory NAME N -p PID
 *   step kill|memory NAME N -- COMMAND...
 *
 * Follows the process, and all that it starts from then on. Those of them that have this NAME (as
 * in /proc/PID/comm; `self` is the first one, whatever its name) are counted together: whoever
 * makes their Nth call is killed instead, or gets ENOMEM for it and for all that it asks for later.
 * For `memory` only calls that ask for memory count. With N = 0 nothing happens.
 *
 * Ends with the command, or with all processes, or lets them go on SIGTERM. Prints how many calls
 * there were.
 */
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { NAME_ROOM = 64, POOR_MAX = 256, SYSCALL_STOP = SIGTRAP | 0x80 };

static const char *role;
static bool memory;
static unsigned long wanted;
static volatile sig_atomic_t count; /* steps so far; for tell(), too */
static pid_t first;
/* those that get no memory any more */
static struct poor {
    pid_t pid;
    bool is_refused; /* the call that it is in */
    unsigned long long end; /* that it asked brk(2) for in it; 0: another call */
} poor[POOR_MAX];
static size_t poor_count;

static void tell(int signal_or_0)
{
    (void)signal_or_0;
    char text[16], *at = text + sizeof text;
    unsigned long n = (unsigned long)count;

    *--at = '\n';
    do
        *--at = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    ssize_t written = write(STDOUT_FILENO, at, (size_t)(text + sizeof text - at));
    _exit(written < 0);
}

static bool is_wanted(pid_t pid)
{
    char path[NAME_ROOM], name[NAME_ROOM] = "";

    if (pid == first)
        return strcmp(role, "self") == 0;
    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(name, sizeof name, file) == NULL)
        name[0] = '\0';
    (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return strcmp(role, name) == 0;
}

static bool asks_for_memory(uint64_t nr)
{
    switch (nr) {
    case SYS_brk:
    case SYS_mmap:
    case SYS_mremap:
    case SYS_clone:
    case SYS_clone3:
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
#endif
        return true;
    default:
        return false;
    }
}

static struct poor *find_poor(pid_t pid)
{
    for (size_t i = 0; i < poor_count; i++)
        if (poor[i].pid == pid)
            return &poor[i];
    return NULL;
}

#ifdef __x86_64__
static void set_register(pid_t pid, size_t offset, long value)
{
    (void)ptrace(PTRACE_POKEUSER, pid, offset, value);
}

/* Takes the call away. brk(2) says that it has failed by the end that there is. */
static void refuse(pid_t pid, unsigned long long nr)
{
    if (nr == SYS_brk)
        set_register(pid, offsetof(struct user_regs_struct, rdi), 0);
    else
        set_register(pid, offsetof(struct user_regs_struct, orig_rax), -1);
}

static void say_refused(pid_t pid, unsigned long long end)
{
    if (end != 0)
        set_register(pid, offsetof(struct user_regs_struct, rdi), (long)end);
    else
        set_register(pid, offsetof(struct user_regs_struct, rax), -ENOMEM);
}
#else
static void refuse(pid_t pid, unsigned long long nr)
{
    (void)pid;
    (void)nr;
}

static void say_refused(pid_t pid, unsigned long long end)
{
    (void)pid;
    (void)end;
}
#endif

static void at_entry(pid_t pid, unsigned long long nr, unsigned long long argument)
{
    if ((memory && !asks_for_memory(nr)) || !is_wanted(pid))
        return;
    struct poor *refused = find_poor(pid);
    bool is_here = (unsigned long)++count == wanted;
    if (is_here)
        (void)fprintf(stderr, "%s %d at call %llu\n", memory ? "starves" : "kills", pid, nr);
    if (is_here && !memory)
        (void)kill(pid, SIGKILL);
    if (is_here && memory && refused == NULL && poor_count < POOR_MAX) {
        refused = &poor[poor_count++];
        refused->pid = pid;
    }
    if (refused == NULL)
        return;
    refused->is_refused = true;
    refused->end = nr == SYS_brk ? argument : 0;
    refuse(pid, nr);
}

static void at_call(pid_t pid)
{
    struct __ptrace_syscall_info info = {.op = PTRACE_SYSCALL_INFO_NONE};
    struct poor *refused = find_poor(pid);

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        at_entry(pid, info.entry.nr, info.entry.args[0]);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && refused != NULL && refused->is_refused) {
        refused->is_refused = false;
        say_refused(pid, refused->end);
    }
}

/* Lets a process go on that has stopped. */
static void serve(pid_t pid, int status)
{
    int event = status >> 16, stop = WSTOPSIG(status), passed = 0;

    if (event == PTRACE_EVENT_STOP &&
        (stop == SIGSTOP || stop == SIGTSTP || stop == SIGTTIN || stop == SIGTTOU)) {
        (void)ptrace(PTRACE_LISTEN, pid, 0, 0);
        return;
    }
    if (stop == SYSCALL_STOP)
        at_call(pid);
    else if (event == 0)
        passed = stop;
    (void)ptrace(PTRACE_SYSCALL, pid, 0, (long)passed);
}

/* Follows all until the last has ended, or, with `is_ours`, the first. */
static int follow(bool is_ours)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL)) != -1) {
        if (WIFSTOPPED(status))
            serve(pid, status);
        else if (is_ours && pid == first)
            return 0;
    }
    return errno == ECHILD ? 0 : -1;
}

static int seize(pid_t pid)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;

    if (ptrace(PTRACE_SEIZE, pid, 0, options) == -1 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) == -1)
        return -1;
    (void)fprintf(stderr, "follows %d\n", pid);
    return 0;
}

/* Starts the command, which waits until it is followed. */
static pid_t start(char **argv)
{
    int gate[2];

    if (pipe(gate) == -1)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(gate[1]);
        (void)!read(gate[0], &byte, 1);
        (void)close(gate[0]);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(gate[0]); /* the other end closes when this program goes on */
    if (pid != -1 && seize(pid) == -1)
        return -1;
    (void)close(gate[1]);
    return pid;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tell};

    if (argc < 6 || (strcmp(argv[1], "kill") != 0 && strcmp(argv[1], "memory") != 0)) {
        (void)fprintf(stderr, "usage: step kill|memory NAME N -p PID | -- COMMAND...\n");
        return 2;
    }
    memory = strcmp(argv[1], "memory") == 0;
    role = argv[2];
    wanted = strtoul(argv[3], NULL, 10);
    (void)sigaction(SIGTERM, &action, NULL);
    bool is_running = strcmp(argv[4], "-p") == 0;
    first = is_running ? (pid_t)strtol(argv[5], NULL, 10) : start(argv + 5);
#ifndef __x86_64__
    if (memory) {
        (void)fprintf(stderr, "step: memory needs the registers of an x86_64\n");
        return 77;
    }
#endif
    if (first == -1 || (is_running && seize(first) == -1)) {
        (void)fprintf(stderr, "step: cannot follow: %s\n", strerror(errno));
        return 77;
    }
    if (follow(!is_running) == -1)
        return 1;
    tell(0);
}
