/*
 * From become_supervisor() on this is the supervisor's own process, which starts the agent, closes
 * all other descriptors and loops until the tree is gone. An end goes by steps, each with a
 * deadline. An order, a lost host or lease, a signal, or a client that hangs up begins them, or
 * makes them faster, but never slower. Below that is what the host calls: it only sends and reads
 * messages.
 */

#include "host/supervisor_internal.h"

#include "base/time.h"
#include "os/loop.h"
#include "os/proc.h"
#include "os/signals.h"
#include "os/sock.h"
#include "wall/cgroup.h"
#include "wall/told.h"

#include <sys/socket.h>
#include <sys/wait.h>

enum {
    KILL_STEP_MS = 100, /* between two rounds of SIGKILL, which reach what was forked meanwhile */
    KILL_ROUNDS = 50,
    HIGH_FD = 64, /* out of the way of those that move down */
};

const struct supervisor_times supervisor_lease_times = {.hangup_ms = 1000, .terminate_ms = 2000};

/* Enters a step of the end and sends its signal. */
static void enter(struct supervision *self, enum step step)
{
    size_t count = 0;
    int wait_ms = 0;

    self->step = step;
    pause_end(&self->pause); /* what is stopped cannot end by itself */
    switch (step) {
    case STEP_HANGUP:
        wait_ms = self->order.times.hangup_ms;
        if (wait_ms > 0 && (!self->piped || self->agent == 0))
            (void)supervision_signal(self, SIGHUP, false);
        break;
    case STEP_TERMINATE:
        wait_ms = self->order.times.terminate_ms;
        self->report.terminated += (int)supervision_signal(self, SIGTERM, false);
        break;
    case STEP_KILL:
        wait_ms = KILL_STEP_MS;
        count = supervision_kill(self);
        self->report.killed += self->rounds++ == 0 ? (int)count : 0;
        break;
    case STEP_NONE:
    default:
        break;
    }
    self->deadline = time_monotonic_ms() + wait_ms;
}

/* Tells the client of a job how that has ended. */
static void answer(struct supervision *self, int status, int error)
{
    if (self->client == -1)
        return;
    self->job->answer(self->client, status, error);
    fd_closep(&self->client);
}

/* Reads what the wall around the agent has told. */
static void read_told(struct supervision *self)
{
    struct wall_told told;

    while (told_read(&self->told, &told)) {
        self->has_end = told.news == WALL_ENDED;
        self->end = told.status;
        if (told.news == WALL_STARTS && told.pid > 0)
            supervision_tell(
                self, &(struct supervisor_report){.news = SUPERVISOR_PROGRAM, .pid = told.pid});
    }
}

/* A wall tells that a signal ended its program by an exit code, as shells do. */
static int status_of_walled(int status)
{
    int sig = proc_signal_of(proc_exit_code(status));

    return sig != 0 ? sig : status; /* as a wait status: ended by this signal */
}

/* Reaps what has ended. Returns true while something of the tree is left. */
static bool reap(struct supervision *self)
{
    struct proc_id *ids = NULL;
    pid_t pid;
    int status = 0;

    while ((pid = supervision_reap(self, &status)) > 0) {
        if (pid != self->agent)
            continue;
        self->agent = 0;
        read_told(self);
        if (self->has_end)
            status = self->end;
        else if (self->wall_tells) /* it was killed before it could tell */
            status = status_of_walled(status);
        answer(self, status, 0);
        supervision_tell(self,
                         &(struct supervisor_report){.news = SUPERVISOR_ENDED, .status = status});
    }
    supervision_look_for_guard(self);
    if (pid == -1)
        return false; /* every descendant becomes a child sooner or later */
    if (self->agent != 0)
        return true;
    if (self->step == STEP_NONE)
        enter(self, STEP_HANGUP);
    size_t left = supervision_list(self, &ids);
    free(ids);
    return left > 0;
}

