/*
 * A request waits for the host and is then sent; one for the current conversation alone (a clear, a
 * mode, an option) has the host change that first. A prompt stays until its turn ends, a session
 * until the agent has told what it offers. Loops go by number, because any step may end a request.
 * Loading and resuming a session need no host: without one the store alone answers.
 */

#include "editor/editor_internal.h"

#include "base/time.h"
#include "protocol/rpc.h"

/* ---- the list of requests */

struct pending_request *editor_pending_new(struct editor *editor, enum pending_kind kind,
                                           const char *session)
{
    struct pending_request *pending = mem_alloc(sizeof *pending);

    pending->number = ++editor->last_pending;
    pending->kind = kind;
    pending->until = time_monotonic_ms() + EDITOR_HOST_MS;
    (void)snprintf(pending->session, sizeof pending->session, "%s", session != NULL ? session : "");
    editor->pending =
        mem_room(editor->pending, editor->pending_count, sizeof(struct pending_request *));
    editor->pending[editor->pending_count++] = pending;
    return pending;
}

void editor_pending_free(struct pending_request *pending)
{
    free(pending->ticket);
    free(pending->text);
    free(pending->mode);
    free(pending->option);
    free(pending->value);
    free(pending->prompt);
    json_free(pending->answers);
    free(pending);
}

void editor_pending_end(struct editor *editor, struct pending_request *pending)
{
    size_t i = 0;

    while (editor->pending[i] != pending)
        i++;
    editor->pending_count--;
    memmove(editor->pending + i, editor->pending + i + 1,
            (editor->pending_count - i) * sizeof(struct pending_request *));
    editor_pending_free(pending);
}

static struct pending_request *pending_of(const struct editor *editor, int64_t number)
{
    for (size_t i = 0; i < editor->pending_count; i++)
        if (editor->pending[i]->number == number)
            return editor->pending[i];
    return NULL;
}

struct pending_request *editor_pending_after(const struct editor *editor, int64_t number)
{
    for (size_t i = 0; i < editor->pending_count; i++)
        if (editor->pending[i]->number > number)
            return editor->pending[i];
    return NULL;
}

bool editor_waits(const struct editor *editor)
{
    for (size_t i = 0; i < editor->pending_count; i++)
        if (editor->pending[i]->step == STEP_WAITS)
            return true;
    return false;
}

/* ---- answers to the client */

static int rpc_code(int code)
{
    return code == MAS_NOT_FOUND ? ACP_NO_SUCH
           : code == MAS_USAGE   ? RPC_INVALID_PARAMS
                                 : RPC_INTERNAL_ERROR;
}

void editor_refuse(struct editor *editor, const char *ticket, const struct err *why)
{
    _cleanup_free_ char *words =
        why->hint[0] != '\0' ? mem_printf("%s (%s)", why->text, why->hint) : mem_dup(why->text);

    if (ticket != NULL)
        (void)acp_agent_refuse(editor->acp, ticket, rpc_code(why->code), words);
}

void editor_end_turn(struct editor *editor, const char *ticket, const char *reason)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (ticket == NULL)
        return;
    json_put_all(&out, JO(NULL), JT("stopReason", reason), JOE);
    (void)acp_agent_answer(editor->acp, ticket, result.data);
}

void editor_say(struct editor *editor, const struct pending_request *pending, const char *words)
{
    acp_agent_chunk(editor->acp, pending->session, ACP_TEXT, NULL, words, strlen(words));
    editor_end_turn(editor, pending->ticket, "end_turn");
}

/* Answers a request with an error and ends it. */
static void fail(struct editor *editor, struct pending_request *pending, const struct err *why)
{
    if (pending->typed) {
        _cleanup_free_ char *words =
            why->hint[0] != '\0' ? mem_printf("%s\n%s", why->text, why->hint) : mem_dup(why->text);
        editor_say(editor, pending, words);
    } else {
        editor_refuse(editor, pending->ticket, why);
    }
    editor_pending_end(editor, pending);
}

/* ---- requests to the host */

static void open_request(const struct editor *editor, struct json_out *out, const char *name)
{
    json_open(out, NULL, '{');
    json_put(out, "do", name);
    if (editor->spec->from != NULL)
        json_put(out, "from", editor->spec->from);
}

