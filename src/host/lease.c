/*
 * The host's side of a lease (store/lease.h). `mas lease` renews it, one process for the session,
 * which any host starts if none lives. This host only looks at the clock of the lease: it must not
 * touch the store, and once the lease is lost, no file of the session.
 *
 * A host ends by itself when its lease is lost. One that hangs on a disk cannot, and what it waits
 * for there must not happen when another machine has the session. So each host has a watcher, a
 * small process that only looks at the clock too, and kills the host, with all that it has started,
 * when the lease is over and the host is still there after LEASE_HANGS_MS. The watcher touches no
 * disk and has nothing open. A host that is only stopped, and whose lease is renewed meanwhile,
 * goes on. The watcher ends with the host; if it is killed, the host starts another.
 */
#include "host/backend.h"
#include "host/state.h"

#include "base/time.h"
#include "os/loop.h"
#include "os/proc.h"

#define WATCH_NAME "mas-lease-watch" /* of the process */

/* ---- the watcher */

enum { FIRST_FD = 3, KILL_LOOKS = 20 };

/* What the process needs of the one that starts it. */
struct watch {
    const struct lease_clock *clock;
    pid_t host;
};

/* Waits until the host has ended, at most so long. Returns true if it has. */
static bool has_ended(int host, int64_t ms)
{
    return loop_wait_awake(host, POLLIN, ms > 0 ? (int)ms : 0) > 0;
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
    proc_kill(host);
}

static int watch(void *arg)
{
    const struct watch *self = arg;
    sigset_t all;
    int64_t next = 0;

    proc_set_name(WATCH_NAME);
    (void)setsid(); /* signals to the pane's processes are not for this one */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    proc_close_from(FIRST_FD); /* the lock of the host, too */
    int host = proc_open(self->host);
    if (host == -1 || getppid() != self->host)
        return 0; /* it has ended meanwhile */
    while (lease_clock_look(self->clock, &next) != LEASE_OVER)
        if (has_ended(host, next - time_monotonic_ms()))
            return 0;
    if (!has_ended(host, LEASE_HANGS_MS))
        kill_all(self->host, host);
    return 0;
}

/* Starts the watcher of this process. It copies the clock. The caller releases *ret with
 * proc_abandon(), or with proc_finish() when it has ended. */
static int watch_start(const struct lease_clock *clock, struct proc *ret, struct err *err)
{
    struct watch self = {.clock = clock, .host = getpid()};
    const struct proc_spec spec = {.file = WATCH_NAME,
                                   .go_on = watch,
                                   .arg = &self,
                                   .cwd = -1,
                                   .output_max = 1,
                                   .timeout_ms = INT_MAX,
                                   .bound = true};

    return proc_start(&spec, ret, err);
}

/* ---- the host */

enum {
    LOOK_MS = 2000, /* between two looks whether a process renews the lease */
    STAGGER_MS = 200, /* for each agent before this one, so that only one host starts it */
};

/* Starts the watcher anew: a host without one that hangs on a disk may outlive the lease. */
static void start_watcher(struct host *host)
{
    struct host_lease *lease = &host->lease;
    struct err err = ERR_INIT;

    if (lease->watched)
        proc_abandon(&lease->watcher);
    lease->watched = watch_start(&lease->clock, &lease->watcher, &err) == 0;
    if (!lease->watched)
        host_log(host, err.text); /* host_lease_tick() tries again */
}

int host_lease_open(struct host *host, struct err *err)
{
    struct host_lease *lease = &host->lease;
    size_t place = (size_t)(host->agent - host->team.agents);

    if (host->session.store[0] == '\0' || host->session.lease[0] == '\0')
        return 0;
    if (lease_clock_open(host->session.lease, false, &lease->clock, err) == -1)
        return err_wrap(err, "cannot start agent '%s'", host->agent->id);
    if (lease_clock_look(&lease->clock, NULL) != LEASE_VALID ||
        lease_clock_word(&lease->clock) != LEASE_RUNS)
        return err_set(err, MAS_CONFLICT, "cannot start agent '%s': the session's lease is lost",
                       host->agent->id);
    (void)lease_clock_be_host(&lease->clock);
    lease->watched = watch_start(&lease->clock, &lease->watcher, err) == 0;
    if (!lease->watched)
        return err_wrap(err, "cannot start agent '%s'", host->agent->id);
    lease->due = time_monotonic_ms() + (int64_t)place * STAGGER_MS;
    return 0;
}

void host_lease_close(struct host *host)
{
    if (host->lease.runs)
        proc_leave(&host->lease.renewer);
    host->lease.runs = false;
    if (host->lease.watched)
        proc_abandon(&host->lease.watcher);
    host->lease.watched = false;
    lease_clock_close(&host->lease.clock);
}

bool host_lease_look(struct host *host)
{
    struct host_lease *lease = &host->lease;

    switch (lease_clock_look(&lease->clock, NULL)) {
    case LEASE_ENDS:
        break;
    case LEASE_OVER:
        supervisor_sweep(NULL, 0); /* the supervisors too: one may be stopped */
        _exit(MAS_FAILED); /* another machine may have the files */
    case LEASE_VALID:
    default:
        return false;
    }
    if (lease->lost)
        return false;
    lease->lost = true;
    _cleanup_free_ char *words = mem_printf(
        "the lease of this session was not renewed for %d s, so its agents end: the store '%s' "
        "does not answer, or nothing renews it",
        LEASE_LOST_MS / 1000, host->session.store);
    host->backend->say(host, words);
    return true;
}

static void start_renewer(struct host *host)
{
    struct host_lease *lease = &host->lease;
    const struct session *session = &host->session;
    _cleanup_free_ char *epoch = mem_printf("%ju", (uintmax_t)session->epoch);
    const char *argv[] = {"mas", "lease", session->store, session->id, epoch, session->lease, NULL};
    struct err err = ERR_INIT;
    const struct proc_spec spec = {.timeout_ms = INT_MAX};

    lease->runs = host_start_own("mas lease", argv, &spec, &lease->renewer, &err) == 0;
    if (!lease->runs)
        host_log(host, err.text);
}

int64_t host_lease_tick(struct host *host, int64_t now)
{
    struct host_lease *lease = &host->lease;
    int64_t next = -1;

    if (lease->clock.page == NULL)
        return -1;
    if (now >= lease->due) { /* also of a host that ends: others may need longer */
        lease->due = now + LOOK_MS;
        if (!lease->watched)
            start_watcher(host);
        if (!lease->runs && !host->leaving && !lease_clock_has_renewer(&lease->clock) &&
            lease_clock_word(&lease->clock) == LEASE_RUNS)
            start_renewer(host);
    }
    (void)lease_clock_look(&lease->clock, &next);
    return time_sooner(next, lease->due);
}

void host_lease_want(const struct host *host, struct loop *loop)
{
    if (host->lease.runs)
        loop_want(loop, host->lease.renewer.end_fd, POLLIN);
    if (host->lease.watched)
        loop_want(loop, host->lease.watcher.end_fd, POLLIN);
}

void host_lease_serve(struct host *host, struct loop *loop)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;

    if (host->lease.watched && loop_got(loop, host->lease.watcher.end_fd) != 0)
        start_watcher(host); /* somebody has killed it */
    if (!host->lease.runs || loop_got(loop, host->lease.renewer.end_fd) == 0)
        return;
    host->lease.runs = false;
    if (proc_finish(&host->lease.renewer, &result, &err) == 0 && result.status != 0 &&
        result.err.len > 0)
        host_log(host, str_text(&result.err));
}
