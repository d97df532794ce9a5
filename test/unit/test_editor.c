/*
 * What an editor is told of the events of a host, and how the turns of its prompts end:
 * editor/editor_event.c and the part of editor_pending.c that has no host.
 */
#include "unit.h"

#include "base/time.h"
#include "editor/editor_internal.h"

#define S "550e8400-e29b-41d4-a716-446655440000"
#define OTHER "550e8400-e29b-41d4-a716-446655440001"

static char *ticket; /* of the newest request */

static void on_request(void *arg, const struct editor_request *request)
{
    (void)arg;
    free(ticket);
    ticket = mem_dup(request->ticket);
}

static void on_words(void *arg, const char *words)
{
    (void)arg, (void)words;
}

static void on_permitted(void *arg, int64_t serial, const char *option, const struct json *answers)
{
    (void)arg, (void)serial, (void)option, (void)answers;
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    (void)arg, (void)why, (void)bytes, (void)len;
}

static const struct acp_agent_self self = {"mas", "mas", "1"};
static const struct acp_agent_ops ops = {.request = on_request,
                                         .cancel = on_words,
                                         .withdrawn = on_words,
                                         .permitted = on_permitted,
                                         .garbage = on_garbage};
static const struct editor_spec spec = {.session = S, .agent = "w1"};

static void feed(struct editor *editor, const char *line)
{
    acp_agent_feed(editor->acp, line, strlen(line));
}

static void add_text(struct str *to, const struct json *object, const char *key)
{
    const char *text = json_get_text(object, key);

    if (text != NULL)
        str_addf(to, " %s", text);
}

/* What the editor was sent since the last look: what it is and its texts, one a line. */
static char *sent(struct editor *editor)
{
    size_t len = 0;
    const char *out = acp_agent_out(editor->acp, &len);
    _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);
    struct str lines = STR_INIT;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        _cleanup_json_ struct json *json = NULL;
        struct err err = ERR_INIT;
        if (!CHECK(json_parse(line, strlen(line), 1 << 20, &json, &err) == 0))
            break;
        const struct json *update = json_get(json_get(json, "params"), "update");
        const struct json *first = json_first(json_get(update, "content"));
        str_add(&lines, update != NULL ? json_get_text_or(update, "sessionUpdate", "?")
                                       : json_get_text_or(json, "method", "answer"));
        add_text(&lines, json_get(update, "content"), "text");
        add_text(&lines, json_get(first, "content"), "text");
        add_text(&lines, update, "toolCallId");
        add_text(&lines, update, "title");
        add_text(&lines, update, "status");
        add_text(&lines, update, "currentModeId");
        add_text(&lines, json_get(json, "result"), "stopReason");
        add_text(&lines, json_get(json, "error"), "message");
        str_addc(&lines, '\n');
    }
    acp_agent_sent(editor->acp, len);
    return str_steal(&lines);
}

#define CHECK_SENT(text_)                                                                          \
    do {                                                                                           \
        _cleanup_free_ char *sent_ = sent(&editor);                                                \
        CHECK_STR(sent_, (text_));                                                                 \
    } while (0)

/* An editor that has opened the current conversation, and another one. */
static void begin(struct editor *editor)
{
    *editor = (struct editor){.spec = &spec, .conversation = S, .host = HOST_CONNECTION_INIT};
    editor->acp = acp_agent_new(&ops, editor, &self);
    feed(editor, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                 "{\"protocolVersion\":1,\"clientCapabilities\":{}}}\n");
    (void)editor_session_add(editor, S);
    (void)editor_session_add(editor, OTHER);
    free(sent(editor));
}

static void end(struct editor *editor)
{
    while (editor->pending_count > 0)
        editor_pending_end(editor, editor->pending[0]);
    free(editor->pending);
    editor_drop_permissions(editor);
    free(editor->permissions);
    editor_session_remove(editor, S);
    editor_session_remove(editor, OTHER);
    free(editor->sessions);
    for (size_t i = 0; i < EDITOR_OPEN_MAX; i++)
        free(editor->tools[i].id);
    free(editor->running);
    free(editor->state);
    free(editor->mode);
    json_free(editor->modes);
    json_free(editor->options);
    json_free(editor->commands);
    acp_agent_free(editor->acp);
    free(ticket);
    ticket = NULL;
}

