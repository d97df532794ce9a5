/*
 * What programs of mas may call. A C library may use other calls of a family than the one of today,
 * so that the lists have families.
 */
#include "filter/filter.h"

#include "filter/rules.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

enum { EXIT_BY_FILTER = 128 + SIGSYS, TYPE_MASK = 0xf /* the rest of a socket's type is flags */ };

/* clang-format off */
static const char *const memory[] = {
    "brk", "madvise", "map_shadow_stack", "mincore", "mmap", "mmap2", "mprotect", "mremap",
    "mseal", "msync", "munmap",
};
static const char *const threads[] = {
    "arch_prctl", "exit", "exit_group", "futex", "futex_requeue", "futex_time64", "futex_wait",
    "futex_waitv", "futex_wake", "get_robust_list", "getcpu", "getpid", "getppid", "gettid",
    "membarrier", "prctl", "restart_syscall", "rseq", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "sched_yield", "set_robust_list", "set_tid_address",
};
static const char *const signals[] = {
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_sigtimedwait_time64", "sigaltstack", "sigreturn",
};
static const char *const clocks[] = {
    "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
    "clock_nanosleep", "clock_nanosleep_time64", "gettimeofday", "nanosleep", "time",
};
/* What a process may know of itself and its machine. */
static const char *const facts[] = {
    "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getrandom",
    "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "getuid", "sysinfo", "times", "ugetrlimit", "umask", "uname",
};
static const char *const descriptors[] = {
    "_llseek", "close", "close_range", "dup", "dup2", "dup3", "eventfd2", "fcntl", "fcntl64",
    "fstat", "fstat64", "lseek", "pipe2", "poll", "ppoll", "ppoll_time64", "pread64",
    "preadv", "preadv2", "pselect6", "pselect6_time64", "pwrite64", "pwritev", "pwritev2",
    "read", "readv", "select", "_newselect", "write", "writev",
};
static const char *const reads_files[] = {
    "access", "faccessat", "faccessat2", "fadvise64", "fadvise64_64", "fchdir", "fgetxattr",
    "flistxattr", "flock", "fstatat64", "fstatfs", "fstatfs64", "getcwd", "getdents64",
    "lstat", "lstat64", "newfstatat", "open", "openat", "openat2",
    "readahead", "readlink", "readlinkat", "stat", "stat64", "statfs", "statfs64", "statx",
};
static const char *const writes_files[] = {
    "copy_file_range", "fallocate", "fchmod", "fchmodat", "fchmodat2", "fdatasync", "fsync",
    "ftruncate", "ftruncate64", "futimesat", "link", "linkat", "mkdir", "mkdirat", "rename",
    "renameat", "renameat2", "rmdir", "symlink", "symlinkat", "sync_file_range", "syncfs",
    "unlink", "unlinkat", "utimensat", "utimensat_time64",
};
/* Connections that are there already. */
static const char *const connections[] = {
    "getpeername", "getsockname", "getsockopt", "recv", "recvfrom", "recvmsg", "send",
    "sendmsg", "sendto", "shutdown",
};
/* Connections to hosts, and SQLite, which keeps the owner of its files if root runs it. */
static const char *const meets_hosts[] = {
    "connect", "fchown", "fchown32", "setsockopt", "signalfd", "signalfd4",
};
/* Answers to those who connect. */
static const char *const answers[] = {
    "accept", "accept4", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait",
    "memfd_create", "socketpair", "wait4", "waitid",
};
/* Logs that grow. */
static const char *const follows_files[] = {"inotify_add_watch", "inotify_init1"};
/* Servers, names of hosts, whose libraries differ by machine, and processes of this program. */
static const char *const serves_hosts[] = {
    "bind", "kill", "pidfd_open", "recvmmsg", "recvmmsg_time64", "sendmmsg", "timerfd_create",
    "timerfd_settime",
};
/* clang-format on */

static const struct {
    const char *const *calls;
    size_t count;
    unsigned programs; /* bits, by enum filter_program */
} families[] = {
#define FAMILY(list, programs)                                                                     \
    {                                                                                              \
        list, ARRAY_LEN(list), programs                                                            \
    }
#define SOCKETS (1U << FILTER_CHAT | 1U << FILTER_NETWORK | 1U << FILTER_SERVE)
#define ALL (1U << FILTER_ARCHIVE | SOCKETS)
    FAMILY(memory, ALL),
    FAMILY(threads, ALL),
    FAMILY(signals, ALL),
    FAMILY(clocks, ALL),
    FAMILY(facts, ALL),
    FAMILY(descriptors, ALL),
    FAMILY(reads_files, ALL),
    FAMILY(writes_files, ALL),
    FAMILY(connections, ALL),
    FAMILY(meets_hosts, SOCKETS),
    FAMILY(answers, 1U << FILTER_NETWORK | 1U << FILTER_SERVE),
    FAMILY(follows_files, 1U << FILTER_SERVE),
    FAMILY(serves_hosts, 1U << FILTER_NETWORK),
};

