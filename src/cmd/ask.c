/*
 * One request, whose further answers are the events of its turn. The prompt is read before any host
 * is asked; on_reply() takes the acceptance first and then each event, printed at once. A signal or
 * --timeout only asks the host to cancel, and the turn gets CANCEL_MS to end properly. If this
 * process is killed, the host sees its connection close and cancels the turn by itself ("held").
 */

#include "base/term_escape.h"
#include "base/time.h"
#include "cli/agent_request.h"
#include "cli/picture_files.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "cli/words.h"
#include "memory/store.h"
#include "model/message.h"
#include "os/file.h"
#include "os/loop.h"
#include "protocol/host.h"
#include "protocol/host_event.h"
#include "session/life.h"
#include "store/workspace.h"

enum {
    TAKE_MS = 20000, /* time for a host to accept a prompt */
    TICK_MS = 100, /* interval of checks for a signal that arrived between two waits */
    CANCEL_MS = 3000, /* time to wait for the end of a cancelled turn */
};

static const struct opt opts[] = {
    {0, "file", "FILE", "use the content of FILE as the prompt"},
    OPT_IMAGE,
    {0, "again", NULL, "ask again what the last turn was about, if it failed or was stopped"},
    {0, "new", NULL, "ask in a new conversation, which becomes the current one"},
    {0, "conversation", "ID", "ask in this conversation, which becomes the current one"},
    {0, "aside", NULL, "ask a copy of the agent's session, and leave no trace in this one"},
    {0, "tag", "KEY:VALUE", "add this tag to the prompt and its answer; may be repeated"},
    {0, "timeout", "TIME", "cancel the turn after this time, such as 30s or 5m"},
    {0, "no-wait", NULL, "return when the agent's host has accepted the prompt"},
    {0, "from", "AGENT", "the agent that asks; known in a team's pane"},
    {.name = NULL},
};

/* A prompt, the state of its answer, and how to print it; the argument of on_reply(). */
struct asking {
    struct agent_request request;
    char *text;
    size_t len;
    bool input; /* it came on standard input */
    struct pictures pictures;
    char **tags; /* may be NULL */
    int timeout_ms; /* -1: none */
    bool wait, json;
    bool shown; /* the answer is printed on a terminal */
    bool told; /* standard error is a terminal and gets the progress */
    struct json *taken; /* the answer that accepts the prompt; NULL: none yet */
    char *prompt; /* id of the prompt */
    struct term_escape escape;
    char *message; /* message whose text was printed last; NULL: none */
    char last; /* last byte of the answer printed; 0: none */
    char *stop_reason; /* NULL: the turn has not ended */
    char *error; /* of the turn; NULL: none */
    int code; /* exit code of that error */
    char *note; /* message of mas, not printed yet; NULL: none */
};

static void asking_free(struct asking *asking)
{
    agent_request_free(&asking->request);
    json_free(asking->taken);
    strv_free(asking->tags);
    free(asking->text);
    free(asking->prompt);
    free(asking->message);
    free(asking->stop_reason);
    free(asking->error);
    free(asking->note);
}
#define _cleanup_asking_ __attribute__((cleanup(asking_free)))

/* The ways a turn can end other than normally. */
static const struct {
    const char *reason;
    int code;
    const char *words;
} ends[] = {
    {"max_tokens", MAS_MAX_TOKENS, "the model reached its token limit"},
    {"max_turn_requests", MAS_MAX_REQUESTS, "the agent reached its limit of requests in a turn"},
    {"refusal", MAS_REFUSAL, "the agent refused to continue"},
    {"cancelled", MAS_CANCELLED, "the turn was cancelled"},
    {HOST_END_CLEARED, MAS_CONFLICT, "the context was cleared before its turn"},
    {HOST_END_STOPPED, MAS_CONFLICT, "the session was stopped before its turn ended"},
    {HOST_END_FAILED, MAS_FAILED, "the turn failed"},
};

/* ---- the prompt */

static bool keep_prompt(const struct store_item *item, void *arg)
{
    struct asking *asking = arg;

    asking->text = mem_dupn(item->text, item->len);
    asking->len = item->len;
    pictures_of(item->data, &asking->pictures);
    if (asking->tags == NULL)
        asking->tags = store_own_tags(item->tags);
    return false;
}