static void send_request(struct editor *editor, struct pending_request *pending,
                         struct json_out *out, const char *body)
{
    struct err why = ERR_INIT;

    json_close(out, '}');
    if (out->to->len > EDITOR_HEAD_MAX) { /* the host would close the connection */
        (void)err_set(&why, MAS_USAGE, "a word of the request is too long");
        fail(editor, pending, &why);
        return;
    }
    if (host_connection_ask(&editor->host, pending->number, out->to->data, body,
                            body != NULL ? strlen(body) : 0))
        return;
    (void)err_set(&why, MAS_CONFLICT, "too many requests wait for the agent's host");
    fail(editor, pending, &why);
}

static void put_conversation(const struct pending_request *pending, struct json_out *out)
{
    json_put(out, "conversation", pending->session);
}

/* Sends the request. */
static void ask(struct editor *editor, struct pending_request *pending)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    const char *body = NULL;

    pending->step = STEP_ASKED;
    switch (pending->kind) {
    case PENDING_NEW:
        open_request(editor, &out, "conversation");
        json_put_bool(&out, "new", true);
        break;
    case PENDING_PROMPT:
        open_request(editor, &out, "ask");
        put_conversation(pending, &out);
        pictures_put(&pending->pictures, &out);
        body = pending->text;
        break;
    case PENDING_CLEAR:
        open_request(editor, &out, "clear");
        body = pending->text;
        break;
    case PENDING_MODE:
        open_request(editor, &out, "mode");
        json_put(&out, "mode", pending->mode);
        break;
    case PENDING_OPTION:
        open_request(editor, &out, "set");
        json_put(&out, "option", pending->option);
        json_put(&out, "value", pending->value);
        break;
    case PENDING_CANCEL:
        open_request(editor, &out, "cancel");
        if (pending->prompt != NULL)
            json_put(&out, "prompt", pending->prompt);
        break;
    case PENDING_PERMIT:
        open_request(editor, &out, "permit");
        json_put(&out, "permission", pending->prompt);
        json_put(&out, "option", pending->value);
        if (pending->answers != NULL)
            json_put_node(&out, "answers", pending->answers);
        break;
    case PENDING_LOAD:
    case PENDING_RESUME:
    default:
        return;
    }
    send_request(editor, pending, &out, body);
}

static bool is_of_conversation(const struct pending_request *pending)
{
    return pending->kind == PENDING_CLEAR || pending->kind == PENDING_MODE ||
           pending->kind == PENDING_OPTION;
}

/* Starts a request when the host listens. */
static void go(struct editor *editor, struct pending_request *pending)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    if (pending->kind == PENDING_LOAD || pending->kind == PENDING_RESUME) {
        pending->step = STEP_SETTLES;
        pending->until = time_monotonic_ms() + EDITOR_SETTLE_MS;
        return;
    }
    if (!is_of_conversation(pending) || strcmp(pending->session, editor->conversation) == 0) {
        ask(editor, pending);
        return;
    }
    pending->step = STEP_SWITCHES;
    open_request(editor, &out, "conversation");
    put_conversation(pending, &out);
    send_request(editor, pending, &out, NULL);
}

void editor_go_on(struct editor *editor)
{
    struct pending_request *pending = NULL;

    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->step == STEP_WAITS)
            go(editor, pending);
    }
    editor_settle(editor, time_monotonic_ms());
}

void editor_begin(struct editor *editor, struct pending_request *pending)
{
    if (!editor->listens) {
        if (editor->host.conn.fd == -1)
            editor->retry_at = 0;
        return;
    }
    go(editor, pending);
    editor_settle(editor, time_monotonic_ms());
}

/* ---- sessions */

