/* The status of the agent, for clients: those that ask, those that watch, and those that wait for a
 * start or for an end. */
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"

#include "base/time.h"
#include "tmux/tmux.h"

/* Returns when an agent starts that does not run; 0: it does not. One that ends in order to start
 * again has not ended for those who wait for that. */
static int64_t find_start(const struct child *child)
{
    if (child->restart_at != -1)
        return time_epoch_ms() + child->restart_at - time_monotonic_ms();
    return child->phase == CHILD_ENDS && child->again ? time_epoch_ms() : 0;
}

void status_fill(const struct host *host, struct agent_status *ret)
{
    const struct child *child = &host->child;
    bool runs = child->phase == CHILD_RUNS;

    *ret = (struct agent_status){
        .state = host->backend->state(host),
        .since_ms = host->told.since_ms,
        .output_ms = host->output_ms,
        .restart_ms = host->leaving ? 0 : find_start(child),
        .pid = runs ? child->pid : 0,
        .host_pid = host->pid,
        .exit_code = runs ? -1 : child->exit_code,
        .signal = runs ? 0 : child->signal,
        .restarts = child->restarts,
        .port = host->port,
        .queued = (int)host->backend->queued(host),
        .log_lost = (int64_t)host->log.lost,
        .title = (char *)(uintptr_t) "",
        .note = (char *)(uintptr_t)(runs ? "" : child->note),
        .account = (char *)(uintptr_t)host_account(host),
        .memory = (char *)(uintptr_t)host->memory,
        .code = host->code.figures,
        .resources = resources_usage(host),
        .wall = host->wall.report,
        .limits = host->resources.held,
    };
    (void)snprintf(ret->pane, sizeof ret->pane, "%s", host->pane_id);
    if (host->unwritten.why[0] != '\0')
        ret->memory = (char *)(uintptr_t)host->unwritten.why;
    attention_fill(host, ret);
    host->backend->fill_status(host, ret);
    ret->disk = host->disk.use[DISK_AGENT];
    (void)snprintf(ret->wall.held_by[WALL_DISK], WALL_HOLDER_MAX, "%s", disk_holder(host));
    if (disk_is_paused(host))
        ret->state = AGENT_PAUSED;
    if (ret->state == AGENT_PAUSED ? disk_is_paused(host) : runs && ret->note[0] == '\0')
        ret->note = (char *)(uintptr_t)disk_note(host);
}

void status_put(const struct host *host, struct str *head)
{
    struct json_out out;
    struct agent_status status;

    status_fill(host, &status);
    server_open_answer(host, head, &out);
    agent_status_tell(&status, &out);
    json_close(&out, '}');
}

/* Tells of the pane, unless it is going away. */
static void put_pane(const struct host *host, struct json_out *out)
{
    struct agent_pane pane = {
        .server = getppid(),
        .activity_ms = host->pane.written_ms,
        .agents = (int)host_team(host)->agent_count,
    };
    struct stat st;

    if (host->leaving || host->pane.gone || host->pane_id[0] == '\0' ||
        !tmux_inside_session(pane.session) || fstat(STDOUT_FILENO, &st) == -1)
        return;
    int64_t written = (int64_t)st.st_mtim.tv_sec * 1000; /* also by the pane's own program */
    if (written > pane.activity_ms)
        pane.activity_ms = written;
    agent_pane_put(&pane, out);
}

void status_answer(struct host *host, struct client *client)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct agent_status status;
    struct json_out out;

    resources_measure(host);
    status_fill(host, &status);
    server_open_answer(host, &head, &out);
    agent_status_tell(&status, &out);
    put_pane(host, &out);
    json_close(&out, '}');
    server_answer(client, &head);
    client->kind = CLIENT_LEAVES;
}

/* ---- those who wait */

void status_started(struct host *host, const char *error)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        struct err err = ERR_INIT;
        if (client->kind != CLIENT_RESTARTS)
            continue;
        if (error == NULL) {
            status_answer(host, client);
            continue;
        }
        (void)err_set(&err, MAS_FAILED, "cannot start agent '%s': %s", host->agent->id, error);
        server_refuse(client, &err);
    }
}

void status_ended(struct host *host)
{
    const struct supervisor_report *clear = &host->child.clear;

    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        _cleanup_str_ struct str head = STR_INIT;
        struct json_out out;
        if (client->kind != CLIENT_STOPS)
            continue;
        server_open_answer(host, &head, &out);
        json_put_all(&out, JI("terminated", clear->terminated), JI("killed", clear->killed),
                     JT("names", clear->names));
        server_close_answer(client, &head, &out);
    }
}