/* Finds the prompt of the newest turn, which has to have failed or been stopped. */
static int read_again(struct asking *asking, struct err *err)
{
    const struct roster_team *team = &asking->request.roster.teams[0];
    const char *agent = asking->request.roster.agents[0].agent->id;
    _cleanup_store_ struct store *store = NULL;
    struct store_turn turn = {.prompt = 0};
    struct err why = ERR_INIT;

    if ((store_open(team->dir, team->id, NULL, false, &store, &why) == -1 ||
         store_newest_turn(store, agent, &turn, &why) == -1) &&
        why.code != MAS_NOT_FOUND) {
        *err = why;
        return err_wrap(err, "cannot ask agent '%s' again", agent);
    }
    store_turn_free(&turn);
    if (turn.prompt == 0)
        return err_set(err, MAS_NOT_FOUND, "cannot ask agent '%s' again: it has had no turn",
                       agent);
    if (turn.over && turn.state == MESSAGE_DONE)
        return err_set(err, MAS_CONFLICT, "cannot ask agent '%s' again: its last turn ended well",
                       agent);
    _cleanup_free_ char *lock = mem_printf("%s" WORKSPACE_HOST_LOCK, agent);
    if (!turn.over && file_is_locked(team->run, lock))
        return err_set(err, MAS_CONFLICT, "cannot ask agent '%s' again: its turn is not over",
                       agent);
    const struct store_filter filter = {.agent = agent, .from = turn.prompt, .limit = 1};
    return store_read(store, &filter, keep_prompt, asking, err);
}

static int read_text(struct call *call, struct asking *asking, struct err *err)
{
    if (call_opt(call, "again") != NULL)
        return call->operand_count > 0 || call_opt(call, "file") != NULL ||
                       call_opt(call, "image") != NULL
                   ? err_set(err, MAS_USAGE, "cannot use --again with a prompt")
                   : read_again(asking, err);
    if (words_message(call, &asking->text, &asking->len, &asking->input, err) == -1)
        return -1;
    if ((asking->input || call_opt(call, "file") != NULL) && asking->len > 0 &&
        asking->text[asking->len - 1] == '\n')
        asking->len--;
    return message_is_blank(asking->text, asking->len) && call_opt(call, "image") == NULL
               ? err_set(err, MAS_USAGE, "cannot ask: the prompt is empty")
               : 0;
}

static int parse_options(struct call *call, struct asking *asking, struct err *err)
{
    const char *timeout = call_opt(call, "timeout");

    asking->wait = call_opt(call, "no-wait") == NULL;
    asking->json = call->json;
    asking->shown = !call->json && isatty(STDOUT_FILENO) != 0;
    asking->told = !call->json && isatty(STDERR_FILENO) != 0;
    if (call_opt(call, "new") != NULL && call_opt(call, "conversation") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --new with --conversation");
    static const char *const kept[] = {"new", "conversation", "tag", "no-wait", "image"};
    for (size_t i = 0; i < ARRAY_LEN(kept) && call_opt(call, "aside") != NULL; i++)
        if (call_opt(call, kept[i]) != NULL)
            return err_set(err, MAS_USAGE, "cannot use --aside with --%s", kept[i]);
    if (timeout != NULL && !asking->wait)
        return err_set(err, MAS_USAGE, "cannot use --timeout with --no-wait");
    if (targets_timeout(call, &asking->timeout_ms, err) == -1)
        return -1;
    asking->tags = call_opts(call, "tag");
    return store_check_tags(asking->tags, err);
}

static void put_request(const struct call *call, const struct asking *asking, struct str *to)
{
    struct json_out out = {.to = to};

    agent_request_open(&asking->request, "ask", &out);
    json_put_bool(&out, "wait", asking->wait);
    if (asking->wait) /* so that whatever ends this process is like Ctrl-C */
        json_put_bool(&out, "held", true);
    if (call_opt(call, "new") != NULL)
        json_put_bool(&out, "new", true);
    if (call_opt(call, "aside") != NULL)
        json_put_bool(&out, "aside", true);
    if (call_opt(call, "conversation") != NULL)
        json_put(&out, "conversation", call_opt(call, "conversation"));
    if (asking->tags != NULL) {
        json_open(&out, "tags", '[');
        for (char **tag = asking->tags; *tag != NULL; tag++)
            json_put(&out, NULL, *tag);
        json_close(&out, ']');
    }
    pictures_put(&asking->pictures, &out);
    json_close(&out, '}');
}

static int read_pictures(const struct call *call, struct asking *asking, struct err *err)
{
    return call_opt(call, "image") == NULL
               ? 0
               : picture_files_keep(call, asking->request.roster.teams[0].dir, asking->input,
                                    &asking->pictures, err);
}

/* ---- the events */

static void put(struct asking *asking, const char *text, size_t len)
{
    if (len == 0)
        return;
    (void)fwrite(text, 1, len, stdout);
    asking->last = text[len - 1];
}

/* Ends the current line of the answer. */
static void end_line(struct asking *asking)
{
    if (asking->last != 0 && asking->last != '\n')
        put(asking, "\n", 1);
}

static void on_text(struct asking *asking, const struct host_event *event)
{
    const char *message = event->message;
    _cleanup_str_ struct str text = STR_INIT;

    if (message != NULL && (asking->message == NULL || strcmp(message, asking->message) != 0)) {
        if (asking->message != NULL) { /* an empty line separates messages */
            end_line(asking);
            put(asking, "\n", 1);
        }
        free(asking->message);
        asking->message = mem_dup(message);
    }
    if (!asking->shown) {
        put(asking, event->body, event->body_len);
        return;
    }
    term_escape_add(&asking->escape, event->body != NULL ? event->body : "", event->body_len,
                    &text);
    put(asking, str_text(&text), text.len);
}

/* Prints a line on standard error, on a new line if the terminal shows the answer. */
static void say(struct asking *asking, const char *what, const char *words)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (asking->shown && asking->last != '\n' && asking->last != 0) {
        put(asking, "\n", 1);
        (void)fflush(stdout);
    }
    str_addf(&line, "%s", what);
    str_add_line(&line, words, strlen(words));
    (void)fprintf(stderr, "%s\n", line.data);
}

