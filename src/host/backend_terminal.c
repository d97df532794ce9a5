/* The backend of programs on a terminal: messages are typed (delivery.c), and their state is read
 * from what they print (watcher.c). */
#include "host/backend.h"

#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "host/talk.h"
#include "model/message.h"

#include <limits.h>
#include <string.h>

/* Those that waited, and the first message of a new team: it is handed out once, and has to outlive
 * this host as they do. */
static void load_first_messages(struct host *host)
{
    struct err err = ERR_INIT;

    if (host->prompts)
        (void)delivery_add(host, host->agent->prompt, strlen(host->agent->prompt), true, "-");
    delivery_read(host);
    if (delivery_keep(host, &err) == -1)
        host_log(host, err.text);
}

static int open_pane(struct host *host, struct err *err)
{
    if (terminal_open(&host->terminal, err) == -1)
        return -1;
    load_first_messages(host);
    return 0;
}

static int connect_agent(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                         struct err *err)
{
    (void)spec;
    if (terminal_connect(&host->terminal, ret_slave, err) == -1)
        return -1;
    host_set_title(host); /* until the agent sets its own */
    return 0;
}

static void begin(struct host *host)
{
    (void)host;
}

static void hang_up(struct host *host)
{
    (void)host; /* its supervisor does */
}

static bool ended(struct host *host, const char *how)
{
    (void)host;
    (void)how;
    return false;
}

static void disconnect(struct host *host)
{
    delivery_interrupt(host);
    if (host->terminal.master == -1)
        return;
    terminal_disconnect(&host->terminal);
    terminal_reset(&host->terminal, host->watcher.origin);
    host_set_title(host); /* until the agent sets its own */
}

static const char *trouble(const struct host *host)
{
    (void)host;
    return NULL;
}

static bool is_pane(const struct host *host, pid_t pid)
{
    (void)host;
    (void)pid;
    return false;
}

static void reap(struct host *host, pid_t pid)
{
    (void)host;
    (void)pid;
}

static size_t queued(const struct host *host)
{
    return host->delivery.count;
}

static void keep_queue(struct host *host, const char *why)
{
    (void)host; /* nobody waits for an answer; delivery_leave() keeps the messages */
    (void)why;
}

static enum agent_state state(const struct host *host)
{
    return host->child.phase == CHILD_RUNS ? host->watcher.state : host->child.rest;
}

static void fill_status(const struct host *host, struct agent_status *ret)
{
    (void)host;
    (void)ret;
}

static void tell_status(struct host *host, const struct agent_status *now)
{
    (void)host;
    (void)now;
}

static void say(struct host *host, const char *words)
{
    terminal_print(&host->terminal, words);
}

static bool reads_keys(const struct host *host)
{
    (void)host;
    return true;
}

static void handle_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    watcher_keys(&host->watcher, keys, len, now);
}

static void want(const struct host *host, struct loop *loop)
{
    (void)host; /* host.c waits for the pane and the terminal */
    (void)loop;
}

static void serve(struct host *host, struct loop *loop)
{
    (void)host;
    (void)loop;
}

static int64_t tick(struct host *host, int64_t now)
{
    struct watcher *watcher = &host->watcher;
    int64_t next = -1;

    if (host->child.phase == CHILD_RUNS) {
        if (!watcher->ready && !watcher->printed && host->child.pid != 0 &&
            proc_is_reading(host->child.pid)) {
            (void)host_drain(host); /* it may have asked something before it read */
            if (!watcher->printed)
                watcher_reads(watcher); /* a program may have nothing to say before it reads */
        }
        next = watcher_tick(watcher, now);
    }
    int64_t due = delivery_run(host, now);
    if (!delivery_holds_keys(host, now))
        terminal_write_agent(&host->terminal);
    return time_sooner(next, due);
}

/* ---- `send` */

/* Whether this agent may be sent this text by whoever asks. */
static int check_message(const struct host *host, struct client *client, const struct frame *frame,
                         struct err *err)
{
    const char *id = host->agent->id;

    if (request_judge(host, client, frame, "send to", SELF_MAY, err) == -1)
        return -1;
    const char *text = frame->body != NULL ? frame->body : "";
    const char *why = message_check(text, frame->body_len);
    if (why == NULL)
        why = delivery_refusal(host, text, frame->body_len);
    if (why != NULL)
        return err_set(err, MAS_FAILED, "cannot send to agent '%s': it %s", id, why);
    if (host->child.stopped || host->leaving) {
        (void)err_set(err, MAS_CONFLICT, "cannot send to agent '%s': it was stopped", id);
        return err_hint(err, "start it again with: mas restart %s %s",
                        session_label(&host->root, host->session.id).text, id);
    }
    return 0;
}

