/*
 * What a child gets and what it reports: install() gives it its descriptors and signals, become()
 * and enter_bounds() its place, limits and rights. A failure comes back as exit code 126 or 127,
 * or, from proc_start_session(), through a pipe that a successful exec closes. Each program is
 * started by one of the functions here; proc_start() and waiting for what it started is in
 * proc_collect.c, and what /proc says of processes in proc_find.c, proc_tree.c and proc_stat.c.
 */

#include "os/proc.h"

#include "base/time.h"
#include "os/loop.h"
#include "os/proc_internal.h"
#include "os/signals.h"

#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* In the child: installs these descriptors as 0, 1, 2, ..., closes the rest at exec and resets the
 * signals. Moves *keep, a descriptor that it still needs, out of the way. */
static int install(const int *fds, int count, int *keep)
{
    int high[3 + PROC_FDS_MAX];
    sigset_t none;

    for (int i = 0; i < count; i++) /* first move them out of each other's way */
        if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, count)) == -1)
            return -1;
    if (keep != NULL && *keep < count && (*keep = fcntl(*keep, F_DUPFD_CLOEXEC, count)) == -1)
        return -1;
    for (int i = 0; i < count; i++)
        if (dup2(high[i], i) == -1)
            return -1;
    (void)syscall(SYS_close_range, (unsigned)count, ~0U, CLOSE_RANGE_CLOEXEC);
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

/* In the child: likewise, and executes the program. Returns only on failure, with errno. */
static void exec_clean(const int *fds, int count, const char *file, char *const *argv,
                       char *const *envp)
{
    if (install(fds, count, NULL) != -1)
        (void)execve(file, argv, envp != NULL ? envp : environ);
}

void proc_raise_files(size_t enough)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= enough ||
        limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* In the child: passes nothing of this process to the program except what the spec says. It may
 * have the memory of this process, so it is a function with variables of its own. */
__attribute__((noreturn, noinline)) static void become(const struct proc_spec *spec,
                                                       const int standard[3])
{
    int fds[3 + PROC_FDS_MAX];
    struct err err = ERR_INIT;

    memcpy(fds, standard, 3 * sizeof *fds);
    for (size_t i = 0; i < spec->fd_count; i++)
        fds[3 + i] = spec->fds[i];

    if (spec->bound)
        proc_end_with_parent(SIGKILL);
    if (spec->cwd != -1 && fchdir(spec->cwd) == -1)
        _exit(127);
    if (spec->raise_nofile)
        proc_raise_files(SIZE_MAX);
    if (spec->confine != NULL &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 || landlock_enter(spec->confine, &err) == -1))
        _exit(126);
    if (spec->go_on != NULL)
        _exit(install(fds, 3 + (int)spec->fd_count, NULL) == -1 ? 126 : spec->go_on(spec->arg));
    exec_clean(fds, 3 + (int)spec->fd_count, spec->file, spec->argv, spec->envp);
    _exit(errno == ENOENT ? 127 : 126);
}

pid_t proc_fork(void)
{
    return fork();
}

static void lower_limit(unsigned resource, uint64_t most)
{
    struct rlimit limit;

    if (most == 0 || getrlimit(resource, &limit) == -1 || limit.rlim_cur <= most)
        return;
    limit.rlim_cur = most;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
    (void)setrlimit(resource, &limit);
}

void proc_raise_oom_score(int more)
{
    enum { MOST = 1000 };
    char text[16] = "";
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

    if (more <= 0 || fd == -1 || read(fd, text, sizeof text - 1) <= 0)
        return;
    long score = strtol(text, NULL, 10) + more;
    int len = snprintf(text, sizeof text, "%ld", score < MOST ? score : MOST);
    (void)!pwrite(fd, text, (size_t)len, 0);
}

static bool enter_group(int group)
{
    _cleanup_close_ int fd = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    return fd != -1 && write(fd, "0", 1) == 1;
}

/* In the child: enters what holds its resources. Fails with errno. Reports the reason, as a number
 * below 0, if it goes on without the group. */