static void on_tool(struct asking *asking, const struct host_event *event)
{
    const char *status = event->status;

    if (!asking->told || status == NULL)
        return;
    if (strcmp(status, "completed") == 0)
        say(asking, "[done] ", host_event_title(event));
    else if (strcmp(status, "failed") == 0)
        say(asking, "[failed] ", host_event_title(event));
}

/* Prints the first lines of what is asked. */
static void say_lines(struct asking *asking, const char *text, size_t len)
{
    enum { LINES = 40 };
    size_t lines = 0;

    for (size_t at = 0, n; at < len; at += n + 1) {
        const char *end = memchr(text + at, '\n', len - at);
        n = end != NULL ? (size_t)(end - text) - at : len - at;
        if (lines++ >= LINES)
            continue;
        _cleanup_free_ char *line = mem_dupn(text + at, n);
        say(asking, "  ", line);
    }
    if (lines > LINES) {
        _cleanup_free_ char *more = mem_printf("(%zu more lines: mas history)", lines - LINES);
        say(asking, "  ", more);
    }
}

/* Always prints the request, because somebody has to answer it. */
static void on_permission(struct asking *asking, const struct host_event *event)
{
    const struct roster *roster = &asking->request.roster;
    _cleanup_str_ struct str hint = STR_INIT;

    err_add_commands(&hint, "  answer it with: mas approve %s %s",
                     roster_label(&roster->teams[0]).text, roster->agents[0].agent->id);
    say(asking, "mas: the agent asks for a permission: ", host_event_title(event));
    say_lines(asking, event->body, event->body_len);
    say(asking, "", hint.data);
}

/* Prints the pending message of mas, unless it equals the turn's error, which is printed later. */
static void say_note(struct asking *asking)
{
    if (asking->note != NULL && (asking->error == NULL || strcmp(asking->note, asking->error) != 0))
        say(asking, "mas: ", asking->note);
    free(asking->note);
    asking->note = NULL;
}

static void on_note(struct asking *asking, const struct host_event *event)
{
    say_note(asking);
    asking->note = mem_dup(event->body);
}

static void on_end(struct asking *asking, const struct host_event *event)
{
    _cleanup_str_ struct str rest = STR_INIT;

    asking->stop_reason =
        mem_dup(event->stop_reason != NULL ? event->stop_reason : HOST_END_FAILED);
    asking->error = mem_dup(event->error);
    asking->code = event->code;
    if (asking->json)
        return;
    say_note(asking);
    term_escape_end(&asking->escape, &rest);
    put(asking, str_text(&rest), rest.len);
    end_line(asking);
}