/* Returns the times of an end that is under way: it can become faster, but not slower. */
static struct supervisor_times shorter(struct supervision *self, struct supervisor_times times)
{
    const struct supervisor_times *old = &self->order.times;
    int wait_ms = self->step == STEP_HANGUP ? times.hangup_ms : times.terminate_ms;
    int64_t deadline = time_monotonic_ms() + wait_ms;

    if (self->step < STEP_KILL && deadline < self->deadline)
        self->deadline = deadline;
    return (struct supervisor_times){
        .hangup_ms = times.hangup_ms < old->hangup_ms ? times.hangup_ms : old->hangup_ms,
        .terminate_ms =
            times.terminate_ms < old->terminate_ms ? times.terminate_ms : old->terminate_ms};
}

static void handle_order(struct supervision *self)
{
    struct order order;
    ssize_t n = sock_receive_message(self->host, &order, sizeof order, 0);

    if (n == -1 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n != (ssize_t)sizeof order) { /* the host is gone */
        close(self->host);
        self->host = -1;
        order = (struct order){.times = self->times, .spare = self->order.spare};
    }
    if (order.kind == ORDER_GO_ON)
        pause_end(&self->pause);
    if (order.kind == ORDER_PAUSE && self->step == STEP_NONE)
        pause_begin(&self->pause);
    if (order.kind != ORDER_END)
        return;
    self->order.spare = order.spare;
    self->order.times = self->step == STEP_NONE ? order.times : shorter(self, order.times);
    if (self->step == STEP_NONE)
        enter(self, STEP_HANGUP);
}

/* A client that says anything more, or hangs up, wants no answer. */
static void drop_client(struct supervision *self)
{
    fd_closep(&self->client);
    if (self->step < STEP_TERMINATE)
        enter(self, STEP_TERMINATE);
}

/* Ends the tree if the lease is lost. Returns when to look again. */
static int64_t look_at_lease(struct supervision *self)
{
    int64_t next = -1;
    enum lease_age age = lease_clock_look(&self->lease, &next);

    if (age == LEASE_ENDS && !self->lost) {
        self->lost = true;
        self->order.times = self->step == STEP_NONE ? supervisor_lease_times
                                                    : shorter(self, supervisor_lease_times);
        if (self->step == STEP_NONE)
            enter(self, STEP_HANGUP);
    }
    if (age == LEASE_OVER && self->step < STEP_KILL)
        enter(self, STEP_KILL);
    return next;
}

static void handle_signal(struct supervision *self)
{
    for (int sig; (sig = signals_next(self->signals)) != 0;)
        if (sig == SIGTERM && self->step < STEP_TERMINATE)
            enter(self, STEP_TERMINATE); /* somebody ends the whole team */
}

__attribute__((noreturn)) static void supervise(struct supervision *self)
{
    struct loop loop = LOOP_INIT;

    while (reap(self)) {
        loop_begin(&loop);
        loop_want(&loop, self->signals, POLLIN);
        loop_want(&loop, self->host, POLLIN);
        loop_want(&loop, self->client, POLLIN);
        loop_want(&loop, self->told, POLLIN);
        int64_t lease = look_at_lease(self);
        int64_t next = pause_tick(&self->pause, time_monotonic_ms());
        int n =
            loop_wait(&loop, time_sooner(self->step == STEP_NONE ? next : self->deadline, lease));
        (void)look_at_lease(self); /* this process may have been stopped for long */
        if (loop_got(&loop, self->signals) != 0)
            handle_signal(self);
        if (loop_got(&loop, self->host) != 0)
            handle_order(self);
        if (loop_got(&loop, self->client) != 0)
            drop_client(self);
        if (loop_got(&loop, self->told) != 0)
            read_told(self);
        if (n == -1 || self->step == STEP_NONE || time_monotonic_ms() < self->deadline)
            continue;
        if (self->step == STEP_KILL && self->rounds > KILL_ROUNDS)
            break; /* what is left cannot be killed */
        enter(self, self->step < STEP_KILL ? self->step + 1 : STEP_KILL);
    }
    cgroup_part_drop(&self->part);
    self->report.news = SUPERVISOR_CLEAR;
    supervision_tell(self, &self->report);
    _exit(0);
}

