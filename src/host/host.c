/*
 * The loop: settle() does what is due and tells what has changed, then the host waits, and serve()
 * handles what has come. The parts have functions for each of these, and none of them waits for
 * anybody. The lease is looked at before and after each wait, as the process may have been stopped.
 * A host that leaves ends its agent first, and goes on until the whole tree has ended.
 */

#include "host/host.h"

#include "base/time.h"
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"
#include "host/talk/sleep.h"
#include "host/wall.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/signals.h"
#include "session/launch.h"
#include "store/workspace.h"

#include <malloc.h>
#include <termios.h>

enum {
    LARGE_BLOCK = 128 * 1024, /* bytes; glibc returns blocks of this size when freed */
};

void host_flush_terminal(void)
{
    enum { ANSWER_MS = 1000 };
    static const char request[] = "\033[5n";
    struct termios was;
    char answer[16];

    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 ||
        tcgetattr(STDIN_FILENO, &was) == -1)
        return;
    struct termios raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 &&
        file_write_all(STDOUT_FILENO, request, strlen(request)) == 0 &&
        loop_wait_for(STDIN_FILENO, POLLIN, ANSWER_MS) > 0)
        (void)!read(STDIN_FILENO, answer, sizeof answer);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* Compares the status with the one that watchers know, and marks them dirty if it differs. */
static void update(struct host *host)
{
    struct agent_status now;
    char request[REQUEST_ID_TEXT];

    status_fill(host, &now);
    request_id(now.permission, now.asks, request);
    attention_update(host, &now);
    if (host->backend->tell_status != NULL)
        host->backend->tell_status(host, &now);
    /* disk.c tells of a limit of disk space, once for the session */
    notify_changed(host, &now, now.state == AGENT_PAUSED && disk_is_paused(host));
    if (now.state != host->told.state && now.state != AGENT_WORKING)
        code_changed(host);
    if (now.state != host->told.state || host->told.since_ms == 0)
        host->told.since_ms = time_epoch_ms();
    else if (now.pid == host->told.pid && now.queued == host->told.queued &&
             now.restarts == host->told.restarts && now.until_ms == host->told.until_ms &&
             now.retry_ms == host->told.retry_ms && now.turn == host->told.turn &&
             (now.restart_ms != 0) == (host->told.restart_ms != 0) &&
             strcmp(request, host->told_request) == 0)
        return;
    memcpy(host->told_request, request, sizeof request);
    int64_t since = host->told.since_ms;
    host->told = now;
    host->told.since_ms = since;
    server_mark_dirty(host);
}

/* Ends the agent, then the host: the pane or the whole team ends. */
static void leave(struct host *host, struct supervisor_times times)
{
    bool first = !host->leaving;

    host->leaving = true;
    host->pane.gone = true; /* a pane that takes nothing any more must not delay the end */
    pane_write(&host->pane); /* drops what it has not taken */
    if (host->backend->keep_queue != NULL)
        host->backend->keep_queue(host, "its host has ended");
    if (first || times.hangup_ms == 0)
        child_end(host, times, 0, false);
}

static void handle_signals(struct host *host)
{
    struct supervisor_times times = child_times(host);

    for (int sig; (sig = signals_next(host->signals)) != 0;) {
        if (sig == SIGWINCH && host->backend->resize != NULL)
            host->backend->resize(host);
        if (sig == SIGWINCH)
            attention_keys(host); /* a client of another size shows the pane */
        if (sig == SIGHUP)
            leave(host, times);
        if (sig == SIGTERM)
            leave(host, (struct supervisor_times){.terminate_ms = times.terminate_ms});
    }
    host_reap(host);
}

/* Hands keys to the agent. If none runs, they start it. */
static void read_keys(struct host *host, int64_t now)
{
    const struct pane_buffer *keys = &host->pane.keys;
    size_t before = keys->end;
    size_t len = pane_read(&host->pane);

    if (len == 0)
        return;
    attention_keys(host);
    disk_keys(host);
    bool enter = memchr(keys->data + before, '\r', len) != NULL;
    if (host->child.phase == CHILD_RUNS) {
        host->backend->handle_keys(host, keys->data + before, len, now);
        return;
    }
    bool sleeps = host->child.rest == AGENT_ASLEEP;
    if (sleeps && host->backend->wake_keys != NULL)
        host->backend->wake_keys(host, keys->data + before, len, now);
    pane_drop_keys(&host->pane);
    if (sleeps) {
        host->child.failures = 0;
        child_wake(host);
    } else if (enter && host->child.phase == CHILD_NONE) {
        host->child.failures = 0;
        child_start(host, now);
    }
}

