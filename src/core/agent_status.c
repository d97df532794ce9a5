#include "core/agent_status.h"

#include "base/time.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[AGENT_STATE_COUNT] = {"asleep",  "starting", "working", "idle",
                                                           "waiting", "exited",   "crashed"};

const char *agent_state_name(enum agent_state state)
{
    return state_names[state];
}

bool agent_state_parse(const char *text, enum agent_state *ret)
{
    for (size_t i = 0; text != NULL && i < AGENT_STATE_COUNT; i++) {
        if (strcmp(text, state_names[i]) != 0)
            continue;
        *ret = (enum agent_state)i;
        return true;
    }
    return false;
}

bool agent_state_is_live(enum agent_state state)
{
    return state == AGENT_STARTING || state == AGENT_WORKING || state == AGENT_IDLE ||
           state == AGENT_WAITING;
}

/* A number, or null where it says nothing. */
static void put_known(struct json_out *out, const char *key, int64_t n, int64_t nothing)
{
    if (n == nothing)
        json_put(out, key, NULL);
    else
        json_put_int(out, key, n);
}

/* A text, or null where there is none. What an agent says has no limit; the answer that it is a
 * part of does. */
static void put_text(struct json_out *out, const char *key, const char *text)
{
    json_put_fit(out, key, text != NULL && text[0] != '\0' ? text : NULL, AGENT_TITLE_MAX);
}

/* A time as text under `key` and in ms under `key_ms`; both null where it is 0. */
static void put_time(struct json_out *out, const char *key, const char *key_ms, int64_t ms)
{
    char text[TIME_TEXT];

    time_format((time_t)(ms / 1000), text);
    json_put(out, key, ms != 0 ? text : NULL);
    put_known(out, key_ms, ms, 0);
}

void agent_status_put(const struct agent_status *status, struct json_out *out)
{
    json_put(out, "state", agent_state_name(status->state));
    put_time(out, "since", "sinceMs", status->since_ms);
    put_time(out, "lastOutput", "lastOutputMs", status->output_ms);
    put_time(out, "restartAt", "restartAtMs", status->restart_ms);
    put_known(out, "pid", status->pid, 0);
    put_known(out, "hostPid", status->host_pid, 0);
    json_put(out, "pane", status->pane);
    put_known(out, "exitCode", status->exit_code, -1);
    put_known(out, "signal", status->signal, 0);
    json_put_int(out, "restarts", status->restarts);
    json_put_int(out, "queued", status->queued);
    json_put_int(out, "logLost", status->log_lost);
    json_put_fit(out, "title", status->title != NULL ? status->title : "", AGENT_TITLE_MAX);
    json_put_fit(out, "note", status->note != NULL ? status->note : "", AGENT_NOTE_MAX);
    json_put(out, "protocol", status->acp ? "acp" : "tty");
    if (!status->acp)
        return;
    put_text(out, "conversation", status->conversation);
    put_text(out, "continuity", status->continuity);
    put_text(out, "permission", status->permission);
    put_text(out, "asks", status->asks);
}

static void tell_number(struct json_out *out, const char *key, int64_t n, int64_t nothing)
{
    if (n != nothing)
        json_put_int(out, key, n);
}

static void tell_text(struct json_out *out, const char *key, const char *text, size_t max)
{
    if (text != NULL && text[0] != '\0')
        json_put_fit(out, key, text, max);
}

void agent_status_tell(const struct agent_status *status, struct json_out *out)
{
    json_put(out, "state", agent_state_name(status->state));
    tell_number(out, "sinceMs", status->since_ms, 0);
    tell_number(out, "lastOutputMs", status->output_ms, 0);
    tell_number(out, "restartAtMs", status->restart_ms, 0);
    tell_number(out, "pid", status->pid, 0);
    tell_number(out, "hostPid", status->host_pid, 0);
    json_put(out, "pane", status->pane);
    tell_number(out, "exitCode", status->exit_code, -1);
    tell_number(out, "signal", status->signal, 0);
    json_put_int(out, "restarts", status->restarts);
    json_put_int(out, "queued", status->queued);
    json_put_int(out, "logLost", status->log_lost);
    tell_text(out, "title", status->title, AGENT_TITLE_MAX);
    tell_text(out, "note", status->note, AGENT_NOTE_MAX);
    json_put(out, "protocol", status->acp ? "acp" : "tty");
    tell_text(out, "conversation", status->conversation, AGENT_TITLE_MAX);
    tell_text(out, "continuity", status->continuity, AGENT_TITLE_MAX);
    tell_text(out, "permission", status->permission, AGENT_TITLE_MAX);
    tell_text(out, "asks", status->asks, AGENT_TITLE_MAX);
}

static int read_int(const struct json *object, const char *key, int fallback)
{
    int64_t n = json_int(json_get(object, key), fallback);
    return n >= 0 && n <= INT_MAX ? (int)n : fallback;
}

static int64_t read_time(const struct json *object, const char *key)
{
    int64_t ms = json_int(json_get(object, key), 0);
    return ms > 0 ? ms : 0;
}

static char *read_text(const struct json *object, const char *key, size_t max)
{
    const char *text = json_get_text(object, key);
    return text != NULL ? mem_dupn(text, str_fit(text, max)) : mem_dup("");
}

int agent_status_parse(const struct json *object, struct agent_status *ret, struct err *err)
{
    struct agent_status status = {.pane = ""};
    const char *pane = json_get_text(object, "pane");
    const char *protocol = json_get_text(object, "protocol");
    const char *conversation = json_get_text(object, "conversation");

    if (!agent_state_parse(json_get_text(object, "state"), &status.state))
        return err_set(err, MAS_DAMAGED, "its host told no state that is known");
    status.since_ms = read_time(object, "sinceMs");
    status.output_ms = read_time(object, "lastOutputMs");
    status.restart_ms = read_time(object, "restartAtMs");
    status.pid = read_int(object, "pid", 0);
    status.host_pid = read_int(object, "hostPid", 0);
    status.exit_code = read_int(object, "exitCode", -1);
    status.signal = read_int(object, "signal", 0);
    status.restarts = read_int(object, "restarts", 0);
    status.queued = read_int(object, "queued", 0);
    status.log_lost = read_time(object, "logLost");
    if (pane != NULL && strlen(pane) < sizeof status.pane)
        memcpy(status.pane, pane, strlen(pane) + 1);
    status.title = read_text(object, "title", AGENT_TITLE_MAX);
    status.note = read_text(object, "note", AGENT_NOTE_MAX);
    status.acp = protocol != NULL && strcmp(protocol, "acp") == 0;
    if (conversation != NULL && strlen(conversation) < sizeof status.conversation)
        memcpy(status.conversation, conversation, strlen(conversation) + 1);
    status.continuity = read_text(object, "continuity", AGENT_TITLE_MAX);
    status.permission = read_text(object, "permission", AGENT_TITLE_MAX);
    status.asks = read_text(object, "asks", AGENT_TITLE_MAX);
    *ret = status;
    return 0;
}

void agent_status_free(struct agent_status *status)
{
    free(status->title);
    free(status->note);
    free(status->continuity);
    free(status->permission);
    free(status->asks);
    status->title = status->note = NULL;
    status->continuity = status->permission = status->asks = NULL;
}
