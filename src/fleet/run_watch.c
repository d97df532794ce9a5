/*
 * Every change in run/ and every frame of a host ends a wait; after each wait, missing hosts are
 * tried again and all agents judged anew. An agent without a host is over, but not one whose host
 * had no room for this client, nor any if hosts were still to take their environment from run/env
 * before they were tried: a host that has not answered may have come since.
 */

#include "fleet/run_watch.h"

#include "base/time.h"
#include "client/hosts.h"
#include "client/roster.h"
#include "os/loop.h"
#include "os/watch.h"
#include "store/workspace.h"

enum { RETRY_MS = 1000 };

/* An agent and the connection to its host. */
struct watched_agent {
    struct run_watch *watch;
    const struct agent *agent;
    struct host_connection host;
    struct agent_status status;
    bool told; /* status is set */
    bool late; /* its host had no room; try again */
};

struct run_watch {
    struct roster_team team;
    struct watched_agent *agents;
    size_t count;
    int changes; /* a watch of run/ */
    bool coming; /* hosts were about to come when those that were missing were last tried */
    int64_t quiet_since;
    struct loop loop;
};

static bool is_over(const struct watched_agent *agent)
{
    const struct agent_status *status = &agent->status;

    if (agent->host.conn.fd == -1)
        return !agent->late && !agent->watch->coming;
    return agent->told && !agent_state_is_live(status->state) && status->state != AGENT_ASLEEP &&
           status->restart_ms == 0 && status->queued == 0;
}

static bool is_quiet(const struct watched_agent *agent)
{
    const struct agent_status *status = &agent->status;

    return is_over(agent) || (agent->told && status->queued == 0 && status->restart_ms == 0 &&
                              (status->state == AGENT_IDLE || status->state == AGENT_ASLEEP));
}

/* Sets since when nothing happens. */
static void judge(struct run_watch *watch)
{
    bool quiet = true;

    for (size_t i = 0; i < watch->count; i++)
        quiet = quiet && is_quiet(&watch->agents[i]);
    if (!quiet)
        watch->quiet_since = -1;
    else if (watch->quiet_since == -1)
        watch->quiet_since = time_monotonic_ms();
}

bool run_watch_has_ended(const struct run_watch *watch)
{
    bool over = true;

    for (size_t i = 0; i < watch->count; i++)
        over = over && is_over(&watch->agents[i]);
    return over;
}

int64_t run_watch_quiet_since(const struct run_watch *watch)
{
    return watch->quiet_since;
}

bool run_watch_put_crashed(const struct run_watch *watch, struct str *to)
{
    bool all = watch->count > 0;

    for (size_t i = 0; i < watch->count; i++) {
        const struct watched_agent *agent = &watch->agents[i];
        const struct agent_status *status = &agent->status;
        if (!agent->told || (status->state != AGENT_CRASHED && status->exit_code <= 0)) {
            all = false;
            continue;
        }
        str_addf(to, "%s%s: ", to->len > 0 ? ", " : "", agent->agent->id);
        if (status->signal != 0)
            str_addf(to, "signal %d", status->signal);
        else
            str_addf(to, "exit code %d", status->exit_code);
    }
    return all;
}

/* ---- connections */

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct watched_agent *agent = arg;
    struct agent_status status;
    struct err ignored = ERR_INIT;

    (void)asked;
    if (agent_status_parse(frame->head, &status, &ignored) == -1)
        return false;
    if (agent->told)
        agent_status_free(&agent->status);
    agent->status = status;
    agent->told = true;
    return false;
}

/* Connects to the hosts that are there and were not. */
static void connect_all(struct run_watch *watch)
{
    struct err ignored = ERR_INIT;

    watch->coming = workspace_env_waits(watch->team.dir);
    for (size_t i = 0; i < watch->count; i++) {
        struct watched_agent *agent = &watch->agents[i];
        if (agent->host.conn.fd != -1)
            continue;
        enum host_answer answer =
            host_connection_open(&agent->host, watch->team.run, agent->agent->id, &ignored);
        agent->late = answer == HOST_LATE;
        if (answer == HOST_PENDING)
            (void)host_connection_ask(&agent->host, 0, "{\"do\":\"watch\"}", NULL, 0);
        else
            host_connection_close(&agent->host);
    }
}

static int watch_run(struct run_watch *watch, struct err *err)
{
    watch->changes = watch_open();
    if (watch_add(watch->changes, watch->team.run,
                  WATCH_CREATED | WATCH_CAME | WATCH_DELETED | WATCH_CLOSED) == -1)
        return err_errno(err, "cannot watch the agents of session '%s'", watch->team.id);
    return 0;
}

int run_watch_open(const struct root *root, const char *id, struct run_watch **ret, struct err *err)
{
    struct roster_team team;

    if (roster_open(root, id, &team, err) == -1)
        return -1;
    struct run_watch *watch = mem_alloc(sizeof *watch);
    *watch = (struct run_watch){.team = team, .changes = -1, .quiet_since = -1};
    watch->count = team.team.agent_count;
    watch->agents = mem_alloc((watch->count + 1) * sizeof *watch->agents);
    for (size_t i = 0; i < watch->count; i++)
        watch->agents[i] = (struct watched_agent){
            .watch = watch, .agent = &watch->team.team.agents[i], .host = HOST_CONNECTION_INIT};
    if (watch_run(watch, err) == -1) {
        run_watch_close(watch);
        return -1;
    }
    connect_all(watch);
    judge(watch);
    *ret = watch;
    return 0;
}

void run_watch_close(struct run_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        host_connection_close(&watch->agents[i].host);
        if (watch->agents[i].told)
            agent_status_free(&watch->agents[i].status);
    }
    free(watch->agents);
    fd_closep(&watch->changes);
    loop_free(&watch->loop);
    roster_close(&watch->team);
    free(watch);
}

void run_watch_closep(struct run_watch **watch)
{
    if (*watch != NULL)
        run_watch_close(*watch);
}

/* Handles what a host has sent. */
static void turn(struct run_watch *watch, struct watched_agent *agent)
{
    struct err ignored = ERR_INIT;
    short events = loop_got(&watch->loop, agent->host.conn.fd);

    if (agent->host.conn.fd != -1 &&
        host_connection_turn(&agent->host, events, on_frame, agent, &ignored) != HOST_PENDING)
        host_connection_close(&agent->host);
}

int run_watch_wait(struct run_watch *watch, int also, int64_t until, struct err *err)
{
    bool late = false;

    loop_begin(&watch->loop);
    loop_want(&watch->loop, also, POLLIN);
    loop_want(&watch->loop, watch->changes, POLLIN);
    for (size_t i = 0; i < watch->count; i++) {
        if (watch->agents[i].host.conn.fd != -1)
            conn_want(&watch->agents[i].host.conn, &watch->loop);
        late = late || watch->agents[i].late;
    }
    if (late || watch->coming)
        until = time_sooner(until, time_monotonic_ms() + RETRY_MS);
    if (loop_wait(&watch->loop, until) == -1)
        return err_errno(err, "cannot wait for the agents of session '%s'", watch->team.id);
    for (size_t i = 0; i < watch->count; i++)
        turn(watch, &watch->agents[i]);
    if (loop_got(&watch->loop, watch->changes) != 0)
        (void)watch_read(watch->changes, NULL, NULL);
    connect_all(watch);
    judge(watch);
    return 0;
}
