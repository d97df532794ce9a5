#include "host/supervisor.h"

#include "base/loop.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILL_STEP_MS =
        100, /* between one round of SIGKILL and the next, for what was forked meanwhile */
    KILL_ROUNDS = 50,
    KILL_LOOKS = 20, /* in each round */
};

/* What the host asks. */
struct order {
    struct supervisor_times times;
    pid_t spare;
};

/* The steps of an end, in order. */
enum step { STEP_NONE, STEP_HANGUP, STEP_TERMINATE, STEP_KILL };

/* All that the supervisor's process knows. */
struct keep {
    int host; /* -1: it is gone */
    bool piped;
    int signals;
    pid_t agent; /* 0: it has ended */
    struct supervisor_times times; /* for an end that nobody gave others for */
    struct order order;
    enum step step;
    int rounds;
    int64_t deadline;
    struct supervisor_report report; /* counts and names, for SUPERVISOR_CLEAR */
};

static void tell(struct keep *keep, const struct supervisor_report *report)
{
    if (keep->host != -1)
        (void)!send(keep->host, report, sizeof *report, MSG_NOSIGNAL);
}

static void add_names(struct keep *keep, const struct proc_id *ids, size_t count)
{
    char *names = keep->report.names;
    char name[20];

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names);
        (void)snprintf(names + len, SUPERVISOR_NAMES_MAX - len, "%s%s(%ld)", len > 0 ? " " : "",
                       proc_name(ids[i].pid, name), (long)ids[i].pid);
    }
}

/* Sends a signal to the whole tree. Returns how many processes that was. */
static size_t signal_tree(struct keep *keep, int sig, bool with_names)
{
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(keep->order.spare, &ids);

    if (with_names)
        add_names(keep, ids, count);
    for (size_t i = 0; i < count; i++) {
        proc_signal(&ids[i], sig);
        if (sig != SIGKILL)
            proc_signal(&ids[i], SIGCONT); /* a stopped process acts on nothing else */
    }
    free(ids);
    return count;
}

/* Enters a step of the end and does what it is about. */
static void enter(struct keep *keep, enum step step)
{
    size_t count = 0;
    int wait_ms = 0;

    keep->step = step;
    switch (step) {
    case STEP_HANGUP:
        wait_ms = keep->order.times.hangup_ms;
        if (wait_ms > 0 && (!keep->piped || keep->agent == 0))
            (void)signal_tree(keep, SIGHUP, false);
        break;
    case STEP_TERMINATE:
        wait_ms = keep->order.times.terminate_ms;
        keep->report.terminated += (int)signal_tree(keep, SIGTERM, false);
        break;
    case STEP_KILL:
        wait_ms = KILL_STEP_MS;
        count = signal_tree(keep, SIGKILL, keep->rounds == 0);
        /* what forks and goes at once is caught only by looking again at once */
        for (int i = 0; i < KILL_LOOKS && signal_tree(keep, SIGKILL, false) > 0; i++)
            ;
        keep->report.killed += keep->rounds++ == 0 ? (int)count : 0;
        break;
    case STEP_NONE:
    default:
        break;
    }
    keep->deadline = time_monotonic_ms() + wait_ms;
}

/* Takes all that has ended. true while something is left to end. */
static bool reap(struct keep *keep)
{
    struct proc_id *ids = NULL;
    pid_t pid;
    int status = 0;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != keep->agent)
            continue;
        keep->agent = 0;
        tell(keep, &(struct supervisor_report){.news = SUPERVISOR_ENDED, .status = status});
    }
    if (pid == -1 && errno == ECHILD)
        return false; /* each descendant is, sooner or later, a child */
    if (keep->agent != 0)
        return true;
    if (keep->step == STEP_NONE)
        enter(keep, STEP_HANGUP);
    size_t left = proc_descendants(keep->order.spare, &ids);
    free(ids);
    return left > 0;
}

/* An end that is under way can be hastened, never put off. */
static struct supervisor_times shorter(struct keep *keep, struct supervisor_times times)
{
    const struct supervisor_times *old = &keep->order.times;
    int wait_ms = keep->step == STEP_HANGUP ? times.hangup_ms : times.terminate_ms;
    int64_t deadline = time_monotonic_ms() + wait_ms;

    if (keep->step < STEP_KILL && deadline < keep->deadline)
        keep->deadline = deadline;
    return (struct supervisor_times){
        .hangup_ms = times.hangup_ms < old->hangup_ms ? times.hangup_ms : old->hangup_ms,
        .terminate_ms =
            times.terminate_ms < old->terminate_ms ? times.terminate_ms : old->terminate_ms};
}

