/*
 * The ways out of an agent's wall that are easier said in C; test/wall/escape.py runs it.
 *
 *   escape WHAT [WORD...]
 *
 * Prints what it got hold of and exits with 0; otherwise it says on standard error what failed. 77:
 * this machine does not have what it needs.
 */
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { ABSENT = 77, ROOM = 512, USER_KEYRING = -4 };

static char room[ROOM];

static int fail(const char *what)
{
    int code = errno == ENOSYS || errno == ENOENT ? 2 : 1;

    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return code;
}

static int absent(const char *why)
{
    (void)fprintf(stderr, "%s\n", why);
    return ABSENT;
}

static int got(const char *text)
{
    return puts(text) == EOF || fflush(stdout) == EOF;
}

static long number(const char *text)
{
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

static void *at_address(const char *text)
{
    return (void *)strtoul(text, NULL,
                           10); /* NOLINT(performance-no-int-to-ptr) of another process */
}

static size_t length(const char *text)
{
    size_t len = strtoul(text, NULL, 10);

    return len < ROOM ? len : ROOM - 1;
}

/* Looking into another process: PID ADDRESS LENGTH */
static int look_readv(char **word)
{
    struct iovec to = {room, length(word[2])}, from = {at_address(word[1]), length(word[2])};

    if (process_vm_readv((pid_t)number(word[0]), &to, 1, &from, 1, 0) == -1)
        return fail("process_vm_readv");
    return got(room);
}

static int look_ptrace(char **word)
{
    pid_t pid = (pid_t)number(word[0]);
    size_t len = length(word[2]);

    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1 ||
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == -1)
        return fail("ptrace");
    (void)waitpid(pid, NULL, __WALL);
    for (size_t i = 0; i < len; i += sizeof(long)) {
        long part = ptrace(PTRACE_PEEKDATA, pid, (char *)at_address(word[1]) + i, NULL);
        memcpy(room + i, &part, sizeof part);
    }
    (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return got(room);
}

static int seize(char **word)
{
    if (ptrace(PTRACE_SEIZE, (pid_t)number(word[0]), NULL, NULL) == -1)
        return fail("ptrace");
    return got("a tracer");
}

static int take_descriptor(char **word)
{
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)number(word[0]), 0);
    int fd = pidfd == -1 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)number(word[1]), 0);

    if (fd == -1)
        return fail("pidfd_getfd");
    if (pread(fd, room, ROOM - 1, 0) == -1)
        return fail("pread");
    return got(room);
}

/* Typing: TTY. A filter that compares all 64 bits of an argument lets the second one pass, one that
 * does not look at the architecture the third. */
static int type_into(char **word, unsigned long request)
{
    int fd = open(word[0], O_RDWR | O_NOCTTY);

    if (fd == -1)
        return fail(word[0]);
    if (syscall(SYS_ioctl, fd, request, "x") == -1)
        return errno == EIO ? absent("dev.tty.legacy_tiocsti is 0") : fail("TIOCSTI");
    return got("typed");
}

static int type_plain(char **word)
{
    return type_into(word, TIOCSTI);
}

static int type_high(char **word)
{
    return type_into(word, 0x100000000UL | TIOCSTI);
}

static int paste(char **word)
{
    int fd = open(word[0], O_RDWR | O_NOCTTY);
    char paste_selection = 3;

    if (fd == -1)
        return fail(word[0]);
    if (ioctl(fd, TIOCLINUX, &paste_selection) == -1)
        return errno == ENOTTY ? absent("not a console") : fail("TIOCLINUX");
    return got("pasted");
}

#ifdef __x86_64__
/* A call of the 32-bit kind, from a program of 64 bits. */
static long call_32(long nr, long a, long b, long c)
{
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static int type_32(char **word)
{
    char *low =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    int fd = open(word[0], O_RDWR | O_NOCTTY);

    if (low == MAP_FAILED || fd == -1)
        return fail(word[0]);
    *low = 'x';
    if (call_32(54, fd, TIOCSTI, (long)low) == -1)
        return errno == EIO ? absent("dev.tty.legacy_tiocsti is 0") : fail("TIOCSTI");
    return got("typed");
}

static int userns_32(char **word)
{
    (void)word;
    if (call_32(310, CLONE_NEWUSER, 0, 0) == -1)
        return fail("unshare");
    return got("a user namespace");
}
#else
static int type_32(char **word)
{
    (void)word;
    return absent("not x86-64");
}
static int userns_32(char **word)
{
    return type_32(word);
}
#endif

/* Namespaces */
static int userns(char **word)
{
    (void)word;
    if (unshare(CLONE_NEWUSER) == -1)
        return fail("unshare");
    return got("a user namespace");
}

static int in_child(long pid, const char *what)
{
    if (pid == -1)
        return fail(what);
    if (pid == 0)
        _exit(0);
    (void)waitpid((pid_t)pid, NULL, __WALL);
    return got("a user namespace");
}

static int userns_clone(char **word)
{
    (void)word;
    return in_child(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), "clone");
}