static int enter_bounds(const struct proc_bounds *bounds, int report)
{
    if (bounds == NULL)
        return 0;
    proc_raise_oom_score(bounds->oom_score);
    bool entered = enter_group(bounds->group);
    if (!entered && bounds->must_enter)
        return -1;
    int why = -errno;
    if (!entered && bounds->group != -1)
        (void)!write(report, &why, sizeof why);
    lower_limit(RLIMIT_DATA, entered && bounds->group_holds_memory ? 0 : bounds->data);
    lower_limit(RLIMIT_NPROC, entered && bounds->group_holds_tasks ? 0 : bounds->tasks);
    return 0;
}

/* Reads what the child reports until it runs the program. Returns 0, or errno of its failure. */
static int read_report(int report, struct proc_bounds *bounds)
{
    int error = 0;
    ssize_t n;

    while ((n = read(report, &error, sizeof error)) != 0) {
        if (n == -1 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof error || error > 0)
            return error > 0 ? error : EIO;
        if (bounds != NULL)
            bounds->refused = -error;
    }
    return 0;
}

/* In the child: ignores the signals that end a program, or stop it. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        (void)signal(ignored[i], SIG_IGN);
}

pid_t proc_start_session(const struct proc_session *spec)
{
    int report[2]; /* gets errno on failure; a successful exec closes it */

    if (pipe2(report, O_CLOEXEC) == -1)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (setsid() != -1 && (!spec->takes_tty || ioctl(spec->fds[0], TIOCSCTTY, 0) != -1) &&
            enter_bounds(spec->bounds, report[1]) != -1 &&
            install(spec->fds, (int)spec->fd_count, &report[1]) != -1) {
            if (spec->is_deaf)
                ignore_signals();
            (void)execve(spec->file, spec->argv, spec->envp != NULL ? spec->envp : environ);
        }
        int error = errno;
        (void)!write(report[1], &error, sizeof error);
        _exit(127);
    }
    int error = pid == -1 ? errno : 0;
    close(report[1]);
    if (pid != -1 && (error = read_report(report[0], spec->bounds)) != 0)
        (void)proc_await(pid, NULL);
    close(report[0]);
    errno = error;
    return error == 0 ? pid : -1;
}

int proc_run_session(const struct proc_session *spec, int *ret_status, struct err *err)
{
    int status = 0;
    pid_t pid = proc_start_session(spec);

    if (pid == -1)
        return err_errno(err, "cannot start '%s'", spec->file);
    if (proc_await(pid, &status) == -1)
        return err_errno(err, "cannot wait for '%s'", spec->file);
    *ret_status = proc_exit_code(status);
    return 0;
}

int proc_go_on(const int *fds, size_t count, int watched)
{
    if (install(fds, (int)count, NULL) == -1)
        return -1;
    proc_close_from((unsigned)count);
    if (fcntl(watched, F_SETOWN, getpid()) == -1 ||
        fcntl(watched, F_SETFL, O_NONBLOCK | O_ASYNC) == -1)
        return -1;
    if (loop_wait_for(watched, POLLIN, 0) != 0) /* before that */
        (void)raise(SIGIO);
    return 0;
}

pid_t proc_start_here(const char *file, char *const *argv, char *const *envp, const char *dir)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    proc_end_with_parent(SIGHUP);
    if (getppid() == parent && (dir == NULL || chdir(dir) == 0))
        exec_clean((int[]){0, 1, 2}, 3, file, argv, envp);
    _exit(127);
}

pid_t proc_fork_into(const struct proc_spec *spec, const int standard[3])
{
    sigset_t all, was;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &was); /* a handler would write into our memory */
    pid_t pid = spec->go_on == NULL ? vfork() : fork(); /* NOLINT: become() writes its own only */
    if (pid == 0)
        become(spec, standard);
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    return pid;
}

