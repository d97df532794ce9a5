/*
 * A watched host gets a connection that is asked once and then only tells; the state of an ACP
 * agent opens the second one. A connection that fails or ends is dropped, and the next survey
 * connects again, so nothing is tried again here. What an agent says is collected until its turn
 * ends, for the `message`; pieces for `live` are joined for a moment first, because a host sends
 * very small ones. The log of the code is read from where it ended when the following began.
 */

#include "serve/follow.h"

#include "base/id.h"
#include "base/json.h"
#include "base/time.h"
#include "client/hosts.h"
#include "model/attention.h"
#include "os/log_read.h"
#include "os/path.h"
#include "protocol/host_event.h"
#include "serve/request.h"
#include "store/code_log.h"
#include "store/workspace.h"

struct watched {
    struct watched *next, **at;
    struct follow *follow;
    char id[ID_TEXT];
    char agent[TEAM_WORD_MAX + 1];
    struct host_connection host;
    /* true: a connection for the prompts and answers of an agent that talks. false: one for the
     * state of an agent and messages to a terminal agent. */
    bool listens;
    uint64_t live; /* the agent's number, see follow_live() */
    struct str piece; /* of the message `piece_of`, behind its first `piece_at` bytes */
    char *piece_of;
    bool is_thought;
    int64_t piece_at, piece_ms;
    struct str said; /* the agent's text in this turn, at most FOLLOW_TEXT_MAX + 1 bytes */
    bool is_new; /* its first state is an event too */
    enum agent_state state; /* the last reported one */
    bool failed; /* likewise: its turn has failed, and nobody has looked */
    bool known;
};

/* The log of the code (store/code_log.h), whose events commands of mas write. */
struct code_log {
    bool is_open;
    struct log_reader reader;
    off_t at;
    struct str line; /* the beginning of a line whose end is not written yet */
    bool skips; /* the line is too long */
};

struct follow {
    const struct root *root;
    follow_tell *tell;
    follow_wants *wants;
    void *arg;
    struct watched *all;
    size_t count;
    struct code_log code;
    bool waits; /* this turn waits for them */
    int64_t waited_ms; /* beginning of the last turn that did; monotonic */
};

uint64_t follow_live(const char *name)
{
    uint64_t hash = hash_bytes(HASH_START, name, strlen(name));
    return hash != 0 ? hash : 1;
}

struct follow *follow_make(const struct root *root, follow_tell *tell, follow_wants *wants,
                           void *arg)
{
    struct follow *follow = mem_alloc(sizeof *follow);
    *follow = (struct follow){.root = root, .tell = tell, .wants = wants, .arg = arg};
    return follow;
}

static void tell(const struct watched *watched, const char *type, const struct str *body,
                 uint64_t live)
{
    const struct event_subject subject = {.session = watched->id, .agent = watched->agent};

    watched->follow->tell(watched->follow->arg, type, body, &subject, live);
}

static void drop(struct watched *watched)
{
    *watched->at = watched->next;
    if (watched->next != NULL)
        watched->next->at = watched->at;
    watched->follow->count--;
    host_connection_close(&watched->host);
    str_free(&watched->said);
    str_free(&watched->piece);
    free(watched->piece_of);
    free(watched);
}

static void close_code(struct code_log *log)
{
    if (log->is_open)
        log_reader_close(&log->reader);
    log->is_open = false;
    str_free(&log->line);
}

void follow_end(struct follow *follow)
{
    struct watched *next;

    for (struct watched *at = follow->all; at != NULL; at = next) {
        next = at->next;
        drop(at);
    }
    close_code(&follow->code);
}

void follow_free(struct follow *follow)
{
    follow_end(follow);
    free(follow);
}

static const struct watched *find(const struct follow *follow, const char *id, const char *agent,
                                  bool listens)
{
    const struct watched *at = follow->all;

    while (at != NULL && (at->listens != listens || strcmp(at->agent, agent) != 0 ||
                          memcmp(at->id, id, ID_TEXT) != 0))
        at = at->next;
    return at;
}