static void answer_send(struct host *host, struct client *client, bool delivered, bool wait)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put_bool(&out, "ok", true);
    json_put(&out, "agent", host->agent->id);
    json_put(&out, "outcome", delivered ? "delivered" : "queued");
    json_close(&out, '}');
    server_answer(client, &head);
    client->kind = wait ? CLIENT_WATCHES : CLIENT_LEAVES;
    client->dirty = wait;
}

static void refuse_send(const struct host *host, struct client *client, const char *from,
                        size_t len, const struct err *err)
{
    const char *sender = from == NULL ? "-" : str_is_word(from, TEAM_WORD_MAX) ? from : "?";
    _cleanup_free_ char *outcome = mem_printf("refused: %s", err->text);

    host_log_message(host, sender, len, outcome);
    server_refuse(client, err);
}

static void do_send(struct host *host, struct client *client, const struct frame *frame)
{
    bool enter = json_bool(json_get(frame->head, "enter"), true);
    bool wait = json_bool(json_get(frame->head, "wait"), false);
    struct err err = ERR_INIT;
    int64_t now = time_monotonic_ms();

    int rc = check_message(host, client, frame, &err);
    const char *from = client->from;
    if (rc == 0 && wait)
        rc = request_check_watch(host, &err);
    if (rc == 0 && !delivery_add(host, frame->body != NULL ? frame->body : "", frame->body_len,
                                 enter, from != NULL ? from : "-"))
        rc = err_set(&err, MAS_CONFLICT, "cannot send to agent '%s': too many messages wait for it",
                     host->agent->id);
    if (rc == -1) {
        const char *named = from != NULL ? from : json_get_text(frame->head, "from");
        refuse_send(host, client, named, frame->body_len, &err);
        return;
    }
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, now);
    size_t before = host->delivery.count;
    (void)delivery_run(host, now);
    if (before == 0) { /* it could not be started, and gave up what waits */
        (void)err_set(&err, MAS_FAILED, "cannot send to agent '%s': %s", host->agent->id,
                      host->child.note);
        server_refuse(client, &err);
        return;
    }
    bool typed = host->delivery.count == 0 ||
                 (host->delivery.count == 1 && host->delivery.phase >= DELIVERY_SETTLE);
    if (!typed && delivery_keep(host, &err) == -1) {
        (void)err_wrap(&err, "cannot send to agent '%s'", host->agent->id);
        refuse_send(host, client, from, frame->body_len, &err);
        return;
    }
    answer_send(host, client, typed, wait);
    server_tell_message(host, from, frame->body, frame->body_len);
}

static bool request(struct host *host, struct client *client, const struct frame *frame)
{
    const char *name = json_get_text(frame->head, "do");
    const char *what = talk_request_what(name);
    struct err err = ERR_INIT;

    if (strcmp(name, "send") == 0) {
        do_send(host, client, frame);
        return true;
    }
    if (what == NULL)
        return false;
    (void)err_set(&err, MAS_CONFLICT, "cannot %s agent '%s': it is no ACP agent", what,
                  host->agent->id);
    (void)err_hint(&err, "text is sent to it with: mas send %s %s TEXT",
                   session_label(&host->root, host->session.id).text, host->agent->id);
    server_refuse(client, &err);
    return true;
}

const struct backend backend_terminal = {
    .piped = false,
    .asked_limit = INT_MAX,
    .next_start = "Enter starts it again",
    .open = open_pane,
    .close = delivery_leave,
    .connect = connect_agent,
    .begin = begin,
    .hang_up = hang_up,
    .ended = ended,
    .disconnect = disconnect,
    .trouble = trouble,
    .is_pane = is_pane,
    .reap = reap,
    .queued = queued,
    .fail_queue = delivery_fail,
    .keep_queue = keep_queue,
    .state = state,
    .fill_status = fill_status,
    .tell_status = tell_status,
    .say = say,
    .reads_keys = reads_keys,
    .handle_keys = handle_keys,
    .want = want,
    .serve = serve,
    .tick = tick,
    .request = request,
};
