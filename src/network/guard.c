/*
 * The guard: a process outside that gets the listening socket from inside, keeps a gate running on
 * it, and ends with the program that it was made for. A spare process takes its place if it is
 * killed; if both are at once, the supervisor of the agent says so.
 */
#include "network/network.h"

#include "base/time.h"
#include "filter/filter.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"

#include <sys/socket.h>

enum {
    LINE_MAX_BYTES = 1024, /* of what tinyproxy says; the rest of a longer line is dropped */
    HIGH_FD = 64, /* above what mas opens before it starts an agent */
    CALM_MS = 60 * 1000, /* what ran for so long is started again as if it had never ended */
    FALLS_MAX = 6, /* doublings of the pause: up to 12.8 s */
};

/* When what ends is started again. */
struct network_again {
    int64_t begun; /* when it was started last */
    int64_t at; /* not before then */
    unsigned falls;
};

struct network_guard {
    const struct network *network;
    struct network_log log;
    int program; /* pidfd of what runs the namespace; the guard ends with it */
    int inside; /* socket of `mas-network inside` and tinyproxy; -1: it is closed */
    int listener; /* -1: it has not come yet */
    pid_t gate, spare;
    int gate_fd; /* pidfd; -1: none runs */
    int spare_fd; /* likewise, of the process that takes the guard's place if it is killed */
    struct network_again gate_again, spare_again;
    struct str said; /* the beginning of a line of tinyproxy */
};

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
    proc_set_name(name);
    for (size_t i = 0; i < count; i++)
        *keep[i] = *keep[i] == -1 ? -1 : fcntl(*keep[i], F_DUPFD_CLOEXEC, HIGH_FD);
    for (int i = 0; i < 3; i++)
        (void)dup2(null, i);
    proc_close_range(3U, (unsigned)HIGH_FD - 1);
    unsigned next = 3;
    for (size_t i = 0; i < count; i++) {
        if (*keep[i] != -1)
            next = (unsigned)(*keep[i] = fcntl(*keep[i], F_DUPFD_CLOEXEC, 3)) + 1;
    }
    proc_close_from(next);
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

/* Notes that something has been started, and when that may happen again. */
static void note_start(struct network_again *again)
{
    int64_t now = time_monotonic_ms();

    if (now - again->begun > CALM_MS)
        again->falls = 0;
    again->begun = now;
    again->at = now + ((int64_t)NETWORK_PAUSE_MS << again->falls);
    again->falls += again->falls < FALLS_MAX;
}

/* Opens a child that was just forked; ends it if that is not possible. */
static int open_child(pid_t pid)
{
    int fd = pid != -1 ? proc_open(pid) : -1;

    if (pid == -1 || fd != -1)
        return fd;
    (void)kill(pid, SIGKILL);
    (void)proc_await(pid, NULL);
    return -1;
}

static void start_gate(struct network_guard *guard)
{
    pid_t parent = getpid();

    guard->gate = proc_fork();
    if (guard->gate == 0) {
        proc_end_with_parent(SIGKILL);
        proc_gain_nothing();
        fd_closep(&guard->inside);
        fd_closep(&guard->program);
        if (getppid() == parent)
            network_gate(guard->listener, guard->network, &guard->log);
        _exit(1);
    }
    note_start(&guard->gate_again);
    guard->gate_fd = open_child(guard->gate);
}

/* Waits until the guard is killed; ends with the program. Then this process is the guard. */
static void wait_as_spare(struct network_guard *guard, int before)
{
    struct loop loop = LOOP_INIT;

    proc_set_name(NETWORK_SPARE_NAME);
    do {
        loop_begin(&loop);
        loop_want(&loop, guard->program, POLLIN);
        loop_want(&loop, before, POLLIN);
        if (loop_wait(&loop, -1) == -1 || loop_got(&loop, guard->program) != 0)
            _exit(0);
    } while (loop_got(&loop, before) == 0);
    proc_set_name(NETWORK_GUARD_NAME);
    fd_closep(&guard->gate_fd);
    network_log(&guard->log, "the guard has ended; another process takes its place");
}

/* Starts the process that takes this one's place. Returns in both of them. */
static void start_spare(struct network_guard *guard)
{
    int self = proc_open(getpid());

    note_start(&guard->spare_again);
    if (self == -1)
        return;
    guard->spare = proc_fork();
    if (guard->spare == 0) {
        guard->spare_fd = -1;
        wait_as_spare(guard, self);
        (void)close(self);
        note_start(&guard->gate_again);
        return;
    }
    (void)close(self);
    guard->spare_fd = open_child(guard->spare);
}

/* Returns when something has to be started; -1: nothing has. */
static int64_t next_start(const struct network_guard *guard)
{
    int64_t gate = guard->gate_fd == -1 ? guard->gate_again.at : -1;
    int64_t spare = guard->spare_fd == -1 ? guard->spare_again.at : -1;

    return guard->listener == -1 ? -1 : time_sooner(gate, spare);
}

static void start_missing(struct network_guard *guard)
{
    if (guard->listener == -1)
        return;
    if (guard->spare_fd == -1 && time_monotonic_ms() >= guard->spare_again.at)
        start_spare(guard);
    if (guard->gate_fd == -1 && time_monotonic_ms() >= guard->gate_again.at)
        start_gate(guard);
}

__attribute__((noreturn)) static void run_guard(struct network_guard *guard)
{
    struct loop loop = LOOP_INIT;
    struct err err = ERR_INIT;

    network_detach(NETWORK_GUARD_NAME, (int *[]){&guard->program, &guard->inside, &guard->log.dir},
                   3);
    if (filter_program_load(FILTER_NETWORK, &err) == -1) { /* for the gate, too */
        network_log(&guard->log, "%s", err.text);
        _exit(1);
    }
    for (;;) {
        loop_begin(&loop);
        loop_want(&loop, guard->program, POLLIN);
        loop_want(&loop, guard->inside, POLLIN);
        loop_want(&loop, guard->gate_fd, POLLIN);
        loop_want(&loop, guard->spare_fd, POLLIN);
        if (loop_wait(&loop, next_start(guard)) == -1 || loop_got(&loop, guard->program) != 0)
            _exit(0); /* the kernel ends the gate, the spare ends itself */
        if (loop_got(&loop, guard->inside) != 0)
            read_inside(guard);
        if (guard->gate_fd != -1 && loop_got(&loop, guard->gate_fd) != 0) {
            (void)proc_await(guard->gate, NULL);
            fd_closep(&guard->gate_fd);
            network_log(&guard->log, "the gate has ended; it is started again");
        }
        if (guard->spare_fd != -1 && loop_got(&loop, guard->spare_fd) != 0) {
            (void)proc_await(guard->spare, NULL);
            fd_closep(&guard->spare_fd);
        }
        start_missing(guard);
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
    if (between == -1 || proc_await(between, &status) == -1 || status != 0)
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
    struct network_guard guard = {
        .network = network, .listener = -1, .gate_fd = -1, .spare_fd = -1};
    const char *slash = strrchr(log, '/');
    int pair[2];

    if (slash == NULL)
        return err_set(err, MAS_USAGE, "cannot log to '%s': expected a path", log);
    _cleanup_free_ char *dir = mem_dupn(log, (size_t)(slash - log) + 1);
    _cleanup_close_ int logs = path_open_dir(AT_FDCWD, dir);
    if (logs == -1)
        return err_errno(err, "cannot open '%s'", dir);
    guard.log = (struct network_log){.dir = logs, .name = slash + 1};
    _cleanup_close_ int self = proc_open(getpid());
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