/* With `early`, a new host also sends its events since it started. */
static bool ask(struct host_connection *host, bool listens, bool early)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", listens ? "listen" : "watch");
    if (!listens)
        json_put_bool(&out, "messages", true);
    if (early)
        json_put_bool(&out, "early", true);
    json_close(&out, '}');
    return host_connection_ask(host, 0, head.data, NULL, 0);
}

/* Connects to a host. If that fails now, the next survey tries again. */
static void add(struct follow *follow, int run, const char *id, const char *agent, bool listens,
                bool quiet)
{
    struct host_connection host = HOST_CONNECTION_INIT;
    struct err ignored = ERR_INIT;

    if (follow->count >= FOLLOW_MAX || !str_is_word(agent, TEAM_WORD_MAX) ||
        find(follow, id, agent, listens) != NULL)
        return;
    if (host_connection_open(&host, run, agent, &ignored) != HOST_PENDING ||
        !ask(&host, listens, !quiet)) {
        host_connection_close(&host);
        return;
    }
    struct watched *watched = mem_alloc(sizeof *watched);
    memcpy(watched->id, id, ID_TEXT);
    memcpy(watched->agent, agent, strlen(agent) + 1);
    _cleanup_free_ char *name = mem_printf("%s/%s", id, agent);
    watched->live = follow_live(name);
    watched->follow = follow;
    watched->listens = listens;
    watched->is_new = !quiet;
    watched->host = host;
    watched->next = follow->all;
    watched->at = &follow->all;
    if (follow->all != NULL)
        follow->all->at = &watched->next;
    follow->all = watched;
    follow->count++;
}

void follow_update(struct follow *follow, const struct survey *survey, bool quiet)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        if (view->live == NULL || view->row.missing)
            continue;
        _cleanup_close_ int dir = workspace_open(follow->root, view->row.id);
        _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
        _cleanup_strv_ char **agents = run == -1 ? NULL : hosts_list(run, WORKSPACE_HOST_SOCKET);
        for (char **agent = agents; agent != NULL && *agent != NULL; agent++)
            add(follow, run, view->row.id, *agent, false, quiet);
    }
}

/* Also follows the prompts and answers of an agent that talks. */
static void listen_too(struct watched *watched)
{
    const struct root *root = watched->follow->root;
    _cleanup_close_ int dir = workspace_open(root, watched->id);
    _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
    if (run != -1)
        add(watched->follow, run, watched->id, watched->agent, true, !watched->is_new);
}

static void begin_event(struct json_out *out, const struct watched *watched)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", watched->id);
    json_put(out, "agent", watched->agent);
}

static void handle_status(struct watched *watched, const struct frame *frame)
{
    struct agent_status status;
    struct err ignored = ERR_INIT;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    if (agent_status_parse(frame->head, &status, &ignored) == -1)
        return;
    bool failed = attention_of(&status) == ATTENTION_FAILED;
    bool news = watched->known ? status.state != watched->state || failed != watched->failed
                               : watched->is_new;
    watched->known = true;
    watched->state = status.state;
    watched->failed = failed;
    if (news) {
        begin_event(&out, watched);
        agent_status_put(&status, &out);
        json_close(&out, '}');
        tell(watched, "agent.state", &body, 0);
    }
    if (status.talks)
        listen_too(watched);
    agent_status_free(&status);
}

/* Writes the member "text" of a message, truncated to FOLLOW_TEXT_MAX. */
static void put_said(struct json_out *out, const char *text)
{
    json_put_fit(out, "text", text, FOLLOW_TEXT_MAX);
    if (strnlen(text, FOLLOW_TEXT_MAX + 1) > FOLLOW_TEXT_MAX)
        json_put_bool(out, "truncated", true);
}

static void tell_prompt(struct watched *watched, const struct host_event *event,
                        struct json_out *out)
{
    str_clear(&watched->said);
    json_put_all(out, JT("role", "user"), JT("id", event->prompt), JT("from", event->from));
    put_said(out, event->body != NULL ? event->body : "");
}