/* A prompt of the editor that the host has accepted as this one. */
static struct pending_request *add_prompt(struct editor *editor, const char *prompt)
{
    static int id = 1;
    _cleanup_free_ char *line =
        mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"session/prompt\",\"params\":"
                   "{\"sessionId\":\"" S "\",\"prompt\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n",
                   id++);

    feed(editor, line);
    struct pending_request *pending = editor_pending_new(editor, PENDING_PROMPT, S);
    pending->ticket = mem_dup(ticket);
    pending->prompt = mem_dup(prompt);
    pending->step = STEP_RUNS;
    return pending;
}

static void event(struct editor *editor, const char *head, const char *body)
{
    struct frame frame = {.body = (char *)(uintptr_t)body,
                          .body_len = body != NULL ? strlen(body) : 0};
    struct err err = ERR_INIT;

    CHECK(json_parse(head, strlen(head), 1 << 20, &frame.head, &err) == 0);
    editor_event(editor, &frame);
    json_free(frame.head);
}

#define PROMPT(number) "{\"event\":\"prompt\",\"prompt\":\"" S ":" #number "\"}"
#define END(number, more) "{\"event\":\"end\",\"prompt\":\"" S ":" #number "\"" more "}"
#define REASON(reason) ",\"stopReason\":\"" reason "\""