static void open_session(struct editor *editor, struct pending_request *pending)
{
    struct editor_session *session = editor_session(editor, pending->session);
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    struct err why = ERR_INIT;

    if (session != NULL && pending->kind == PENDING_LOAD) { /* send all messages again */
        editor_session_remove(editor, pending->session);
        session = NULL;
    }
    if (session == NULL)
        session = editor_session_add(editor, pending->session);
    if (session == NULL) {
        (void)err_set(&why, MAS_CONFLICT, "too many sessions are open");
        fail(editor, pending, &why);
        return;
    }
    if (pending->kind == PENDING_LOAD && editor_show_past(editor, session, &why) == -1) {
        fail(editor, pending, &why);
        return;
    }
    json_open(&out, NULL, '{');
    if (pending->kind == PENDING_NEW)
        json_put(&out, "sessionId", pending->session);
    acp_agent_put_modes(&out, editor->mode, editor->modes);
    if (editor->options != NULL)
        acp_agent_put_options(editor->acp, &out, "configOptions", editor->options);
    json_close(&out, '}');
    (void)acp_agent_answer(editor->acp, pending->ticket, result.data);
    editor_tell_commands(editor, pending->session);
    editor_pending_end(editor, pending);
    editor_ask_permissions(editor);
}

void editor_settle(struct editor *editor, int64_t now)
{
    struct pending_request *pending = NULL;
    bool is_known = editor->modes != NULL && json_first(editor->modes) != NULL;
    bool starts = editor->state != NULL && strcmp(editor->state, "starting") == 0;

    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        /* the modes and options known so far are those of another conversation than a new one */
        bool is_its_own = is_known && pending->kind != PENDING_NEW;
        if (pending->step == STEP_SETTLES &&
            (is_its_own || !starts || !editor->listens || now >= pending->until))
            open_session(editor, pending);
    }
}

/* ---- answers of the host */

static void handle_prompt(struct editor *editor, struct pending_request *pending,
                          const struct json *head)
{
    struct editor_session *session = editor_session(editor, pending->session);

    editor_replace(&pending->prompt, json_get_text(head, "prompt"));
    if (pending->prompt == NULL) { /* a clear without a prompt */
        if (pending->typed)
            editor_say(editor, pending, "The context is cleared.");
        editor_pending_end(editor, pending);
        return;
    }
    pending->step = STEP_RUNS;
    editor_replace(&pending->text, NULL); /* the host has the text */
    if (session != NULL)
        (void)editor_known_prompt(session, host_event_number(pending->prompt));
    if (!pending->cancelled)
        return;
    struct pending_request *cancel = editor_pending_new(editor, PENDING_CANCEL, pending->session);
    editor_replace(&cancel->prompt, pending->prompt);
    editor_begin(editor, cancel);
}

/* Answers session/set_config_option with all options, including the new value. */
static void answer_option(struct editor *editor, const struct pending_request *pending)
{
    _cleanup_str_ struct str list = STR_INIT;
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &list};

    json_open(&out, NULL, '[');
    for (const struct json *o = json_first(editor->options); o != NULL; o = json_next(o)) {
        const char *id = json_get_text(o, "id");
        json_open(&out, NULL, '{');
        for (const struct json *m = json_first(o); m != NULL; m = json_next(m))
            if (strcmp(json_key(m), "value") != 0)
                json_put_node(&out, json_key(m), m);
        json_put(&out, "value",
                 id != NULL && strcmp(id, pending->option) == 0 ? pending->value
                                                                : json_get_text(o, "value"));
        json_close(&out, '}');
    }
    json_close(&out, ']');
    struct err ignored = ERR_INIT;
    struct json *options = NULL;
    if (json_parse(list.data, list.len, list.len, &options, &ignored) == 0) {
        json_free(editor->options);
        editor->options = options;
    }
    out = (struct json_out){.to = &result};
    json_open(&out, NULL, '{');
    acp_agent_put_options(editor->acp, &out, "configOptions", editor->options);
    json_close(&out, '}');
    if (pending->ticket != NULL)
        (void)acp_agent_answer(editor->acp, pending->ticket, result.data);
}

static void handle_new(struct editor *editor, struct pending_request *pending,
                       const struct json *head)
{
    const char *id = json_get_text(head, "conversation");

    (void)snprintf(pending->session, sizeof pending->session, "%s", id != NULL ? id : "");
    (void)snprintf(editor->conversation, sizeof editor->conversation, "%s", pending->session);
    editor_replace(&editor->state, json_get_text(head, "state"));
    pending->step = STEP_SETTLES;
    pending->until = time_monotonic_ms() + EDITOR_SETTLE_MS;
    editor_settle(editor, time_monotonic_ms());
}