int proc_run(const char *file, char *const *argv, int *ret_status, struct err *err)
{
    static const int keys[] = {SIGINT, SIGQUIT}; /* these are for the program */
    struct sigaction was[2];
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    int status = 0;

    for (size_t i = 0; i < 2; i++)
        (void)sigaction(keys[i], &ignore, &was[i]);
    pid_t pid = fork();
    if (pid == 0) {
        exec_clean((int[]){0, 1, 2}, 3, file, argv, NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    int saved = errno;
    if (pid != -1)
        (void)proc_await(pid, &status);
    for (size_t i = 0; i < 2; i++)
        (void)sigaction(keys[i], &was[i], NULL);
    errno = saved;
    if (pid == -1)
        return err_errno(err, "cannot start '%s'", file);
    *ret_status = proc_exit_code(status);
    return 0;
}

enum {
    TIED_PIECE = 4096, /* PIPE_BUF: a pipe that has room takes so much without blocking */
    TIED_END_MS = 2000, /* between SIGINT and SIGKILL */
};

/* What a tied child prints on one of its descriptors. */
struct tied_stream {
    int from; /* -1: it prints by itself, or nobody wants more */
    int to; /* of this process */
    bool has_room; /* that one has */
};

/* A tied child at work. */
struct tied_child {
    pid_t pid;
    int pidfd, signals;
    struct tied_stream streams[2]; /* standard output and error */
    bool ended;
    int64_t since; /* it may print on standard output since then; monotonic ms */
};

/* Passes a piece on, if one is there. */
static void take_piece(const struct proc_tied *tied, struct tied_child *child,
                       struct tied_stream *stream, struct err *err)
{
    char piece[TIED_PIECE];
    ssize_t n = read(stream->from, piece, sizeof piece);

    if (n == -1 && (errno == EINTR || (errno == EAGAIN && !child->ended)))
        return;
    stream->has_room = false;
    /* what it has printed is there when it has ended; others may keep the pipe open */
    if (n <= 0 || tied->take(stream->to, piece, (size_t)n, tied->arg, err) == -1)
        fd_closep(&stream->from);
}

/* Returns until when to wait; -1: for any time. *ret_silent: the child has then printed nothing for
 * too long. */
static int64_t find_until(const struct proc_tied *tied, const struct tied_child *child,
                          bool *ret_silent)
{
    const struct tied_stream *out = &child->streams[0];
    int patience = -1;

    *ret_silent = false;
    for (size_t i = 0; child->ended && i < ARRAY_LEN(child->streams); i++)
        if (child->streams[i].from != -1 && child->streams[i].has_room)
            return 0;
    if (!child->ended && out->from != -1 && out->has_room && tied->patience != NULL)
        patience = tied->patience(tied->arg);
    *ret_silent = patience != -1;
    return patience == -1 ? -1 : child->since + patience;
}

/* Waits for the room that a stream needs, or for what it brings. */
static int awaited(const struct tied_stream *stream)
{
    return stream->from == -1 || stream->has_room ? stream->from : stream->to;
}

/* Goes on with what the descriptors of the streams are ready for. */
static void serve_streams(const struct proc_tied *tied, struct tied_child *child, struct loop *loop,
                          struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(child->streams); i++) {
        struct tied_stream *stream = &child->streams[i];
        if (stream->from == -1)
            continue;
        if (stream->has_room) {
            take_piece(tied, child, stream, err);
        } else if (loop_got(loop, stream->to) != 0) {
            stream->has_room = true;
            child->since = i == 0 ? time_monotonic_ms() : child->since;
        }
    }
}

/* Ends a child that prints nothing. */
static void end_silent(const struct proc_tied *tied, const struct tied_child *child,
                       struct err *err)
{
    (void)kill(child->pid, SIGINT); /* as at the end of this process */
    if (loop_wait_for(child->pidfd, POLLIN, TIED_END_MS) == 0)
        (void)kill(child->pid, SIGKILL);
    (void)err_set(err, MAS_TIMEOUT, "'%s' has printed nothing", tied->file);
}

static void close_streams(struct tied_child *child)
{
    for (size_t i = 0; i < ARRAY_LEN(child->streams); i++)
        fd_closep(&child->streams[i].from);
}

/* Waits for the end of the child and of its output, and passes signals on to it. Returns its
 * status. */
static int wait_tied(const struct proc_tied *tied, struct tied_child *child, int *ret_signal,
                     struct err *err)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    int status = 0;

    while (!child->ended || child->streams[0].from != -1 || child->streams[1].from != -1) {
        bool silent;
        int64_t until = find_until(tied, child, &silent);
        loop_begin(&loop);
        loop_want(&loop, child->ended ? -1 : child->pidfd, POLLIN);
        loop_want(&loop, child->signals, POLLIN);
        for (size_t i = 0; i < ARRAY_LEN(child->streams); i++) {
            const struct tied_stream *stream = &child->streams[i];
            loop_want(&loop, awaited(stream), stream->has_room ? POLLIN : POLLOUT);
        }
        if (child->pidfd == -1 || loop_wait(&loop, until) == -1)
            break;
        if (silent && loop_got(&loop, child->streams[0].from) == 0 &&
            time_monotonic_ms() >= until) {
            end_silent(tied, child, err);
            break;
        }
        for (int sig; (sig = signals_next(child->signals)) != 0;) {
            *ret_signal = *ret_signal != 0 ? *ret_signal : sig;
            (void)kill(child->pid, sig);
        }
        child->ended = child->ended || loop_got(&loop, child->pidfd) != 0;
        serve_streams(tied, child, &loop, err);
    }
    close_streams(child); /* nobody reads on, so nobody must wait for room in them */
    (void)proc_await(child->pid, &status);
    return proc_exit_code(status);
}

