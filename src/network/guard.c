/*
 * The guard: a process outside that gets the listening socket from inside, keeps a gate running on
 * it, and ends with the program that it was made for.
 */
#include "network/network.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOG_SIZE = 1024 * 1024,
    LOG_KEEP = 1,
    LINE_MAX_BYTES = 1024, /* of what tinyproxy says; the rest of a longer line is dropped */
    HIGH_FD = 64, /* above what mas opens before it starts an agent */
};

struct network_guard {
    const struct network *network;
    struct network_log log;
    int program; /* pidfd of what runs the namespace; the guard ends with it */
    int inside; /* socket of `mas-network inside` and tinyproxy; -1: it is closed */
    int listener; /* -1: it has not come yet */
    pid_t gate;
    int gate_fd; /* pidfd; -1: none runs */
    int64_t start_at; /* the next gate */
    struct str said; /* the beginning of a line of tinyproxy */
};

void network_log(const struct network_log *log, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    if (log->dir == -1)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_text(log->dir, log->name, (struct log_limits){.size = LOG_SIZE, .keep = LOG_KEEP}, text);
}

void network_detach(const char *name, int **keep, size_t count)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)
        setsid(); /* the agent's Ctrl-C and hang-up are not for this process, which ends with it */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)prctl(PR_SET_NAME, name);
    for (size_t i = 0; i < count; i++)
        *keep[i] = *keep[i] == -1 ? -1 : fcntl(*keep[i], F_DUPFD_CLOEXEC, HIGH_FD);
    for (int i = 0; i < 3; i++)
        (void)dup2(null, i);
    (void)syscall(SYS_close_range, 3U, (unsigned)HIGH_FD - 1, 0U);
    unsigned next = 3;
    for (size_t i = 0; i < count; i++) {
        if (*keep[i] != -1)
            next = (unsigned)(*keep[i] = fcntl(*keep[i], F_DUPFD_CLOEXEC, 3)) + 1;
    }
    (void)syscall(SYS_close_range, next, ~0U, 0U);
}

/* Receives the listening socket. What comes later cannot bring descriptors. */
static int receive_listener(int fd)
{
    char byte;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int listens = 0;
    socklen_t len = sizeof listens;

    ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *head = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    int listener;
    memcpy(&listener, CMSG_DATA(head), sizeof listener);
    if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0)
        return listener;
    (void)close(listener);
    return -1;
}

/* Logs what tinyproxy has refused: its filter keeps that from the gate. These lines come from
 * inside, so the agent may have written them. */
static void log_line_of_tinyproxy(const struct network_guard *guard, const char *line)
{
    const char *text = strstr(line, "]: ");

    text = text != NULL ? text + 3 : line;
    if (str_starts(text, "Proxying refused") || str_starts(text, "Refused CONNECT"))
        network_log(&guard->log, "refused inside: %s", text);
}

static void read_inside(struct network_guard *guard)
{
    char bytes[4096];

    if (guard->listener == -1) {
        guard->listener = receive_listener(guard->inside);
        if (guard->listener == -1)
            fd_closep(&guard->inside);
        return;
    }
    ssize_t n = recv(guard->inside, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
        fd_closep(&guard->inside);
    for (ssize_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            log_line_of_tinyproxy(guard, str_text(&guard->said));
            str_clear(&guard->said);
        } else if (bytes[i] != '\0' && guard->said.len < LINE_MAX_BYTES) {
            str_addc(&guard->said, bytes[i]);
        }
    }
}

static void start_gate(struct network_guard *guard)
{
    pid_t parent = getpid();

    guard->gate = proc_fork();
    if (guard->gate == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        fd_closep(&guard->inside);
        fd_closep(&guard->program);
        if (getppid() == parent)
            network_gate(guard->listener, guard->network, &guard->log);
        _exit(1);
    }
    guard->start_at = time_monotonic_ms() + NETWORK_PAUSE_MS;
    if (guard->gate == -1)
        return;
    guard->gate_fd = (int)syscall(SYS_pidfd_open, guard->gate, 0);
    if (guard->gate_fd != -1)
        return;
    (void)kill(guard->gate, SIGKILL);
    (void)waitpid(guard->gate, NULL, 0);
}

__attribute__((noreturn)) static void run_guard(struct network_guard *guard)
{
    struct loop loop = LOOP_INIT;

    network_detach("mas-network", (int *[]){&guard->program, &guard->inside, &guard->log.dir}, 3);
    for (;;) {
        bool is_due = guard->listener != -1 && guard->gate_fd == -1;
        loop_begin(&loop);
        loop_want(&loop, guard->program, POLLIN);
        loop_want(&loop, guard->inside, POLLIN);
        loop_want(&loop, guard->gate_fd, POLLIN);
        if (loop_wait(&loop, is_due ? guard->start_at : -1) == -1 ||
            loop_got(&loop, guard->program) != 0)
            _exit(0); /* the kernel ends the gate */
        if (loop_got(&loop, guard->inside) != 0)
            read_inside(guard);
        if (guard->gate_fd != -1 && loop_got(&loop, guard->gate_fd) != 0) {
            (void)waitpid(guard->gate, NULL, 0);
            fd_closep(&guard->gate_fd);
            network_log(&guard->log, "the gate has ended; it is started again");
        }
        if (guard->listener != -1 && guard->gate_fd == -1 && time_monotonic_ms() >= guard->start_at)
            start_gate(guard);
    }
}

/* Starts the guard, which becomes a child of the nearest process that adopts orphans. */
static int start_guard(struct network_guard *guard, struct err *err)
{
    int status = 1;
    pid_t between = proc_fork();

    if (between == 0) {
        pid_t pid = proc_fork();
        if (pid == 0)
            run_guard(guard);
        _exit(pid == -1);
    }
    if (between == -1 || waitpid(between, &status, 0) == -1 || status != 0)
        return err_set(err, MAS_FAILED, "cannot start the guard of the network");
    return 0;
}

/* Leaves `fd` open as NETWORK_FD for what this process becomes. */
static int pass_on(int fd, struct err *err)
{
    int on = fd == NETWORK_FD ? fcntl(fd, F_SETFD, 0) : dup2(fd, NETWORK_FD);
    return on == -1 ? err_errno(err, "cannot pass a socket into the network namespace") : 0;
}

int network_outside(const char *log, const struct network *network, char *const *program,
                    struct err *err)
{
    struct network_guard guard = {.network = network, .listener = -1, .gate_fd = -1};
    const char *slash = strrchr(log, '/');
    int pair[2];

    if (slash == NULL)
        return err_set(err, MAS_USAGE, "cannot log to '%s': expected a path", log);
    _cleanup_free_ char *dir = mem_dupn(log, (size_t)(slash - log) + 1);
    _cleanup_close_ int logs = path_open_dir(AT_FDCWD, dir);
    if (logs == -1)
        return err_errno(err, "cannot open '%s'", dir);
    guard.log = (struct network_log){.dir = logs, .name = slash + 1};
    _cleanup_close_ int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self == -1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
        return err_errno(err, "cannot start the guard of the network");
    guard.program = self;
    guard.inside = pair[0];
    int rc = start_guard(&guard, err);
    (void)close(pair[0]);
    fd_closep(&self);
    fd_closep(&logs);
    if (rc == 0)
        rc = pass_on(pair[1], err);
    if (rc == 0)
        rc = proc_exec(program[0], program, NULL, err);
    return rc;
}
