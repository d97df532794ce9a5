#include "host/backend.h"
#include "host/state.h"

#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "model/target.h"

#include <stdlib.h>
#include <string.h>

void request_put_status(const struct host *host, struct str *head)
{
    struct json_out out = {.to = head};
    struct agent_status status;

    host_fill_status(host, &status);
    json_open(&out, NULL, '{');
    json_put_bool(&out, "ok", true);
    json_put(&out, "agent", host->agent->id);
    agent_status_tell(&status, &out);
    json_close(&out, '}');
}

static void do_status(struct host *host, struct client *client, const struct frame *frame)
{
    _cleanup_str_ struct str head = STR_INIT;
    (void)frame;
    request_put_status(host, &head);
    server_answer(client, &head);
    client->kind = CLIENT_LEAVES;
}

int request_check_watch(struct host *host, struct err *err)
{
    if (server_lets_watch(host))
        return 0;
    return err_set(err, MAS_CONFLICT, "cannot watch agent '%s': too many watch it",
                   host->agent->id);
}

static void do_watch(struct host *host, struct client *client, const struct frame *frame)
{
    struct err err = ERR_INIT;

    if (request_check_watch(host, &err) == -1) {
        server_refuse(client, &err);
        return;
    }
    client->kind = CLIENT_WATCHES;
    client->dirty = true;
    client->messages = json_bool(json_get(frame->head, "messages"), false);
    if (client->messages && json_bool(json_get(frame->head, "early"), false))
        server_tell_early(host, client, SERVER_WATCHERS);
}

int request_judge(const struct host *host, struct client *client, const struct frame *frame,
                  const char *what, enum request_self self, struct err *err)
{
    const struct agent *sender = NULL;

    client->from = NULL;
    int rc = peer_sender(host, client, frame, &sender, err);
    if (rc == 0 && sender != NULL)
        client->from = sender->id;
    if (rc == 0 && sender != NULL && sender == host->agent && self == SELF_MAY_NOT)
        rc = err_set(err, MAS_FAILED, "an agent does not decide that for itself");
    else if (rc == 0)
        rc = target_check_rule(&host->team, sender, host->agent, err);
    return rc == 0 ? 0 : err_wrap(err, "cannot %s agent '%s'", what, host->agent->id);
}

static void do_restart(struct host *host, struct client *client, const struct frame *frame)
{
    (void)frame;
    client->kind = CLIENT_RESTARTS;
    host->child.failures = 0;
    if (host->child.phase == CHILD_NONE)
        child_start(host, time_monotonic_ms());
    else
        child_end(host, child_times(host), 0, true);
}

/* A duration in a request, within what settings allow. */
static int ask_ms(const struct frame *frame, const char *key, int fallback)
{
    enum { MOST_MS = 600 * 1000 };
    int64_t ms = json_int(json_get(frame->head, key), fallback);
    return ms < 0 || ms > MOST_MS ? fallback : (int)ms;
}

/* true if the process is a mas of this host's agent: it stops the team that it is in. Nothing else
 * is spared. */
static bool is_inside(pid_t pid)
{
    if (!proc_runs_same_program(pid))
        return false;
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(0, &ids);
    bool found = false;

    for (size_t i = 0; i < count; i++)
        found = found || ids[i].pid == pid;
    free(ids);
    return found;
}

static void do_stop(struct host *host, struct client *client, const struct frame *frame)
{
    struct supervisor_times times = child_times(host);

    times.hangup_ms = ask_ms(frame, "hangup", times.hangup_ms);
    times.terminate_ms = ask_ms(frame, "terminate", times.terminate_ms);
    client->kind = CLIENT_STOPS;
    host->child.stopped = true;
    host->backend->keep_queue(host, "the agent was stopped");
    host->child.clear = (struct supervisor_report){.killed = 0};
    bool runs = host->child.phase != CHILD_NONE;
    child_end(host, times, runs && is_inside(client->peer.pid) ? client->peer.pid : 0, false);
    if (!runs)
        request_ended(host);
}

static const struct {
    const char *name;
    void (*run)(struct host *host, struct client *client, const struct frame *frame);
} requests[] = {
    {"status", do_status},
    {"watch", do_watch},
    {"restart", do_restart},
    {"stop", do_stop},
};

void request_handle(struct host *host, struct client *client, const struct frame *frame)
{
    const char *name = json_get_text(frame->head, "do");
    struct err err = ERR_INIT;

    for (size_t i = 0; name != NULL && i < ARRAY_LEN(requests); i++)
        if (strcmp(name, requests[i].name) == 0) {
            requests[i].run(host, client, frame);
            return;
        }
    if (name != NULL && host->backend->request(host, client, frame))
        return;
    (void)err_set(&err, MAS_USAGE, "cannot answer '%s': there is no such request",
                  name != NULL ? name : "");
    server_refuse(client, &err);
}

void request_started(struct host *host, const char *error)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        struct err err = ERR_INIT;
        if (client->kind != CLIENT_RESTARTS)
            continue;
        if (error == NULL) {
            do_status(host, client, NULL);
            continue;
        }
        (void)err_set(&err, MAS_FAILED, "cannot start agent '%s': %s", host->agent->id, error);
        server_refuse(client, &err);
    }
}

void request_ended(struct host *host)
{
    const struct supervisor_report *clear = &host->child.clear;

    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        _cleanup_str_ struct str head = STR_INIT;
        struct json_out out = {.to = &head};
        if (client->kind != CLIENT_STOPS)
            continue;
        json_open(&out, NULL, '{');
        json_put_bool(&out, "ok", true);
        json_put(&out, "agent", host->agent->id);
        json_put_int(&out, "terminated", clear->terminated);
        json_put_int(&out, "killed", clear->killed);
        json_put(&out, "names", clear->names);
        json_close(&out, '}');
        server_answer(client, &head);
        client->kind = CLIENT_LEAVES;
    }
}