/* Starts the agent. Behind a wall, the program itself takes the terminal, because the programs of
 * the wall around it must get no keys and no signals: src/enter/main.c. */
static pid_t start(const struct supervisor_spec *spec, int slave, struct proc_bounds *bounds,
                   int *ret_told)
{
    int fds[3 + PROC_FDS_MAX] = {slave, slave, slave};
    int from = -1;
    int to = -1;

    if (spec->piped)
        memcpy(fds, spec->pipes, sizeof spec->pipes);
    for (size_t i = 0; i < spec->fd_count && i < PROC_FDS_MAX; i++)
        fds[3 + i] = spec->fds[i];
    bool tells = spec->wall_tells && spec->fd_count < PROC_FDS_MAX && told_open(&from, &to);
    if (tells)
        fds[3 + spec->fd_count] = to;
    *ret_told = tells ? fcntl(from, F_DUPFD_CLOEXEC, HIGH_FD) : -1;
    return proc_start_session(&(struct proc_session){.fds = fds,
                                                     .fd_count = 3 + spec->fd_count + tells,
                                                     .takes_tty = !spec->piped && !spec->is_walled,
                                                     .is_deaf = spec->is_walled,
                                                     .file = spec->program,
                                                     .argv = spec->argv,
                                                     .envp = spec->env,
                                                     .bounds = bounds});
}

/* Does a job in this process. */
__attribute__((noreturn)) static void do_job(const struct supervisor_spec *spec, int client,
                                             int host)
{
    enum { CLIENT = 3 };
    const int fds[] = {spec->pipes[0], spec->pipes[1], spec->pipes[2], client, host};

    if (proc_go_on(fds, ARRAY_LEN(fds), CLIENT) == -1)
        _exit(1);
    environ = (char **)(uintptr_t)spec->env;
    int code = spec->run(spec->argv);
    (void)signal(SIGIO, SIG_IGN); /* it may not wait for the answer */
    spec->job->answer(CLIENT, W_EXITCODE(code, 0), 0);
    _exit(0);
}

/* Closes all other descriptors: a terminal that is open here would hide its hang-up. */
static void keep_own(struct supervision *self)
{
    int *const own[] = {&self->host, &self->signals, &self->part.dir, &self->client, &self->told};
    int next = 0;

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (*own[i] != -1)
            *own[i] = dup2(*own[i], next++);
    proc_close_from((unsigned)next);
}

/* Runs in the supervisor's process. */
__attribute__((noreturn)) static void become_supervisor(struct supervisor_spec *spec, int host,
                                                        int slave)
{
    struct supervision self = {
        .host = host,
        .piped = spec->piped,
        .part = {.dir = -1},
        .pause = PAUSE_INIT,
        .lease = {.page = spec->lease != NULL ? spec->lease->page : NULL, .fd = -1},
        .client = spec->job != NULL ? spec->job->client : -1,
        .job = spec->job,
        .wall_tells = spec->wall_tells,
        .told = -1,
        .times = spec->times,
        .order = {.times = spec->times}};
    struct proc_bounds bounds = PROC_BOUNDS_INIT;
    sigset_t mask;

    proc_set_name(spec->is_operator ? SUPERVISOR_NAME_OPERATOR : SUPERVISOR_NAME);
    proc_adopt_orphans();
    (void)setsid(); /* signals to the pane's processes are not for this one */
    (void)sigfillset(&mask);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    self.signals = signals_open((const int[]){SIGCHLD, SIGTERM, 0});
    if (spec->job != NULL && spec->job->prepare(spec->job, spec) == -1)
        _exit(1);
    if (spec->job != NULL && spec->run != NULL)
        do_job(spec, self.client, host);
    if (spec->bounds != NULL)
        bounds = *spec->bounds;
    if (bounds.group != -1 && !cgroup_part_make(bounds.group, &self.part))
        bounds.refused = errno;
    bounds.group = self.part.dir;
    if (self.signals == -1 || (spec->cwd != NULL && fchdir(*spec->cwd) == -1))
        self.agent = -1;
    else
        self.agent = start(spec, slave, &bounds, &self.told);
    int error = errno;
    keep_own(&self);
    if (self.agent == -1) {
        cgroup_part_drop(&self.part);
        answer(&self, 0, error);
        supervision_tell(&self,
                         &(struct supervisor_report){.news = SUPERVISOR_FAILED, .status = error});
        _exit(1);
    }
    self.pause.group = self.part.dir;
    if (spec->paused)
        pause_begin(&self.pause);
    supervision_tell(&self, &(struct supervisor_report){.news = SUPERVISOR_RUNS,
                                                        .pid = self.agent,
                                                        .status = bounds.refused});
    supervise(&self);
}