static void want_pane(const struct host *host, struct loop *loop, int64_t now)
{
    const struct pane *pane = &host->pane;
    bool keys = host->backend->reads_keys(host, now) && pane_has_room(&pane->keys, 1);

    if (!pane->gone)
        loop_want(loop, STDIN_FILENO, keys ? POLLIN : 0); /* and for its hang-up */
    if (!pane_is_empty(&pane->out))
        loop_want(loop, STDOUT_FILENO, POLLOUT);
}

static void want(const struct host *host, struct loop *loop, int64_t now)
{
    loop_begin(loop);
    loop_want(loop, host->signals, POLLIN);
    want_pane(host, loop, now);
    if (!host->child.gone)
        loop_want(loop, host->child.supervisor.fd, POLLIN);
    host->backend->want(host, loop, now);
    code_want(host, loop);
    display_want(host, loop);
    setup_want(host, loop);
    notify_want(host, loop);
    broker_want(host, loop);
    disk_want(host, loop);
    host_lease_want(host, loop);
    server_want(host, loop);
}

static void serve(struct host *host, struct loop *loop, int64_t now)
{
    if (loop_got(loop, STDOUT_FILENO) != 0)
        pane_write(&host->pane);
    if (loop_got(loop, host->signals) != 0)
        handle_signals(host);
    if (loop_got(loop, host->child.supervisor.fd) != 0)
        child_serve(host, now);
    host->backend->serve(host, loop);
    code_serve(host, loop);
    display_serve(host, loop);
    setup_serve(host, loop);
    notify_serve(host, loop);
    disk_serve(host, loop);
    host_lease_serve(host, loop);
    short keys = loop_got(loop, STDIN_FILENO);
    if ((keys & POLLIN) != 0)
        read_keys(host, now);
    else if (keys != 0)
        host->pane.gone = true;
    broker_serve(host, loop);
    server_serve(host, loop, request_handle);
}

/* Does what is due after all that has happened. Returns when to do so again. */
static int64_t settle(struct host *host, int64_t now)
{
    int64_t next = child_tick(host, now);

    next = time_sooner(next, host->backend->tick(host, now));
    update(host);
    next = time_sooner(next, setup_tick(host, child_times(host), now));
    next = time_sooner(next, resources_tick(host, now));
    next = time_sooner(next, code_tick(host, now));
    next = time_sooner(next, display_tick(host, now));
    next = time_sooner(next, register_tick(host, now));
    next = time_sooner(next, notify_tick(host, now));
    next = time_sooner(next, broker_tick(host, now));
    next = time_sooner(next, disk_tick(host, now));
    next = time_sooner(next, host_lease_tick(host, now));
    next = time_sooner(next, server_tick(host, now));
    server_flush(host, status_put);
    return next;
}

/* Ends everything if the lease is lost; then it writes no more than the agent's end. */
static void look_at_lease(struct host *host)
{
    if (!host_lease_look(host))
        return;
    leave(host, supervisor_lease_times);
    host_log(host, "ends: the session's lease was not renewed");
}

static int run_loop(struct host *host, struct err *err)
{
    struct loop loop = LOOP_INIT;
    int n = 0;

    while (n != -1) {
        look_at_lease(host);
        int64_t now = time_monotonic_ms();
        int64_t next = settle(host, now);
        if (host->pane.gone && !host->leaving) {
            leave(host, child_times(host));
            continue;
        }
        if (host->leaving && host->child.phase == CHILD_NONE)
            break;
        want(host, &loop, now);
        n = loop_wait(&loop, next);
        look_at_lease(host); /* this process may have been stopped for long */
        if (n > 0)
            serve(host, &loop, time_monotonic_ms());
    }
    if (n == -1)
        (void)err_errno(err, "cannot wait for agent '%s'", host->agent->id);
    loop_free(&loop);
    return n == -1 ? -1 : 0;
}

