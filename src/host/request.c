/*
 * All requests are rows of one table: who may make it, and the handler for each kind of agent. Who
 * makes it is known by the process at the other end (peer.c), not by what it says. A restart or a
 * stop is answered later, when child.c knows how it went: see status.c.
 */

#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"

#include "base/time.h"
#include "host/acp/request.h"
#include "host/talk/limit.h"
#include "host/talk/request.h"
#include "host/talk/sleep.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "model/target.h"
#include "os/proc.h"
#include "store/token.h"

static int do_status(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    (void)frame;
    (void)err;
    status_answer(host, client);
    return 0;
}

int request_check_watch(struct host *host, struct err *err)
{
    if (server_lets_watch(host))
        return 0;
    return err_set(err, MAS_CONFLICT, "cannot watch agent '%s': too many clients watch it",
                   host->agent->id);
}

static int do_watch(struct host *host, struct client *client, const struct frame *frame,
                    struct err *err)
{
    if (request_check_watch(host, err) == -1)
        return -1;
    resources_measure(host);
    client->kind = CLIENT_WATCHES;
    client->dirty = true;
    client->messages = json_bool(json_get(frame->head, "messages"), false);
    if (client->messages && json_bool(json_get(frame->head, "early"), false))
        server_tell_early(host, client, SERVER_WATCHERS);
    return 0;
}

/* Others have changed the integration branch, or the agent's. */
static int do_look(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    code_changed(host);
    return do_status(host, client, frame, err);
}

/* A person has looked at the agent. */
static int do_seen(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    (void)frame;
    if (client->from != NULL)
        return err_set(err, MAS_FAILED, "only a person looks at agents");
    attention_seen(host);
    server_open_answer(host, &head, &out);
    server_close_answer(client, &head, &out);
    return 0;
}

/* `mas merge` has found that the agent's branch does not merge; the body names the files. */
static int do_conflict(struct host *host, struct client *client, const struct frame *frame,
                       struct err *err)
{
    _cleanup_free_ char *text = mem_dupn(frame->body != NULL ? frame->body : "", frame->body_len);
    struct notice notice;

    notice_fill(NOTICE_CONFLICT, time_epoch_ms(), text, &notice);
    notify_add(host, &notice);
    return do_status(host, client, frame, err);
}

static int do_disk(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    return disk_told(host, client, frame, err) == -1 ? -1 : do_status(host, client, frame, err);
}

static int do_restart(struct host *host, struct client *client, const struct frame *frame,
                      struct err *err)
{
    (void)frame;
    (void)err;
    if (host->talk != NULL)
        limit_skip(host); /* a person does not want to wait for its provider any longer */
    client->kind = CLIENT_RESTARTS;
    host->child.failures = 0;
    if (host->child.phase == CHILD_NONE)
        child_start(host, time_monotonic_ms());
    else
        child_end(host, child_times(host), 0, true);
    return 0;
}

/* Reads a duration from a request, or returns the fallback if it is not one that settings allow. */
static int ask_ms(const struct frame *frame, const char *key, int fallback)
{
    enum { MOST_MS = 600 * 1000 };
    int64_t ms = json_int(json_get(frame->head, key), fallback);
    return ms < 0 || ms > MOST_MS ? fallback : (int)ms;
}

/* Returns true if the process is a mas below this host's agent, which stops the team that it is in.
 * Only such a process is spared. */
static bool is_inside(pid_t pid)
{
    if (!proc_runs_same_program(pid))
        return false;
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(NULL, 0, &ids);
    bool found = false;

    for (size_t i = 0; i < count; i++)
        found = found || ids[i].pid == pid;
    free(ids);
    return found;
}

/* The screen of a program on a terminal that tells nothing is there only as long as it runs. With
 * "all", the request is for those agents of a team that can sleep. */
static int do_not_sleep(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    if (json_bool(json_get(frame->head, "all"), false))
        return do_status(host, client, frame, err);
    (void)err_set(err, MAS_CONFLICT,
                  "cannot put agent '%s' to sleep: it runs on a terminal, which would be empty "
                  "then",
                  host->agent->id);
    return err_hint(err, "to end it, stop its session: mas stop %s",
                    session_label(&host->root, host->session.id).text);
}

/* Ends the agent's process if nothing is lost by that; answers when its whole tree has ended. */
static int do_sleep(struct host *host, struct client *client, const struct frame *frame,
                    struct err *err)
{
    const struct child *child = &host->child;
    _cleanup_str_ struct str why = STR_INIT;
    _cleanup_str_ struct str head = STR_INIT;