/* Says which call it was, without functions that a signal may not use, and ends the program. */
static void on_refused(int sig, siginfo_t *info, void *context)
{
    static const char said[] = "this program has no use for system call ";
    char text[sizeof said + 12];
    char digits[12];
    size_t count = 0;
    size_t at = sizeof said - 1;

    (void)sig;
    (void)context;
    memcpy(text, said, at);
    for (unsigned n = (unsigned)info->si_syscall; count == 0 || n > 0; n /= 10)
        digits[count++] = (char)('0' + n % 10);
    while (count > 0)
        text[at++] = digits[--count];
    text[at++] = '\n';
    (void)!write(STDERR_FILENO, text, at);
    _exit(EXIT_BY_FILTER);
}

/* What a program that draws asks of its terminal; not what types into it. */
static void allow_terminal(struct rules *rules)
{
    static const unsigned asked[] = {
        FIONREAD, TCFLSH,   TCSBRK,   TCSETS,    TCSETSF,  TCSETSW,    TCXONC,   TCGETS2,
        TCSETS2,  TCSETSF2, TCSETSW2, TIOCGPGRP, TIOCGSID, TIOCGWINSZ, TIOCOUTQ,
    };

    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        rules_add_one(rules, SCMP_ACT_ALLOW, "ioctl", RULE_IS(1, asked[i]));
}

/* Calls that are allowed with some arguments only. */
static void allow_some(struct rules *rules)
{
    const unsigned thread = CLONE_VM | CLONE_THREAD; /* no processes */

    rules_add_one(rules, SCMP_ACT_ALLOW, "clone", RULE_BITS(0, thread, thread));
    rules_add(rules, SCMP_ACT_ERRNO(ENOSYS), "clone3", NULL, 0);
    rules_add_one(rules, SCMP_ACT_ALLOW, "tgkill", RULE_IS(0, (unsigned)getpid())); /* abort() */
    rules_add_one(rules, SCMP_ACT_ALLOW, "prlimit64", RULE_IS(0, 0)); /* its own */
    rules_add_one(rules, SCMP_ACT_ALLOW, "ioctl", RULE_IS(1, TCGETS)); /* isatty() */
}

/* Sockets to anywhere, but none that skips the kernel's protocols; fork(). */
static void allow_network(struct rules *rules)
{
    static const unsigned ip[] = {AF_INET, AF_INET6};
    const unsigned fork = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | 0xffU; /* and its signal */
    const struct scmp_arg_cmp routes[] = {RULE_IS(0, AF_NETLINK), RULE_IS(2, NETLINK_ROUTE)};

    for (size_t i = 0; i < ARRAY_LEN(ip); i++) {
        const struct scmp_arg_cmp stream[] = {RULE_IS(0, ip[i]),
                                              RULE_BITS(1, TYPE_MASK, SOCK_STREAM)};
        const struct scmp_arg_cmp datagram[] = {RULE_IS(0, ip[i]),
                                                RULE_BITS(1, TYPE_MASK, SOCK_DGRAM)};
        rules_add(rules, SCMP_ACT_ALLOW, "socket", stream, ARRAY_LEN(stream));
        rules_add(rules, SCMP_ACT_ALLOW, "socket", datagram, ARRAY_LEN(datagram));
    }
    rules_add(rules, SCMP_ACT_ALLOW, "socket", routes, ARRAY_LEN(routes));
    rules_add_one(rules, SCMP_ACT_ALLOW, "ioctl", RULE_IS(1, FIONREAD));
    rules_add_one(rules, SCMP_ACT_ALLOW, "clone", RULE_BITS(0, ~fork, 0));
}

bool filter_is_on(void)
{
    return !IS_SANITIZED && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != -1;
}

int filter_program_load(enum filter_program program, struct err *err)
{
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};
    struct rules rules;

    if (!filter_is_on())
        return 0;
    if (sigaction(SIGSYS, &action, NULL) == -1)
        return err_errno(err, "cannot catch signals");
    rules_begin(&rules, SCMP_ACT_TRAP);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if ((families[i].programs & 1U << program) != 0)
            rules_add_all(&rules, SCMP_ACT_ALLOW, families[i].calls, families[i].count);
    allow_some(&rules);
    if (program == FILTER_CHAT)
        allow_terminal(&rules);
    if (program == FILTER_NETWORK)
        allow_network(&rules);
    if (program != FILTER_ARCHIVE)
        rules_add_one(&rules, SCMP_ACT_ALLOW, "socket", RULE_IS(0, AF_UNIX));
    return rules_load(&rules, err);
}