/* Opens what the child prints into. */
static int open_stream(struct tied_stream *stream, int *ret_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1)
        return -1;
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->from = ends[0];
    *ret_end = ends[1];
    return 0;
}

/* Starts the child, with the signals blocked that are read from child->signals. */
static pid_t start_tied(const struct proc_tied *tied, struct tied_child *child)
{
    pid_t parent = getpid();
    int standard[3] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    _cleanup_close_ int out = -1;
    _cleanup_close_ int errs = -1;

    if (child->signals == -1 ||
        (tied->take != NULL && (open_stream(&child->streams[0], &out) == -1 ||
                                open_stream(&child->streams[1], &errs) == -1)))
        return -1;
    if (tied->take != NULL) {
        standard[1] = out;
        standard[2] = errs;
    }
    pid_t pid = fork();
    if (pid == 0) {
        proc_end_with_parent(SIGINT); /* srun kills its step at SIGHUP */
        if (getppid() == parent)
            exec_clean(standard, 3, tied->file, tied->argv, tied->envp);
        _exit(errno == ENOENT ? 127 : 126);
    }
    child->since = time_monotonic_ms();
    return pid;
}

int proc_run_tied(const struct proc_tied *tied, int *ret_status, int *ret_signal, struct err *err)
{
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};
    struct tied_child child = {
        .pidfd = -1,
        .streams = {{.from = -1, .to = STDOUT_FILENO}, {.from = -1, .to = STDERR_FILENO}}};
    struct err why = ERR_INIT;
    sigset_t before;

    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    child.signals = signals_open(passed);
    child.pid = start_tied(tied, &child);
    *ret_signal = 0;
    if (child.pid == -1) {
        (void)err_errno(&why, "cannot start '%s'", tied->file);
    } else {
        child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
        *ret_status = wait_tied(tied, &child, ret_signal, &why);
    }
    close_streams(&child);
    fd_closep(&child.pidfd);
    fd_closep(&child.signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (why.code == MAS_OK)
        return 0;
    *err = why;
    return -1;
}

int proc_exec(const char *file, char *const *argv, char *const *envp, struct err *err)
{
    (void)signal(SIGXFSZ, SIG_DFL); /* mas ignores it, and the program would inherit that */
    (void)execve(file, argv, envp != NULL ? envp : environ);
    int saved = errno;
    (void)signal(SIGXFSZ, SIG_IGN);
    errno = saved;
    return err_errno(err, "cannot run '%s'", file);
}