int supervisor_start(const struct supervisor_spec *spec, int slave, struct supervisor *ret,
                     struct err *err)
{
    int pair[2] = {-1, -1};
    pid_t pid = -1;

    if (sock_pair(pair) == 0)
        pid = proc_fork();
    if (pid == 0) {
        struct supervisor_spec own = *spec;
        become_supervisor(&own, pair[1], slave);
    }
    int saved = errno;
    fd_closep(&pair[1]);
    if (slave != -1)
        (void)close(slave);
    for (int i = 0; i < 3 && spec->piped && spec->job == NULL; i++)
        (void)close(spec->pipes[i]);
    if (pid == -1) {
        fd_closep(&pair[0]);
        errno = saved;
        return err_errno(err, "cannot start the agent's supervisor");
    }
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    *ret = (struct supervisor){.pid = pid, .fd = pair[0]};
    return 0;
}

int supervisor_start_printing(struct supervisor_spec *spec, struct supervisor *ret, int *ret_out,
                              struct err *err)
{
    int out[2] = {-1, -1};

    spec->piped = true;
    spec->pipes[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (spec->pipes[0] == -1 || pipe2(out, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot create a pipe");
        fd_closep(&spec->pipes[0]);
        return -1;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    spec->pipes[1] = out[1];
    spec->pipes[2] = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
    if (supervisor_start(spec, -1, ret, err) == -1) {
        (void)close(out[0]);
        return -1;
    }
    *ret_out = out[0];
    return 0;
}

void supervisor_end(const struct supervisor *supervisor, struct supervisor_times times, pid_t spare)
{
    struct order order = {.times = times, .spare = spare};
    if (supervisor->fd != -1)
        (void)!send(supervisor->fd, &order, sizeof order, MSG_NOSIGNAL);
}

void supervisor_pause(const struct supervisor *supervisor, bool on)
{
    struct order order = {.kind = on ? ORDER_PAUSE : ORDER_GO_ON};
    if (supervisor->fd != -1)
        (void)!send(supervisor->fd, &order, sizeof order, MSG_NOSIGNAL);
}

void supervisor_read(struct supervisor *supervisor, struct supervisor_report *ret)
{
    *ret = (struct supervisor_report){.news = SUPERVISOR_NOTHING};
    if (supervisor->fd == -1)
        return;
    ssize_t n = sock_receive_message(supervisor->fd, ret, sizeof *ret, 0);
    if (n == (ssize_t)sizeof *ret)
        return;
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        ret->news = SUPERVISOR_NOTHING;
        return;
    }
    (void)close(supervisor->fd);
    *supervisor = (struct supervisor){.fd = -1};
    *ret = (struct supervisor_report){.news = SUPERVISOR_GONE};
}

void supervisor_sweep(const pid_t *spared, size_t count)
{
    size_t left = 1;

    for (int round = 0; left > 0 && round < KILL_ROUNDS; round++) {
        struct proc_id *ids = NULL;
        left = proc_descendants(spared, count, &ids);
        for (size_t i = 0; i < left; i++)
            proc_signal(&ids[i], SIGKILL);
        free(ids);
        if (left > 0)
            (void)loop_wait_for(-1, 0, KILL_STEP_MS / 10);
    }
}