static void tell_end(struct watched *watched, const struct host_event *event, struct json_out *out)
{
    json_put_all(out, JT("role", "agent"), JT("trigger", event->prompt),
                 JT("stopReason", event->stop_reason), JT("error", event->error));
    put_said(out, str_text(&watched->said));
    str_clear(&watched->said);
}

static void tell_permission(struct watched *watched, const struct host_event *event,
                            struct json_out *out)
{
    (void)watched;
    json_put_all(out, JT("permission", event->permission), JT("title", event->title),
                 JN("options", event->options));
}

/* ---- what an agent is saying */

static void tell_piece(struct watched *watched)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    if (watched->piece.len == 0)
        return;
    begin_event(&out, watched);
    json_put_all(&out, JT("message", watched->piece_of),
                 JT("role", watched->is_thought ? "thought" : "agent"), JI("at", watched->piece_at),
                 JT("text", str_text(&watched->piece)));
    json_close(&out, '}');
    tell(watched, "live", &body, watched->live);
    str_clear(&watched->piece);
}

static void add_piece(struct watched *watched, const struct host_event *event)
{
    if (event->body == NULL || event->message == NULL || event->at < 0 ||
        !watched->follow->wants(watched->follow->arg, watched->live))
        return;
    bool follows = watched->piece.len > 0 && strcmp(watched->piece_of, event->message) == 0 &&
                   watched->piece_at + (int64_t)watched->piece.len == event->at;
    if (!follows) {
        tell_piece(watched);
        free(watched->piece_of);
        watched->piece_of = mem_dup(event->message);
        watched->is_thought = event->type == HOST_EVENT_THOUGHT;
        watched->piece_at = event->at;
        watched->piece_ms = time_monotonic_ms();
    }
    str_addn(&watched->piece, event->body, event->body_len);
    if (watched->piece.len >= FOLLOW_LIVE_MAX)
        tell_piece(watched);
}

/* Returns when the first piece that waits has to be told, or -1. */
static int64_t piece_due(const struct follow *follow)
{
    int64_t due = -1;

    for (const struct watched *at = follow->all; at != NULL; at = at->next)
        if (at->piece.len > 0)
            due = time_sooner(due, at->piece_ms + FOLLOW_LIVE_MS);
    return due;
}

/* The host events that become events of the API. A terminal agent has only the first. */
static const struct {
    const char *type; /* NULL: none of the API */
    /* NULL: its members are those of each event; GET of the agent tells more */
    void (*tell)(struct watched *watched, const struct host_event *event, struct json_out *out);
} events[HOST_EVENT_COUNT] = {
    [HOST_EVENT_PROMPT] = {"message", tell_prompt},
    [HOST_EVENT_END] = {"message", tell_end},
    [HOST_EVENT_PERMISSION] = {"permission", tell_permission},
    [HOST_EVENT_MODE] = {"agent.settings", NULL},
    [HOST_EVENT_OPTIONS] = {"agent.settings", NULL},
};

static void handle_event(struct watched *watched, const struct frame *frame)
{
    struct host_event event;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    if (!host_event_parse(frame->head, frame->body, frame->body_len, &event))
        return;
    if (event.type == HOST_EVENT_TEXT && event.body != NULL) {
        /* one more byte shows that it was truncated */
        size_t room = FOLLOW_TEXT_MAX + 1 - watched->said.len;
        str_addn(&watched->said, event.body, event.body_len < room ? event.body_len : room);
    }
    if (event.type == HOST_EVENT_TEXT || event.type == HOST_EVENT_THOUGHT)
        add_piece(watched, &event);
    else
        tell_piece(watched);
    if (events[event.type].type == NULL)
        return;
    begin_event(&out, watched);
    if (events[event.type].tell != NULL)
        events[event.type].tell(watched, &event, &out);
    json_close(&out, '}');
    tell(watched, events[event.type].type, &body, 0);
}

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct watched *watched = arg;

    (void)asked;
    bool is_event = json_get(frame->head, "event") != NULL;
    /* what is sent to an agent that talks is told when its turn begins */
    if (!watched->listens && is_event &&
        find(watched->follow, watched->id, watched->agent, true) != NULL)
        return false;
    if (watched->listens || is_event)
        handle_event(watched, frame);
    else
        handle_status(watched, frame);
    return false;
}