static void handle_set(struct editor *editor, struct pending_request *pending)
{
    if (pending->typed) {
        _cleanup_free_ char *words = pending->kind == PENDING_MODE
                                         ? mem_printf("The mode is %s.", pending->mode)
                                         : mem_printf("%s is %s.", pending->option, pending->value);
        editor_say(editor, pending, words);
    } else if (pending->kind == PENDING_OPTION) {
        answer_option(editor, pending);
    } else {
        (void)acp_agent_answer(editor->acp, pending->ticket, NULL);
    }
    editor_pending_end(editor, pending);
}

/* Says why the host does not take the client's answer, and leaves it open for others. */
static void refuse_answer(struct editor *editor, struct pending_request *pending,
                          const struct err *why)
{
    const struct editor_session *session = editor_session(editor, pending->session);

    if (session != NULL)
        editor_note(editor, session, 0, why->text);
    editor_pending_end(editor, pending);
}

void editor_answered(struct editor *editor, int64_t asked, const struct frame *answer)
{
    struct pending_request *pending = pending_of(editor, asked);
    struct err why = ERR_INIT;

    if (pending == NULL)
        return;
    if (hosts_reply_error(answer->head, &why) == -1) {
        if (pending->kind == PENDING_PERMIT && why.code == MAS_USAGE)
            refuse_answer(editor, pending, &why);
        else if (pending->kind == PENDING_PERMIT || pending->kind == PENDING_CANCEL)
            editor_pending_end(editor, pending); /* somebody else was faster */
        else
            fail(editor, pending, &why);
        return;
    }
    if (pending->step == STEP_SWITCHES) {
        (void)snprintf(editor->conversation, sizeof editor->conversation, "%s", pending->session);
        ask(editor, pending);
        return;
    }
    switch (pending->kind) {
    case PENDING_NEW:
        handle_new(editor, pending, answer->head);
        break;
    case PENDING_PROMPT:
    case PENDING_CLEAR:
        handle_prompt(editor, pending, answer->head);
        break;
    case PENDING_MODE:
    case PENDING_OPTION:
        handle_set(editor, pending);
        break;
    case PENDING_CANCEL:
    case PENDING_PERMIT:
    case PENDING_LOAD:
    case PENDING_RESUME:
    default:
        editor_pending_end(editor, pending);
        break;
    }
}

/* ---- the host is absent */

void editor_fail_waiting(struct editor *editor, const struct err *why)
{
    struct pending_request *pending = NULL;

    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->step != STEP_WAITS)
            continue;
        if (pending->kind == PENDING_LOAD || pending->kind == PENDING_RESUME)
            open_session(editor, pending); /* the messages can be read without the host */
        else
            fail(editor, pending, why);
    }
}

void editor_lost(struct editor *editor)
{
    struct pending_request *pending = NULL;
    struct err why = ERR_INIT;

    editor_replace(&editor->running, NULL);
    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->step == STEP_WAITS || pending->step == STEP_SETTLES)
            continue;
        (void)err_set(&why, MAS_FAILED, "the host of agent '%s' has ended", editor->spec->agent);
        if (pending->step == STEP_RUNS || pending->step == STEP_FOLLOWS)
            (void)err_hint(&why, "the host has accepted the prompt, see: mas history %s %s",
                           editor->spec->session, editor->spec->agent);
        fail(editor, pending, &why);
    }
}

/* ---- time */

int64_t editor_pending_tick(struct editor *editor, int64_t now)
{
    struct pending_request *pending = NULL;
    struct err why = ERR_INIT;
    int64_t next = -1;

    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        bool waits = pending->step == STEP_WAITS || pending->step == STEP_FOLLOWS ||
                     pending->step == STEP_SETTLES;
        if (!waits || now < pending->until) {
            if (waits)
                next = time_sooner(next, pending->until);
            continue;
        }
        if (pending->step == STEP_FOLLOWS) {
            editor_end_turn(editor, pending->ticket, "cancelled");
            editor_pending_end(editor, pending);
        } else if (pending->kind == PENDING_LOAD || pending->kind == PENDING_RESUME) {
            open_session(editor, pending);
        } else {
            (void)err_set(&why, MAS_TIMEOUT, "the host of agent '%s' is not running",
                          editor->spec->agent);
            (void)err_hint(&why, "start it again with: mas restart %s %s", editor->spec->session,
                           editor->spec->agent);
            fail(editor, pending, &why);
        }
    }
    return next;
}