static void handle_order(struct keep *keep)
{
    struct order order;
    ssize_t n = recv(keep->host, &order, sizeof order, 0);

    if (n == -1 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n != (ssize_t)sizeof order) { /* the host is gone */
        close(keep->host);
        keep->host = -1;
        order = (struct order){.times = keep->times, .spare = keep->order.spare};
    }
    keep->order.spare = order.spare;
    keep->order.times = keep->step == STEP_NONE ? order.times : shorter(keep, order.times);
    if (keep->step == STEP_NONE)
        enter(keep, STEP_HANGUP);
}

static void handle_signal(struct keep *keep)
{
    struct signalfd_siginfo info;

    while (read(keep->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM && keep->step < STEP_TERMINATE)
            enter(keep, STEP_TERMINATE); /* somebody sweeps the whole team */
}

__attribute__((noreturn)) static void keep_on(struct keep *keep)
{
    struct loop loop = LOOP_INIT;

    while (reap(keep)) {
        loop_begin(&loop);
        loop_want(&loop, keep->signals, POLLIN);
        loop_want(&loop, keep->host, POLLIN);
        int n = loop_wait(&loop, keep->step == STEP_NONE ? -1 : keep->deadline);
        if (loop_got(&loop, keep->signals) != 0)
            handle_signal(keep);
        if (loop_got(&loop, keep->host) != 0)
            handle_order(keep);
        if (n == -1 || keep->step == STEP_NONE || time_monotonic_ms() < keep->deadline)
            continue;
        if (keep->step == STEP_KILL && keep->rounds > KILL_ROUNDS)
            break; /* what cannot be killed is not ours to kill */
        enter(keep, keep->step < STEP_KILL ? keep->step + 1 : STEP_KILL);
    }
    keep->report.news = SUPERVISOR_CLEAR;
    tell(keep, &keep->report);
    _exit(0);
}

/* In the supervisor's process. */
__attribute__((noreturn)) static void become_supervisor(const struct supervisor_spec *spec,
                                                        int host, int slave)
{
    struct keep keep = {
        .host = host, .piped = spec->piped, .times = spec->times, .order = {.times = spec->times}};
    sigset_t mask;

    (void)prctl(PR_SET_NAME, spec->is_operator ? SUPERVISOR_NAME_OPERATOR : SUPERVISOR_NAME);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)setsid(); /* nothing that is sent to the pane's processes is meant for this one */
    (void)sigfillset(&mask);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    (void)sigaddset(&mask, SIGTERM);
    keep.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (keep.signals == -1 || (spec->cwd != NULL && fchdir(*spec->cwd) == -1))
        keep.agent = -1;
    else if (spec->piped)
        keep.agent = proc_start_on_pipes(spec->pipes, spec->program, spec->argv, spec->env);
    else
        keep.agent = proc_start_on_tty(slave, spec->program, spec->argv, spec->env);
    int error = errno;
    /* above all the terminals: an open one would hide its end from those on the other side */
    int low = dup2(host, 0);
    keep.signals = dup2(keep.signals, 1);
    (void)syscall(SYS_close_range, 2U, ~0U, 0U);
    keep.host = low;
    if (keep.agent == -1) {
        tell(&keep, &(struct supervisor_report){.news = SUPERVISOR_FAILED, .status = error});
        _exit(1);
    }
    tell(&keep, &(struct supervisor_report){.news = SUPERVISOR_RUNS, .pid = keep.agent});
    keep_on(&keep);
}

int supervisor_start(const struct supervisor_spec *spec, int slave, struct supervisor *ret,
                     struct err *err)
{
    int pair[2] = {-1, -1};
    pid_t pid = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0)
        pid = proc_fork();
    if (pid == 0)
        become_supervisor(spec, pair[1], slave);
    int saved = errno;
    fd_closep(&pair[1]);
    if (slave != -1)
        (void)close(slave);
    for (int i = 0; i < 3 && spec->piped; i++)
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

void supervisor_end(const struct supervisor *supervisor, struct supervisor_times times, pid_t spare)
{
    struct order order = {.times = times, .spare = spare};
    if (supervisor->fd != -1)
        (void)!send(supervisor->fd, &order, sizeof order, MSG_NOSIGNAL);
}

void supervisor_read(struct supervisor *supervisor, struct supervisor_report *ret)
{
    *ret = (struct supervisor_report){.news = SUPERVISOR_NOTHING};
    if (supervisor->fd == -1)
        return;
    ssize_t n = recv(supervisor->fd, ret, sizeof *ret, 0);
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

void supervisor_sweep(void)
{
    struct keep keep = {.host = -1};
    int round = 0;

    while (reap(&keep) && round++ < KILL_ROUNDS) {
        (void)signal_tree(&keep, SIGKILL, false);
        (void)loop_wait_for(-1, 0, KILL_STEP_MS / 10);
    }
}