/* Sets the prompt to wait for: an approved plan continues in a turn with another prompt. */
static void on_prompt(struct asking *asking, const struct host_event *event)
{
    const char *prompt = event->prompt;

    if (prompt == NULL || (asking->prompt != NULL && strcmp(prompt, asking->prompt) == 0))
        return;
    free(asking->prompt);
    asking->prompt = mem_dup(prompt);
}

static void print_event(const struct frame *event)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    for (const struct json *node = json_first(event->head); node != NULL; node = json_next(node))
        if (strcmp(json_key(node), "bytes") != 0)
            json_put_node(&out, json_key(node), node);
    if (event->body != NULL)
        json_put(&out, "text", event->body);
    json_close(&out, '}');
    print_line(&text);
}

static void on_event(struct asking *asking, const struct frame *frame)
{
    /* with --json only handlers that end the command run, otherwise also those that print */
    static const struct {
        void (*run)(struct asking *asking, const struct host_event *event);
        bool with_json;
    } handlers[HOST_EVENT_COUNT] = {
        [HOST_EVENT_PROMPT] = {on_prompt, true}, [HOST_EVENT_END] = {on_end, true},
        [HOST_EVENT_TEXT] = {on_text, false},    [HOST_EVENT_NOTE] = {on_note, false},
        [HOST_EVENT_TOOL] = {on_tool, false},    [HOST_EVENT_PERMISSION] = {on_permission, false},
    };
    struct host_event event;

    if (asking->json)
        print_event(frame);
    if (host_event_parse(frame->head, frame->body, frame->body_len, &event) &&
        handlers[event.type].run != NULL && (handlers[event.type].with_json || !asking->json))
        handlers[event.type].run(asking, &event);
}

static void on_accepted(struct asking *asking, const struct json *head)
{
    const char *outcome = json_get_text(head, "outcome");

    asking->taken = json_copy(head);
    asking->prompt = mem_dup(json_get_text(head, "prompt"));
    if (asking->wait && json_get(head, "paused") != NULL)
        err_warn("the prompt waits: the agent is paused: %s", json_get_text_or(head, "paused", ""));
    else if (asking->told && asking->wait && outcome != NULL && strcmp(outcome, "queued") == 0)
        say(asking, "",
            json_int(json_get(head, "ahead"), 1) > 0
                ? "queued: the agent is working on another prompt"
                : "queued: the agent is not ready yet");
}

static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct asking *asking = arg;

    if (asking->taken != NULL) {
        if (json_get(reply->head, "event") != NULL)
            on_event(asking, reply);
        return asking->stop_reason != NULL;
    }
    if (hosts_reply_error(reply->head, &call->err) == -1)
        return true;
    on_accepted(asking, reply->head);
    return !asking->wait;
}

/* ---- waiting */

/* Cancels the prompt, whether or not its turn has begun. */
static void cancel(const struct asking *asking)
{
    const struct roster *roster = &asking->request.roster;
    struct host_call one = {.run = roster->teams[0].run, .agent = roster->agents[0].agent->id};
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    agent_request_open(&asking->request, "cancel", &out);
    json_put(&out, "prompt", asking->prompt);
    json_close(&out, '}');
    hosts_start(&one, 1, head.data, NULL, 0);
    hosts_finish(&one, 1, CANCEL_MS, NULL, NULL);
}

/* Handles events until the turn has ended. On a signal or a timeout, cancels the turn and waits up
 * to CANCEL_MS for its end. Returns false on a timeout. */
static bool await_end(struct asking *asking, const struct life *life)
{
    struct roster *roster = &asking->request.roster;
    int64_t start = time_monotonic_ms();
    int64_t end = asking->timeout_ms >= 0 ? start + asking->timeout_ms : INT64_MAX;
    bool stops = false, cancelled = false, late = false;

    while (hosts_step(roster->calls, roster->asked, TICK_MS, on_reply, asking) > 0) {
        int64_t now = time_monotonic_ms();
        (void)fflush(stdout);
        if (asking->taken == NULL && now >= start + TAKE_MS)
            break;
        if (!stops && (now >= end || life->tick(0, 0, life->tick_arg))) {
            stops = true;
            late = now >= end;
            end = now + CANCEL_MS;
        }
        if (stops && !cancelled && asking->prompt != NULL) {
            cancelled = true;
            cancel(asking);
        }
        if (stops && now >= end)
            break;
    }
    hosts_end(roster->calls, roster->asked);
    return !late;
}