/* The prompt in the middle of three ends; the others go on. */
TEST(the_turn_of_each_prompt_ends_as_its_own)
{
    static const struct {
        const char *end;
        bool cancelled;
        const char *want;
    } rows[] = {
        {END(2, REASON("end_turn")), false, "answer end_turn\n"},
        {END(2, REASON("max_tokens")), false, "answer max_tokens\n"},
        {END(2, REASON("max_turn_requests")), false, "answer max_turn_requests\n"},
        {END(2, REASON("refusal")), false, "answer refusal\n"},
        {END(2, REASON("cancelled")), false, "answer cancelled\n"},
        {END(2, REASON("cleared")), false, "answer cancelled\n"},
        {END(2, REASON("something")), false, "answer end_turn\n"},
        {END(2, REASON("something")), true, "answer cancelled\n"},
        {END(2, REASON("failed")), false, "answer the agent was stopped before its turn ended\n"},
        {END(2, REASON("stopped")), false, "answer the agent was stopped before its turn ended\n"},
        {END(2, REASON("failed") ",\"error\":\"no luck\""), false, "answer no luck\n"},
        {END(2, REASON("something") ",\"error\":\"no luck\""), false, "answer no luck\n"},
        {END(2, REASON("failed")), true, "answer cancelled\n"},
        {END(2, ""), false, "answer the agent was stopped before its turn ended\n"},
        {"{\"event\":\"end\"}", false, ""},
        {END(9, REASON("end_turn")), false, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct editor editor;
        begin(&editor);
        (void)add_prompt(&editor, S ":1");
        add_prompt(&editor, S ":2")->cancelled = rows[i].cancelled;
        (void)add_prompt(&editor, S ":3");
        event(&editor, PROMPT(2), NULL);
        free(sent(&editor));
        event(&editor, rows[i].end, NULL);
        _cleanup_free_ char *text = sent(&editor);
        const char *answer = strstr(text, "answer"); /* an error is shown before */
        CHECK_STR(answer != NULL ? answer : "", rows[i].want);
        CHECK_INT(answer != NULL && answer > text, strstr(rows[i].end, "no luck") != NULL);
        bool ended = rows[i].want[0] != '\0';
        CHECK_INT(editor.pending_count, ended ? 2 : 3);
        CHECK(ended == (editor.running == NULL));
        end(&editor);
    }
}

#define PERMISSION(plan, name)                                                                     \
    "{\"event\":\"permission\",\"permission\":\"" S                                                \
    ":5\",\"title\":\"A plan\",\"kind\":\"other\"," plan                                           \
    "\"options\":[{\"id\":\"no\",\"name\":\"No\",\"kind\":\"reject_once\"},"                       \
    "{\"id\":\"go\",\"name\":\"" name "\",\"kind\":\"allow_once\"}]}"
#define PERMITTED(option)                                                                          \
    "{\"event\":\"permitted\",\"permission\":\"" S ":5\",\"option\":\"" option "\"}"

/* A plan that is carried out in a new context: its turn ends as cancelled, and the prompt that
 * follows is the same one for the editor. */
TEST(a_plan_that_clears_the_context_goes_on_in_the_same_turn)
{
    static const struct {
        const char *plan, *permitted, *end;
        bool cancelled, follows;
    } rows[] = {
        {PERMISSION("\"plan\":true,", "Clear the context"), PERMITTED("go"),
         END(1, REASON("cancelled")), false, true},
        {PERMISSION("\"plan\":true,", "Clear the context"), PERMITTED("go"),
         END(1, REASON("cancelled")), true, false},
        {PERMISSION("\"plan\":true,", "Clear the context"), PERMITTED("go"),
         END(1, REASON("end_turn")), false, false},
        {PERMISSION("\"plan\":true,", "Clear the context"), PERMITTED("no"),
         END(1, REASON("cancelled")), false, false},
        {PERMISSION("\"plan\":true,", "Clear the context"), PERMITTED("other"),
         END(1, REASON("cancelled")), false, false},
        {PERMISSION("\"plan\":true,", "Go on"), PERMITTED("go"), END(1, REASON("cancelled")), false,
         false},
        {PERMISSION("", "Clear the context"), PERMITTED("go"), END(1, REASON("cancelled")), false,
         false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct editor editor;
        begin(&editor);
        struct pending_request *pending = add_prompt(&editor, S ":1");
        struct pending_request *next = add_prompt(&editor, S ":2"); /* it waits for its turn */
        event(&editor, PROMPT(1), NULL);
        event(&editor, rows[i].plan, NULL);
        CHECK_INT(editor.permission_count, 1);
        event(&editor, rows[i].permitted, NULL);
        CHECK_INT(editor.permission_count, 0);
        pending->cancelled = rows[i].cancelled;
        free(sent(&editor));
        event(&editor, rows[i].end, NULL);
        if (!CHECK_INT(editor.pending_count, rows[i].follows ? 2 : 1))
            printf("# row %zu\n", i);
        CHECK(next->step == STEP_RUNS);
        if (rows[i].follows) {
            CHECK_SENT("");
            CHECK(pending->step == STEP_FOLLOWS && pending->until > time_monotonic_ms());
            event(&editor, "{\"event\":\"prompt\",\"prompt\":\"" S ":7\"}", "the plan");
            CHECK(pending->step == STEP_RUNS);
            free(sent(&editor));
            event(&editor, END(7, REASON("end_turn")), NULL);
            CHECK_SENT("answer end_turn\n");
        }
        end(&editor);
    }
}

/* One that waits for the prompt of its plan in vain ends; others that wait are refused in time. */
TEST(nothing_waits_for_ever)
{
    struct editor editor;
    begin(&editor);
    int64_t now = time_monotonic_ms();
    struct pending_request *follows = add_prompt(&editor, S ":1");
    struct pending_request *runs = add_prompt(&editor, S ":2");
    struct pending_request *waits = add_prompt(&editor, S ":3");

    follows->step = STEP_FOLLOWS;
    follows->until = now + 1000;
    runs->until = now - 1;
    waits->step = STEP_WAITS;
    waits->until = now + 500;
    CHECK(editor_waits(&editor));
    CHECK_INT(editor_pending_tick(&editor, now), now + 500);
    CHECK_SENT("");
    CHECK_INT(editor_pending_tick(&editor, now + 499), now + 500);
    CHECK_INT(editor_pending_tick(&editor, now + 500), now + 1000);
    CHECK_SENT("answer the host of agent 'w1' is not running (start it again with: mas restart " S
               " w1)\n");
    CHECK(!editor_waits(&editor));
    CHECK_INT(editor_pending_tick(&editor, now + 1000), -1);
    CHECK_SENT("answer cancelled\n");
    CHECK_INT(editor.pending_count, 1);
    /* the host has gone: what it had is lost, and what waits for it goes on waiting */
    waits = add_prompt(&editor, S ":4");
    waits->step = STEP_WAITS;
    editor_lost(&editor);
    CHECK_SENT("answer the host of agent 'w1' has ended (the host has accepted the prompt, see: "
               "mas history " S " w1)\n");
    CHECK_INT(editor.pending_count, 1);
    CHECK(editor.pending[0] == waits);
    end(&editor);
}

#define CHUNK(type, number, at)                                                                    \
    "{\"event\":\"" type "\",\"message\":\"" S ":" #number "\",\"at\":" #at "}"

/* A text comes in pieces, and what the editor has seen is not told again. */
TEST(each_piece_is_told_once)
{
    struct editor editor;
    begin(&editor);

    event(&editor, "{\"event\":\"prompt\",\"prompt\":\"" S ":4\",\"from\":\"lead\"}", "do it");
    CHECK_SENT("user_message_chunk From lead: \nuser_message_chunk do it\n");
    event(&editor, "{\"event\":\"prompt\",\"prompt\":\"" S ":4\",\"from\":\"lead\"}", "do it");
    CHECK_SENT("");
    event(&editor, CHUNK("text", 5, 0), "abc");
    event(&editor, CHUNK("text", 5, 3), "def");
    CHECK_SENT("agent_message_chunk abc\nagent_message_chunk def\n");
    event(&editor, CHUNK("text", 5, 0), "abcdef");
    CHECK_SENT("");
    event(&editor, CHUNK("text", 5, 4), "efgh");
    CHECK_SENT("agent_message_chunk gh\n");
    event(&editor, CHUNK("thought", 6, 0), "hm");
    CHECK_SENT("agent_thought_chunk hm\n");
    editor.sessions[0]->seen = 9; /* read from the store meanwhile */
    event(&editor, CHUNK("text", 9, 0), "known");
    event(&editor, CHUNK("text", 10, 0), "new");
    CHECK_SENT("agent_message_chunk new\n");
    /* of a conversation that the editor has not opened nothing is told */
    event(&editor,
          "{\"event\":\"conversation\",\"conversation\":\"550e8400-e29b-41d4-a716-446655440009\"}",
          NULL);
    event(&editor, CHUNK("text", 11, 0), "other");
    event(&editor, "{\"event\":\"note\",\"message\":\"" S ":12\"}", "a note");
    event(&editor, "{\"event\":\"title\",\"title\":\"t\"}", NULL);
    event(&editor, "{\"event\":\"mode\",\"mode\":\"plan\"}", NULL);
    CHECK_SENT("");
    end(&editor);
}

#define TOOL(id, number, more)                                                                     \
    "{\"event\":\"tool\",\"id\":\"" id "\",\"message\":\"" S ":" #number "\"" more "}"

/* The ids of an agent come again in other turns. */
TEST(tools_modes_and_titles_are_told_when_they_change)
{
    struct editor editor;
    begin(&editor);

    event(&editor, TOOL("a", 3, ",\"title\":\"Read\",\"kind\":\"read\",\"status\":\"pending\""),
          NULL);
    CHECK_SENT("tool_call tool-3 Read pending\n");
    event(&editor, TOOL("a", 3, ",\"status\":\"completed\""), NULL);
    CHECK_SENT("tool_call_update tool-3 completed\n");
    event(&editor, TOOL("b", 4, ",\"title\":\"Two\",\"status\":\"pending\""), NULL);
    CHECK_SENT("tool_call tool-4 Two pending\n");
    event(&editor, TOOL("a", 5, ",\"status\":\"failed\""), NULL); /* stored anew */
    CHECK_SENT("tool_call_update tool-3 failed\n");
    event(&editor, PROMPT(6), "");
    free(sent(&editor));
    event(&editor, TOOL("a", 7, ",\"title\":\"Again\",\"status\":\"pending\""), NULL);
    CHECK_SENT("tool_call tool-7 Again pending\n");
    event(&editor, "{\"event\":\"tool\",\"id\":\"c\",\"title\":\"not stored\"}", NULL);
    CHECK_SENT("");
    event(&editor, "{\"event\":\"mode\",\"mode\":\"plan\"}", NULL);
    event(&editor, "{\"event\":\"mode\",\"mode\":\"plan\"}", NULL);
    event(&editor, "{\"event\":\"mode\",\"mode\":\"\"}", NULL);
    event(&editor, "{\"event\":\"mode\",\"mode\":\"code\"}", NULL);
    CHECK_SENT("current_mode_update plan\ncurrent_mode_update code\n");
    event(&editor, "{\"event\":\"title\",\"title\":\"New\"}", NULL);
    CHECK_SENT("session_info_update New\n");
    event(&editor, "{\"event\":\"usage\",\"used\":1,\"size\":0}", NULL);
    CHECK_SENT("");
    event(&editor, "{\"event\":\"usage\",\"used\":1,\"size\":2}", NULL);
    CHECK_SENT("usage_update\n");
    event(&editor, "{\"event\":\"query\",\"reason\":\"conversation\"}", NULL);
    CHECK_SENT("");
    end(&editor);
}