int64_t follow_want(struct follow *follow, struct loop *loop)
{
    int64_t now = time_monotonic_ms();

    follow->waits = follow->all != NULL && now >= follow->waited_ms + FOLLOW_PAUSE_MS;
    if (!follow->waits)
        return follow->all != NULL ? follow->waited_ms + FOLLOW_PAUSE_MS : -1;
    follow->waited_ms = now;
    for (const struct watched *at = follow->all; at != NULL; at = at->next)
        conn_want(&at->host.conn, loop);
    return piece_due(follow);
}

void follow_turn(struct follow *follow, struct loop *loop)
{
    struct err ignored = ERR_INIT;
    struct watched *next;

    if (!follow->waits)
        return;
    for (struct watched *at = follow->all; at != NULL; at = next) {
        short got = loop_got(loop, at->host.conn.fd);
        next = at->next;
        if (host_connection_turn(&at->host, got, on_frame, at, &ignored) != HOST_PENDING)
            drop(at);
        else if (at->piece.len > 0 && time_monotonic_ms() >= at->piece_ms + FOLLOW_LIVE_MS)
            tell_piece(at);
    }
}

/* ---- the log of the code */

void follow_begin(struct follow *follow)
{
    struct code_log *log = &follow->code;
    struct err ignored = ERR_INIT;

    close_code(log);
    log->reader = (struct log_reader)LOG_READER_INIT;
    log->is_open =
        log_reader_open(&log->reader, follow->root->sessions, CODE_LOG_FILE, &ignored) == 0;
    log->at = log->is_open ? log_reader_end(&log->reader) : 0;
    log->skips = false;
}

/* Tells one event, unless the line is none. */
static void tell_code(struct follow *follow)
{
    static const char *const keys[] = {"sessionId", "agent", "branch", "commit",
                                       "commits",   "files", "more"};
    _cleanup_json_ struct json *node = NULL;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err ignored = ERR_INIT;
    enum code_event_type type;

    if (json_parse(str_text(&follow->code.line), follow->code.line.len, CODE_LOG_LINE_MAX, &node,
                   &ignored) == -1 ||
        !code_event_parse(json_get_text(node, "event"), &type) ||
        !id_is_valid(json_get_text_or(node, "sessionId", "")))
        return;
    json_open(&out, NULL, '{');
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (json_get(node, keys[i]) != NULL)
            json_put_node(&out, keys[i], json_get(node, keys[i]));
    json_close(&out, '}');
    const struct event_subject subject = {.session = json_get_text(node, "sessionId"),
                                          .agent = json_get_text_or(node, "agent", "")};
    follow->tell(follow->arg, code_event_name(type), &body, &subject, 0);
}

/* Adds bytes to the line, and tells each line that is whole. */
static void take_code(struct follow *follow, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n') {
            follow->code.skips = follow->code.skips || follow->code.line.len == CODE_LOG_LINE_MAX;
            if (!follow->code.skips)
                str_addc(&follow->code.line, bytes[i]);
            continue;
        }
        if (!follow->code.skips)
            tell_code(follow);
        str_clear(&follow->code.line);
        follow->code.skips = false;
    }
}

void follow_code(struct follow *follow)
{
    struct err ignored = ERR_INIT;
    char buf[8192];
    ssize_t n;

    if (!follow->code.is_open || log_reader_refresh(&follow->code.reader, &ignored) == -1)
        return;
    while ((n = log_read(&follow->code.reader, &follow->code.at, buf, sizeof buf, &ignored)) > 0)
        take_code(follow, buf, (size_t)n);
}