    (void)frame;
    if (child->rest == AGENT_ASLEEP && child->phase == CHILD_NONE) {
        status_put(host, &head);
        server_answer(client, &head);
        client->kind = CLIENT_LEAVES;
        return 0;
    }
    if (sleep_is_kept_awake(host, &why)) {
        (void)err_set(err, MAS_CONFLICT, "cannot put agent '%s' to sleep: %s", host->agent->id,
                      str_text(&why));
        return child->phase == CHILD_RUNS
                   ? err_hint(err, "see what it does: mas status %s %s",
                              session_label(&host->root, host->session.id).text, host->agent->id)
                   : -1;
    }
    client->kind = CLIENT_STOPS;
    host->child.clear = (struct supervisor_report){.killed = 0};
    sleep_begin(host);
    return 0;
}

static int do_wake(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    child_wake(host);
    return do_status(host, client, frame, err);
}

static int do_stop(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    struct supervisor_times times = child_times(host);

    (void)err;
    times.hangup_ms = ask_ms(frame, "hangup", times.hangup_ms);
    times.terminate_ms = ask_ms(frame, "terminate", times.terminate_ms);
    client->kind = CLIENT_STOPS;
    host->child.stopped = true;
    if (host->backend->keep_queue != NULL)
        host->backend->keep_queue(host, "the agent was stopped");
    host->child.clear = (struct supervisor_report){.killed = 0};
    bool runs = host->child.phase != CHILD_NONE;
    child_end(host, times, runs && is_inside(client->peer.pid) ? client->peer.pid : 0, false);
    if (!runs)
        status_ended(host);
    return 0;
}

/* Fails a request that this kind of agent does not have. */
static int fail_no_acp(const struct host *host, const char *what, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot %s agent '%s': it is not an ACP agent", what,
                  host->agent->id);
    return err_hint(err, "send it text with: mas send %s %s TEXT",
                    session_label(&host->root, host->session.id).text, host->agent->id);
}

/* What a program on a terminal offers beside its turns it does not tell, and takes from its keys.
 */
static int do_on_screen(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    (void)client;
    (void)frame;
    (void)err_set(err, MAS_CONFLICT,
                  "its program has that on its own screen alone, and does not tell it");
    return err_hint(err, "do it there: mas attach %s %s",
                    session_label(&host->root, host->session.id).text, host->agent->id);
}

static int do_not_adopt(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    (void)client;
    (void)frame;
    return err_set(err, MAS_CONFLICT, "preset '%s' does not tell of sessions in a terminal",
                   host->preset->name);
}

/* Answers a permission, or lets an agent go on that is paused. */
static int do_permit(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    if (disk_is_meant(host, frame))
        return disk_let_go_on(host, client, frame, err);
    return host->talk == NULL ? fail_no_acp(host, "answer", err)
                              : talk_request_permit(host, client, frame, err);
}

/* ---- the table */

/* Who may make a request. */
enum access {
    ALL, /* anyone */
    TEAM, /* a person, and agents that the team's rule lets write to this one */
    OTHERS, /* the same, but not the agent itself */
    DECIDES, /* the same, but no process that an agent has started */
    ENDS, /* anyone, but no process that an agent of this root has started */
};

typedef int (*request_handler)(struct host *host, struct client *client, const struct frame *frame,
                               struct err *err);

/* The kinds of agent by what they are asked. */
enum { ON_TERMINAL, TELLS /* on a terminal, what it does */, SPEAKS_ACP, KIND_COUNT };

/* All requests to a host, by whichever kind of agent answers them. A handler answers and returns 0,
 * or fails. */
/* clang-format off */
static const struct request_kind {
    const char *name;
    const char *what; /* "cannot <what> agent '11'" */
    enum access access;
    request_handler handlers[KIND_COUNT]; /* NULL: agents of this kind do not have it */
} requests[] = {
    /* name          what                         access   on a terminal, one that tells, ACP */
    {"status",       "see",                       ALL,     {do_status, do_status, do_status}},
    {"watch",        "watch",                     ALL,     {do_watch, do_watch, do_watch}},
    {"look",         "look at",                   ALL,     {do_look, do_look, do_look}},
    {"seen",         "note a look at",            OTHERS,  {do_seen, do_seen, do_seen}},
    {"conflict",     "tell of a conflict of",     TEAM,    {do_conflict, do_conflict, do_conflict}},
    {"disk",         "tell of the disk space of", OTHERS,  {do_disk, do_disk, do_disk}},
    {"restart",      "restart",                   ALL,     {do_restart, do_restart, do_restart}},
    {"stop",         "stop",                      ENDS,    {do_stop, do_stop, do_stop}},
    {"sleep",        "put to sleep",              OTHERS,  {do_not_sleep, do_sleep, do_sleep}},
    {"wake",         "wake",                      TEAM,    {do_wake, do_wake, do_wake}},
    {"send",         "send to",                   TEAM,    {terminal_send, terminal_send, acp_request_send}},
    {"ask",          "ask",                       TEAM,    {NULL, talk_request_ask, talk_request_ask}},
    {"listen",       "listen to",                 ALL,     {NULL, talk_request_listen, talk_request_listen}},
    {"cancel",       "cancel the turn of",        TEAM,    {NULL, talk_request_cancel, talk_request_cancel}},
    {"permit",       "answer",                    DECIDES, {do_permit, do_permit, do_permit}},
    {"login",        "log in",                    DECIDES, {NULL, do_on_screen, acp_request_login}},
    {"clear",        "clear the context of",      DECIDES, {NULL, talk_request_clear, talk_request_clear}},
    {"mode",         "set the mode of",           DECIDES, {NULL, do_on_screen, acp_request_mode}},
    {"set",          "set an option of",          DECIDES, {NULL, do_on_screen, acp_request_set}},
    {"adopt",        "adopt a session in",        DECIDES, {do_not_adopt, teller_request_adopt, do_not_adopt}},
    {"kept",         "ask for the sessions of",   DECIDES, {NULL, do_on_screen, acp_request_kept}},
    {"conversation", "change the conversation of", OTHERS, {NULL, talk_request_conversation, talk_request_conversation}},
};
/* clang-format on */