/* Blocks the signals that mean something; from now on they come through a descriptor. */
static int catch_signals(struct host *host, struct err *err)
{
    host->signals = signals_open((const int[]){SIGHUP, SIGTERM, SIGCHLD, SIGWINCH, 0});
    return host->signals == -1 ? err_errno(err, "cannot catch signals") : 0;
}

static int open_log(struct host *host, struct err *err)
{
    _cleanup_free_ char *name = mem_printf(WORKSPACE_AGENT_LOG, host->agent->id);

    host->logs = path_open_dir(host->dir, WORKSPACE_LOGS);
    return log_open(&host->log, host->logs, name, config_log_limits(&host->config), true, err);
}

/* Does what is possible only once the team stands. */
static int begin(struct host *host, struct err *err)
{
    const char *pane = getenv("TMUX_PANE");

    if (host_lease_open(host, err) == -1 || catch_signals(host, err) == -1 ||
        open_log(host, err) == -1)
        return -1;
    /* a process whose supervisor is killed becomes a child of this one */
    proc_adopt_orphans();
    (void)snprintf(host->pane_id, sizeof host->pane_id, "%s", pane != NULL ? pane : "");
    host->child.rest = AGENT_ASLEEP;
    resources_open(host);
    code_open(host);
    disk_open(host);
    register_open(host);
    notify_open(host);
    display_open(host);
    if (host->backend->open(host, err) == -1)
        return -1;
    bool now = launch_start(&host->config, &host->team, host->agent) == START_NOW &&
               !host->child.sleeps; /* as the previous host has left it */
    if (now || host->backend->queued(host) > 0)
        child_start(host, time_monotonic_ms());
    else
        host->backend->say(host, host->child.sleeps
                                     ? SLEEP_WORDS
                                     : "the agent starts with its first message or key press");
    return 0;
}

/* How much sooner than the tmux server, which all teams may share, the kernel ends a host for
 * memory; an agent goes before its host, see host/bounds.c. It is more than the 100 of systemd's
 * user manager, whose end would be that of the server. */
enum { OOM_HOST = 150 };

int host_run(const char *id, const char *agent_id, const struct host_commands *commands,
             struct err *err)
{
    struct host *host = mem_alloc(sizeof *host);

    host->commands = commands;
    proc_raise_oom_score(OOM_HOST);
    /* Otherwise glibc raises the threshold when the first large block is freed and keeps the next
     * ones, so that a host would hold megabytes for one large message. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
    host->root = (struct root)ROOT_INIT;
    host->pid = getpid();
    host->dir = host->run = host->logs = host->lock = host->signals = host->server.listener = -1;
    host->broker.listener = -1;
    host->lease.clock = (struct lease_clock)LEASE_CLOCK_INIT;
    host->display.lock = host->disk.session_lock = host->disk.root_lock = -1;
    host->child.supervisor.fd = host->setup.out = -1;
    host->resources.parent = -1;
    host->resources.group = (struct cgroup)CGROUP_INIT;
    host->resources.bounds = (struct proc_bounds)PROC_BOUNDS_INIT;
    host->child.restart_at = -1;
    host->child.exit_code = -1;
    host->log = host->setup.log = (struct log)LOG_INIT;
    int rc = start_prepare(host, id, agent_id, err);
    if (rc == 0)
        rc = begin(host, err);
    if (rc == 0)
        rc = run_loop(host, err);
    look_at_lease(host);
    if (host->backend != NULL)
        host->backend->close(host);
    resources_close(host);
    host_wall_close(host);
    code_close(host);
    display_close(host);
    disk_close(host);
    setup_close(host);
    register_close(host);
    notify_close(host);
    broker_close(host);
    server_close(host);
    pane_close(&host->pane);
    log_close(&host->log);
    fd_closep(&host->logs);
    fd_closep(&host->signals);
    look_at_lease(host);
    start_release(host);
    host_lease_close(host);
    free(host);
    return rc;
}
