/*
 * The functions of proc.h that start a process, wait for it and read what it prints. Its input is a
 * file in memory and both of its outputs are read as they come, so neither side blocks the other. A
 * descriptor tells of its end, never a signal. After the end the rest in the pipes is read, but
 * nobody waits for children that still have them.
 */

#include "base/env.h"
#include "base/id.h"
#include "base/time.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/proc.h"
#include "os/proc_internal.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    STDERR_MAX = 64 * 1024,
    CHUNK = 64 * 1024,
    DRAIN_MAX = 1024 * 1024,
    REST_MS = 2000, /* for what a program has started to end */
};

/* Opens the standard input of a child: a memory file, so that writing to it cannot block or raise
 * SIGPIPE. */
static int open_input(const struct proc_spec *spec)
{
    if (spec->input == NULL)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd == -1)
        return -1;
    if (file_write_all(fd, spec->input, spec->input_len) == -1 || lseek(fd, 0, SEEK_SET) == -1) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* The only variable of this program that belongs to nobody: whether the process may fork is a
 * property of the process. */
static int starter = -1;

void proc_start_by(int socket)
{
    starter = socket;
}

/* Returns the descriptor that tells of the end of the program, or -1 with errno. */
static int start(const struct proc_spec *spec, const int standard[3], pid_t *ret_pid)
{
    if (starter != -1)
        return proc_ask_starter(starter, spec, standard, ret_pid);
    pid_t pid = proc_fork_into(spec, standard);
    int end_fd = pid == -1 ? -1 : proc_open(pid);
    if (end_fd == -1 && pid != -1) {
        int saved = errno;
        (void)kill(pid, SIGKILL);
        (void)proc_await(pid, NULL);
        errno = saved;
    }
    *ret_pid = pid;
    return end_fd;
}