static int userns_clone3(char **word)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

    (void)word;
    return in_child(syscall(SYS_clone3, &args, sizeof args), "clone3");
}

static int userns_mount(char **word)
{
    (void)word;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1)
        return fail("unshare");
    if (mount("none", "/tmp", "tmpfs", 0, NULL) == -1)
        return fail("mount");
    return got("a mount");
}

/* What all of the machine shares */
static int read_shm(char **word)
{
    int id = shmget((key_t)number(word[0]), 0, 0);
    void *at = id == -1 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);

    if (at == (void *)-1)
        return fail("shmat");
    memcpy(room, at, ROOM - 1);
    return got(room);
}

static int read_msg(char **word)
{
    struct {
        long type;
        char text[ROOM];
    } message = {0};
    int id = msgget((key_t)number(word[0]), 0);

    if (id == -1 || msgrcv(id, &message, ROOM - 1, 0, IPC_NOWAIT) == -1)
        return fail("msgrcv");
    return got(message.text);
}

static int read_mq(char **word)
{
    static char buf[8192];
    mqd_t queue = mq_open(word[0], O_RDONLY | O_NONBLOCK);

    if (queue == (mqd_t)-1 || mq_receive(queue, buf, sizeof buf, NULL) == -1)
        return fail("mq_open");
    return got(buf);
}

static int put_mq(char **word)
{
    mqd_t queue = mq_open(word[0], O_WRONLY | O_CREAT, 0600, NULL);

    if (queue == (mqd_t)-1 || mq_send(queue, word[1], strlen(word[1]), 0) == -1)
        return fail("mq_open");
    return 0;
}

static int drop_mq(char **word)
{
    return mq_unlink(word[0]) == -1 ? fail("mq_unlink") : 0;
}

enum { KEYCTL_UNLINK = 9, KEYCTL_SEARCH = 10, KEYCTL_READ = 11 };

static int read_key(char **word)
{
    long id = syscall(SYS_keyctl, KEYCTL_SEARCH, USER_KEYRING, "user", word[0], 0);

    if (id == -1 || syscall(SYS_keyctl, KEYCTL_READ, id, room, ROOM - 1, 0) == -1)
        return fail("keyctl");
    return got(room);
}

static int put_key(char **word)
{
    long id = syscall(SYS_add_key, "user", word[0], word[1], strlen(word[1]), USER_KEYRING);

    if (id == -1)
        return fail("add_key");
    /* possessed by this process alone: its user may look at it, too */
    (void)syscall(SYS_keyctl, 5, id, 0x3f3f0000UL, 0, 0);
    if (strcmp(word[0], "mas-test-left") == 0)
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK, id, USER_KEYRING, 0, 0);
    return got("a key");
}

static int drop_key(char **word)
{
    long id = syscall(SYS_keyctl, KEYCTL_SEARCH, USER_KEYRING, "user", word[0], 0);

    return id == -1 || syscall(SYS_keyctl, KEYCTL_UNLINK, id, USER_KEYRING, 0, 0) == -1
               ? fail("keyctl")
               : 0;
}

/* Calls that reach all of the machine, or whose filters have been passed before */
static int said(long result, const char *what)
{
    if (result == -1 && errno == ENOSYS)
        return fail(what);
    return result == -1 ? fail(what) : got(what);
}

static int uring(char **word)
{
    struct io_uring_params params = {0};

    (void)word;
    return said(syscall(SYS_io_uring_setup, 2, &params), "io_uring_setup");
}

static int bpf_map(char **word)
{
    union bpf_attr attr;

    (void)word;
    memset(&attr, 0, sizeof attr);
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = attr.value_size = 4;
    attr.max_entries = 1;
    return said(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr), "bpf");
}

static int perf(char **word)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK};

    (void)word;
    return said(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static int faults(char **word)
{
    (void)word;
    return said(syscall(SYS_userfaultfd, O_CLOEXEC | 1), "userfaultfd");
}

static int watch_files(char **word)
{
    (void)word;
    return said(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY), "fanotify_init");
}

static int ports(char **word)
{
    (void)word;
#ifdef __x86_64__
    return said(iopl(3), "iopl");
#else
    return absent("not x86-64");
#endif
}

static int set_clock(char **word)
{
    struct timex change = {.modes = ADJ_TICK};
    struct timex now = {.modes = 0};

    (void)word;
    (void)adjtimex(&now);
    change.tick = now.tick; /* the same */
    return said(adjtimex(&change), "adjtimex");
}

/* What a file is, beyond its mode: FILE. This is how it would leave the quota of its session. */
static int attributes(char **word)
{
    struct fsxattr now;
    int fd = open(word[0], O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd == -1 || ioctl(fd, FS_IOC_FSGETXATTR, &now) == -1)
        return errno == ENOTTY ? absent("the file system has none") : fail(word[0]);
    return said(ioctl(fd, FS_IOC_FSSETXATTR, &now), "FS_IOC_FSSETXATTR");
}