/* A person's process may say that it asks for a guest, who is less than a person: what needs one is
 * refused, and the history has the name. */
static int take_guest(struct client *client, const struct frame *frame, struct err *err)
{
    const char *name = json_get_text(frame->head, "guest");
    size_t first = 0;

    if (json_get(frame->head, "guest") == NULL)
        return 0;
    if (name == NULL || !str_is_word(name, GUEST_NAME_MAX))
        return err_set(err, MAS_USAGE, "the guest has no name");
    while (first < frame->body_len && (frame->body[first] <= ' ' || frame->body[first] == 0x7f))
        first++; /* such bytes are not typed, or are blanks */
    if (first < frame->body_len && strchr("/!#", frame->body[first]) != NULL) {
        (void)err_set(err, MAS_CONFLICT,
                      "a guest's prompt cannot begin with '%c': agents take that for a command",
                      frame->body[first]);
        return err_hint(err, "write a word in front of it");
    }
    (void)snprintf(client->guest, sizeof client->guest, GUEST_FROM "%s", name);
    client->from = client->guest;
    return 0;
}

/* Sets client->from, and checks whether that agent or person may make the request. */
static int check_access(const struct host *host, struct client *client, const struct frame *frame,
                        enum access access, struct err *err)
{
    const struct agent *sender = NULL;

    client->from = NULL;
    if (access == ALL)
        return 0;
    if ((access == DECIDES || access == ENDS) &&
        peer_check_person(host, client, access == ENDS, err) == -1)
        return -1;
    if (access == ENDS)
        return 0;
    if (peer_sender(host, client, frame, &sender, err) == -1)
        return -1;
    if (sender != NULL)
        client->from = sender->id;
    else if (take_guest(client, frame, err) == -1)
        return -1;
    if (sender == host->agent && access != TEAM)
        return err_set(err, MAS_FAILED, "an agent may not decide this for itself");
    return target_check_rule(host_team(host), sender, host->agent, err);
}

/* Writes to the session's log that a message was refused. */
static void log_refusal(const struct host *host, const struct client *client,
                        const struct frame *frame, const struct err *err)
{
    const char *named = json_get_text(frame->head, "from");
    const char *from = client->from != NULL ? client->from : named;
    const char *sender = from == NULL                                               ? "-"
                         : client->from != NULL || str_is_word(from, TEAM_WORD_MAX) ? from
                                                                                    : "?";
    _cleanup_free_ char *outcome = mem_printf("refused: %s", err->text);

    host_log_message(host, sender, frame->body_len, outcome);
}

static int answer(struct host *host, struct client *client, const struct frame *frame,
                  const struct request_kind *request, struct err *err)
{
    int kind = host->backend->kind == BACKEND_ACP ? SPEAKS_ACP
               : host->talk != NULL               ? TELLS
                                                  : ON_TERMINAL;
    request_handler handler = request->handlers[kind];

    if (handler == NULL)
        return fail_no_acp(host, request->what, err);
    if (check_access(host, client, frame, request->access, err) == 0 &&
        handler(host, client, frame, err) == 0)
        return 0;
    if (!str_starts(err->text, "cannot "))
        (void)err_wrap(err, "cannot %s agent '%s'", request->what, host->agent->id);
    if (host->backend->logs_refusals && strcmp(request->name, "send") == 0)
        log_refusal(host, client, frame, err);
    return -1;
}

void request_handle(struct host *host, struct client *client, const struct frame *frame)
{
    const char *name = json_get_text(frame->head, "do");
    struct err err = ERR_INIT;
    size_t i = 0;
    int rc;

    while (i < ARRAY_LEN(requests) && (name == NULL || strcmp(name, requests[i].name) != 0))
        i++;
    if (i < ARRAY_LEN(requests))
        rc = answer(host, client, frame, &requests[i], &err);
    else
        rc = err_set(&err, MAS_USAGE, "cannot answer '%s': there is no such request",
                     name != NULL ? name : "");
    if (rc == -1)
        server_refuse(client, &err);
}
