#include "host/lease_watch.h"

#include "base/loop.h"
#include "base/time.h"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

enum { FIRST_FD = 3, MS = 1000, NS = 1000000, KILL_LOOKS = 20 };

/* What the process needs of the one that starts it. */
struct watch {
    const struct lease_clock *clock;
    pid_t host;
};

/* Waits until the host has ended, at most so long, also by a clock that goes on while the machine
 * sleeps. Returns true if it has. */
static bool has_ended(int host, int timer, int64_t ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = ms / MS, .tv_nsec = ms % MS * NS}};
    _cleanup_loop_ struct loop loop = LOOP_INIT;

    if (ms <= 0)
        when.it_value.tv_nsec = 1;
    if (timerfd_settime(timer, 0, &when, NULL) == -1)
        return loop_wait_for(host, POLLIN, ms > 0 ? (int)ms : 0) != 0;
    loop_begin(&loop);
    loop_want(&loop, host, POLLIN);
    loop_want(&loop, timer, POLLIN);
    (void)loop_wait(&loop, -1);
    return loop_got(&loop, host) != 0;
}

/* Kills what the host has started before the host: the end of its terminal would let a stopped
 * agent go on. Looks again for what was started meanwhile. */
static void kill_all(pid_t pid, int host)
{
    bool more = true;

    for (int i = 0; i < KILL_LOOKS && more; i++) {
        struct proc_id *ids = NULL;
        size_t count = proc_descendants_of(pid, &ids);
        more = false;
        for (size_t j = 0; j < count; j++) {
            if (ids[j].pid == getpid())
                continue;
            proc_signal(&ids[j], SIGKILL);
            more = true;
        }
        free(ids);
    }
    (void)syscall(SYS_pidfd_send_signal, host, SIGKILL, NULL, 0);
}

static int watch(void *arg)
{
    const struct watch *self = arg;
    sigset_t all;
    int64_t next = 0;

    (void)prctl(PR_SET_NAME, LEASE_WATCH_NAME);
    (void)setsid(); /* signals to the pane's processes are not for this one */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)syscall(SYS_close_range, FIRST_FD, ~0U, 0U); /* the lock of the host, too */
    int host = (int)syscall(SYS_pidfd_open, self->host, 0);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (host == -1 || getppid() != self->host)
        return 0; /* it has ended meanwhile */
    while (lease_clock_look(self->clock, &next) != LEASE_OVER)
        if (has_ended(host, timer, next - time_monotonic_ms()))
            return 0;
    if (!has_ended(host, timer, LEASE_HANGS_MS))
        kill_all(self->host, host);
    return 0;
}

int lease_watch_start(const struct lease_clock *clock, struct proc *ret, struct err *err)
{
    struct watch self = {.clock = clock, .host = getpid()};
    const struct proc_spec spec = {.file = LEASE_WATCH_NAME,
                                   .go_on = watch,
                                   .arg = &self,
                                   .cwd = -1,
                                   .output_max = 1,
                                   .timeout_ms = INT_MAX,
                                   .bound = true};

    return proc_start(&spec, ret, err);
}