/* ---- the result */

static int judge_end(const struct asking *asking, struct err *err)
{
    const char *agent = asking->request.roster.agents[0].agent->id;
    const char *reason = asking->stop_reason;
    size_t i = 0;

    if (strcmp(reason, "end_turn") == 0)
        return 0;
    while (i < ARRAY_LEN(ends) && strcmp(reason, ends[i].reason) != 0)
        i++;
    if (strcmp(reason, HOST_END_STOPPED) == 0 && asking->error != NULL)
        return err_set(err, MAS_CONFLICT, "cannot ask agent '%s': %s", agent, asking->error);
    if (strcmp(reason, HOST_END_FAILED) == 0 && asking->error != NULL)
        return err_set(err, asking->code, "cannot ask agent '%s': %s: %s", agent, reason,
                       asking->error);
    return err_set(err, i < ARRAY_LEN(ends) ? ends[i].code : MAS_FAILED,
                   "cannot ask agent '%s': %s: %s", agent, reason,
                   i < ARRAY_LEN(ends) ? ends[i].words : "the turn ended for this reason");
}

static int judge(const struct asking *asking, bool in_time, struct err *err)
{
    const struct roster *roster = &asking->request.roster;
    const char *agent = roster->agents[0].agent->id;

    if (!in_time)
        return err_set(err, MAS_TIMEOUT,
                       "cannot ask agent '%s': its turn did not end in time and was cancelled",
                       agent);
    if (asking->stop_reason != NULL)
        return judge_end(asking, err);
    if (roster_failure(roster, 0, "ask", err) == -1) {
        if (asking->taken != NULL)
            (void)err_hint(err,
                           "the agent's host has accepted the prompt; if its turn had not begun, "
                           "it waits for the next start, see: mas history %s %s",
                           roster_label(&roster->teams[0]).text, agent);
        return -1;
    }
    return 0;
}

static int run_ask(struct call *call, struct err *err)
{
    _cleanup_asking_ struct asking asking = {.request = AGENT_REQUEST_INIT, .timeout_ms = -1};
    _cleanup_str_ struct str head = STR_INIT;
    struct life life = {.tick = NULL};

    if (parse_options(call, &asking, err) == -1 ||
        agent_request_parse(call, "ask", TARGETS_AGENT_TEXT, &asking.request, err) == -1 ||
        read_text(call, &asking, err) == -1 || read_pictures(call, &asking, err) == -1)
        return -1;
    put_request(call, &asking, &head);
    const struct roster_request request = {
        .what = "ask", .head = head.data, .body = asking.text, .body_len = asking.len};
    if (asking.wait)
        loop_end_with(STDOUT_FILENO);
    progress_begin(&life, "", true);
    int rc = roster_ask_live(&call->root, &asking.request.roster, &request, err);
    if (rc == 0)
        rc = judge(&asking, await_end(&asking, &life), err);
    if (call->json && !asking.wait && asking.taken != NULL)
        agent_request_print(&asking.request, asking.taken);
    (void)fflush(stdout);
    progress_end();
    return rc;
}

const struct cmd cmd_ask = {
    .name = "ask",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT TEXT...",
    .summary = "prompt an agent and print its answer as it arrives",
    .examples = "mas ask shop lead 'what is left to do?'\n"
                "mas ask shop lead --file question.md --timeout 5m\n"
                "mas ask shop lead --again\n"
                "git diff | mas ask shop lead -",
    .details = "mas joins the words of TEXT with single spaces; - is standard input. AGENT "
               "may be omitted if the session has only one agent and the first word of TEXT "
               "does not name it. If the agent does not run, mas starts it. Ctrl-C cancels "
               "the turn, and so does the end of the reader of the output, or of mas. With "
               "--json, each event is an object on a line of its own.\n\n"
               "Exit status: 0 the turn ended normally; 1 an error; 4 the context was "
               "cleared or the session stopped before the turn ended; 7 the time is up; 8 "
               "the token limit or 9 the request limit was reached; 10 the agent refused; 11 "
               "somebody else cancelled the turn.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS | WAITS_LONG,
    .run = run_ask,
};