/* The same by a call that is newer than most libraries: FILE. */
static int attributes_by_name(char **word)
{
    enum { FILE_SETATTR = 469, SIZE = 24 };
    static char none[SIZE];
    int fd = open(word[0], O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd == -1)
        return fail(word[0]);
    return said(syscall(FILE_SETATTR, AT_FDCWD, word[0], none, sizeof none, 0), "file_setattr");
}

/* Cutting a file off without a right to write to it: HOW FILE. The access mode 3 opens a file for
 * nothing but ioctl(), and the kernel looks at the upper half of the flags in openat2() alone. */
enum { FOR_IOCTL = 3 };

static int open_by_name(char **word)
{
    struct open_how how = {0};
    const char *path = word[1];
    char by_descriptor[64];
    int fd;

    if (strcmp(word[0], "truncate") == 0)
        return (int)syscall(SYS_truncate, path, 0);
#ifdef SYS_open
    if (strcmp(word[0], "open") == 0)
        return (int)syscall(SYS_open, path, O_RDONLY | O_TRUNC);
    if (strcmp(word[0], "open-ioctl") == 0)
        return (int)syscall(SYS_open, path, FOR_IOCTL | O_TRUNC);
#endif
    if (strcmp(word[0], "openat") == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_TRUNC | O_CLOEXEC);
    if (strcmp(word[0], "openat-ioctl") == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, FOR_IOCTL | O_TRUNC);
    if (strcmp(word[0], "openat-made") == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CREAT | O_TRUNC, 0600);
    if (strcmp(word[0], "openat-high") == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, 0x100000000UL | FOR_IOCTL | O_TRUNC);
    if (strcmp(word[0], "openat-again") == 0) {
        fd = open(path, O_PATH | O_CLOEXEC);
        (void)snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", fd);
        return (int)syscall(SYS_openat, AT_FDCWD, by_descriptor, FOR_IOCTL | O_TRUNC);
    }
    if (strcmp(word[0], "ftruncate") == 0) {
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, FOR_IOCTL | O_CLOEXEC);
        return ftruncate(fd, 0);
    }
    if (strcmp(word[0], "fallocate") == 0) {
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, FOR_IOCTL | O_CLOEXEC);
        return fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 1);
    }
    how.flags = O_TRUNC | (strcmp(word[0], "openat2-ioctl") == 0 ? FOR_IOCTL : O_RDONLY);
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static int cut_off(char **word)
{
    struct stat before, after;

    if (stat(word[1], &before) == -1 || before.st_size == 0)
        return absent("there is nothing to cut off");
    if (open_by_name(word) == -1)
        return fail(word[0]);
    return stat(word[1], &after) == 0 && after.st_size == 0 ? got("cut off") : absent("not cut");
}

static int host_name(char **word)
{
    char name[256] = "";

    (void)word;
    (void)gethostname(name, sizeof name - 1);
    return said(sethostname(name, strlen(name)), "sethostname");
}

static int kernel_log(char **word)
{
    (void)word;
    return said(klogctl(3, room, ROOM - 1), "syslog");
}

static const struct {
    const char *name;
    int words;
    int (*run)(char **);
} ways[] = {{"readv", 3, look_readv},
            {"ptrace", 3, look_ptrace},
            {"seize", 1, seize},
            {"getfd", 2, take_descriptor},
            {"type", 1, type_plain},
            {"type-high", 1, type_high},
            {"type-32bit", 1, type_32},
            {"paste", 1, paste},
            {"userns", 0, userns},
            {"userns-clone", 0, userns_clone},
            {"userns-clone3", 0, userns_clone3},
            {"userns-32bit", 0, userns_32},
            {"userns-mount", 0, userns_mount},
            {"shm", 1, read_shm},
            {"msg", 1, read_msg},
            {"mq", 1, read_mq},
            {"mq-put", 2, put_mq},
            {"mq-drop", 1, drop_mq},
            {"key", 1, read_key},
            {"key-put", 2, put_key},
            {"key-drop", 1, drop_key},
            {"io-uring", 0, uring},
            {"bpf", 0, bpf_map},
            {"perf", 0, perf},
            {"userfaultfd", 0, faults},
            {"fanotify", 0, watch_files},
            {"iopl", 0, ports},
            {"clock", 0, set_clock},
            {"attributes", 1, attributes},
            {"attributes-by-name", 1, attributes_by_name},
            {"cut-off", 2, cut_off},
            {"hostname", 0, host_name},
            {"syslog", 0, kernel_log}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0 && argc == ways[i].words + 2)
            return ways[i].run(argv + 2);
    (void)fprintf(stderr, "escape: no such way\n");
    return 3;
}