int proc_start(const struct proc_spec *spec, struct proc *ret, struct err *err)
{
    _cleanup_close_ int in = open_input(spec);
    int out[2] = {-1, -1};
    int errs[2] = {-1, -1};

    if (in == -1 || pipe2(out, O_CLOEXEC) == -1)
        return err_errno(err, "cannot start '%s'", spec->file);
    if (pipe2(errs, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot start '%s'", spec->file);
        close(out[0]);
        close(out[1]);
        return -1;
    }
    pid_t pid;
    int end_fd = start(spec, (int[]){in, out[1], errs[1]}, &pid);
    int saved = errno;
    close(out[1]);
    close(errs[1]);
    if (end_fd == -1) {
        errno = saved;
        (void)err_errno(err, "cannot start '%s'", spec->file);
        close(out[0]);
        close(errs[0]);
        return -1;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(errs[0], F_SETFL, O_NONBLOCK);
    *ret = (struct proc){.pid = pid,
                         .end_fd = end_fd,
                         .by_starter = starter != -1,
                         .out = out[0],
                         .err = errs[0],
                         .output_max = spec->output_max,
                         .tail = spec->tail,
                         .deadline = time_monotonic_ms() + spec->timeout_ms,
                         .timeout_ms = spec->timeout_ms,
                         .file = spec->file};
    return 0;
}

/* Reads the available output. At its end closes *fd and sets it to -1. Returns NULL, or what is
 * wrong. */
static const char *drain(int *fd, struct str *to, size_t max)
{
    while (*fd != -1) {
        str_reserve(to, CHUNK);
        ssize_t n = read(*fd, to->data + to->len, CHUNK - 1);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return errno == EAGAIN ? NULL : "cannot read its output";
        if (n == 0) {
            fd_closep(fd);
            return NULL;
        }
        to->len += (size_t)n;
        to->data[to->len] = '\0';
        if (to->len > max)
            return "it printed too much";
    }
    return NULL;
}

/* Likewise of stdout, within the limits of the process. Of an endless output it reads a part, so
 * that the time limit is looked at. */
static const char *drain_output(struct proc *proc, struct str *to)
{
    const char *wrong = drain(&proc->out, to, proc->output_max + (proc->tail ? DRAIN_MAX : 0));

    if (!proc->tail || to->len <= proc->output_max)
        return wrong;
    memmove(to->data, to->data + to->len - proc->output_max, proc->output_max + 1);
    to->len = proc->output_max;
    return NULL;
}

/* Reads the available stderr output; drops everything beyond STDERR_MAX. */
static void drain_errors(struct proc *proc, struct str *to)
{
    while (drain(&proc->err, to, STDERR_MAX) != NULL && to->len > STDERR_MAX) {
        to->len = STDERR_MAX;
        to->data[to->len] = '\0';
    }
}

static void release(struct proc *proc)
{
    fd_closep(&proc->out);
    fd_closep(&proc->err);
    fd_closep(&proc->end_fd);
    proc->pid = 0;
}

bool proc_take_end(struct proc *proc, pid_t pid, int status)
{
    if (proc->pid != pid || proc->ended || proc->by_starter)
        return false;
    proc->ended = true;
    proc->status = status;
    return true;
}

/* Waits for the end. Returns -1 if nobody knows how it ended. */
static int wait_for_end(const struct proc *proc, int *ret_status)
{
    if (proc->by_starter)
        return proc_ask_status(proc->end_fd, ret_status);
    return proc_await(proc->pid, ret_status);
}

static void kill_it(const struct proc *proc)
{
    static const int sig = SIGKILL;

    if (proc->by_starter)
        (void)send(proc->end_fd, &sig, sizeof sig, MSG_NOSIGNAL | MSG_DONTWAIT);
    else
        (void)kill(proc->pid, SIGKILL);
}

int proc_handle(const struct proc *proc)
{
    return fcntl(proc->end_fd, F_DUPFD_CLOEXEC, 0);
}

void proc_interrupt(int handle)
{
    static const int sig = SIGINT;

    if (send(handle, &sig, sizeof sig, MSG_NOSIGNAL | MSG_DONTWAIT) == -1 && errno == ENOTSOCK)
        (void)syscall(SYS_pidfd_send_signal, handle, SIGINT, NULL, 0);
}

void proc_abandon(struct proc *proc)
{
    int status;

    if (proc->pid > 0 && !proc->ended) { /* else the number may be another process's by now */
        kill_it(proc);
        (void)wait_for_end(proc, &status);
    }
    release(proc);
}

void proc_leave(struct proc *proc)
{
    if (proc->pid > 0 && !proc->ended)
        kill_it(proc);
    release(proc);
}

static int end_early(struct proc *proc, struct err *err, int code, const char *why)
{
    proc_abandon(proc);
    return err_set(err, code, "cannot run '%s': %s", proc->file, why);
}

static uint64_t cpu_used(const struct proc *proc)
{
    return proc_cpu(proc->pid) + proc_cpu(proc->partner(proc->partner_arg));
}

void proc_be_patient(struct proc *proc, int most_ms, pid_t present,
                     pid_t (*partner)(const char *arg), const char *arg)
{
    proc->latest = time_monotonic_ms() + most_ms;
    proc->partner = partner;
    proc->partner_arg = arg;
    proc->used = proc_cpu(proc->pid) + proc_cpu(present);
}

/* Returns the time left. After proc_be_patient(), output or CPU use restarts the limit. */
static int64_t time_left(struct proc *proc, bool printed)
{
    int64_t now = time_monotonic_ms();

    if (proc->latest == 0 || (proc->deadline > now && !printed))
        return proc->deadline - now;
    uint64_t used = printed ? proc->used : cpu_used(proc);
    if (printed || used != proc->used)
        proc->deadline = now + proc->timeout_ms;
    proc->used = used;
    if (proc->deadline > proc->latest)
        proc->deadline = proc->latest;
    return proc->deadline - now;
}

/* Releases a process that has ended. */
static int reap(struct proc *proc, struct proc_result *ret, struct err *err)
{
    int status = proc->status;

    if (!proc->ended && wait_for_end(proc, &status) == -1) {
        release(proc);
        return err_set(err, MAS_FAILED,
                       "cannot run '%s': the process that started it has ended; it may go on",
                       proc->file);
    }
    ret->status = proc_exit_code(status);
    drain_errors(proc, &ret->err);
    const char *wrong = drain_output(proc, &ret->out);
    release(proc);
    if (wrong != NULL)
        return err_set(err, MAS_FAILED, "cannot run '%s': %s", proc->file, wrong);
    return 0;
}

static void want(const struct proc *proc, struct loop *loop)
{
    loop_want(loop, proc->end_fd, POLLIN);
    loop_want(loop, proc->out, POLLIN);
    loop_want(loop, proc->err, POLLIN);
}

/* After a turn of the loop. Returns 1 if the process goes on; otherwise it is released, and this is
 * 0 or -1. */
static int take(struct proc *proc, struct loop *loop, struct proc_result *ret, struct err *err)
{
    bool ended = loop_got(loop, proc->end_fd) != 0;

    drain_errors(proc, &ret->err);
    const char *wrong = drain_output(proc, &ret->out);
    if (wrong != NULL)
        return end_early(proc, err, MAS_FAILED, wrong);
    return ended ? reap(proc, ret, err) : 1;
}

int proc_finish(struct proc *proc, struct proc_result *ret, struct err *err)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    size_t seen = 0;

    for (;;) {
        size_t printed = ret->out.len + ret->err.len;
        bool more = printed != seen;
        seen = printed;
        if (time_left(proc, more) <= 0)
            return end_early(proc, err, MAS_TIMEOUT, "it did not end in time");
        loop_begin(&loop);
        want(proc, &loop);
        if (loop_wait(&loop, proc->deadline) == -1)
            return end_early(proc, err, MAS_FAILED, "cannot wait for it");
        int rc = take(proc, &loop, ret, err);
        if (rc != 1)
            return rc;
    }
}

/* Runs a program with a mark, and ends all that has it. */
static int capture_whole(const struct proc_spec *spec, struct proc_result *ret, struct err *err)
{
    struct proc_spec marked = *spec;
    _cleanup_strv_ char **env = NULL;
    struct proc proc;
    char mark[ID_TEXT];

    if (id_make(mark, err) == -1)
        return -1;
    strv_push_all(&env, spec->envp != NULL ? spec->envp : environ);
    env_put(&env, PROC_MARK, mark);
    marked.envp = env;
    if (proc_start(&marked, &proc, err) == -1)
        return -1;
    int rc = proc_finish(&proc, ret, err);
    if (rc == -1)
        proc_kill_marked(PROC_MARK, mark, REST_MS);
    return rc;
}

int proc_capture(const struct proc_spec *spec, struct proc_result *ret, struct err *err)
{
    struct proc proc;

    if (spec->whole)
        return capture_whole(spec, ret, err);
    return proc_start(spec, &proc, err) == -1 ? -1 : proc_finish(&proc, ret, err);
}

void proc_finish_all(struct proc *procs, size_t count, struct proc_result *results,
                     struct err *errs)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    bool *done = mem_alloc((count + 1) * sizeof *done);
    size_t left = count;

    while (left > 0) {
        int64_t now = time_monotonic_ms();
        int64_t next = INT64_MAX;

        loop_begin(&loop);
        for (size_t i = 0; i < count; i++) {
            if (!done[i] && procs[i].deadline <= now) {
                (void)end_early(&procs[i], &errs[i], MAS_TIMEOUT, "it did not end in time");
                done[i] = true;
                left--;
            }
            if (done[i])
                continue;
            want(&procs[i], &loop);
            next = procs[i].deadline < next ? procs[i].deadline : next;
        }
        if (left == 0)
            break;
        bool failed = loop_wait(&loop, next) == -1;
        for (size_t i = 0; i < count; i++) {
            if (done[i])
                continue;
            int rc = failed ? end_early(&procs[i], &errs[i], MAS_FAILED, "cannot wait for it")
                            : take(&procs[i], &loop, &results[i], &errs[i]);
            done[i] = rc != 1;
            left -= rc != 1;
        }
    }
    free(done);
}

void proc_result_free(struct proc_result *result)
{
    str_free(&result->out);
    str_free(&result->err);
}
