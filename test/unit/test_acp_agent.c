#include "unit.h"

#include "protocol/acp_agent.h"

static const struct acp_agent_self self = {"mas", "mas team", "1.2"};

/* What was told, one a line. */
struct editor {
    struct acp_agent *agent;
    struct str notes;
    char ticket[32]; /* of the last request */
};

static void note(struct str *to, const char *name, const char *value)
{
    if (value != NULL)
        str_addf(to, " %s=%s", name, value);
}

static void on_request(void *arg, const struct editor_request *request)
{
    struct editor *f = arg;

    str_addf(&f->notes, "request %d", (int)request->call);
    note(&f->notes, "session", request->session);
    note(&f->notes, "cwd", request->cwd);
    note(&f->notes, "cursor", request->cursor);
    note(&f->notes, "mode", request->mode);
    note(&f->notes, "option", request->option);
    note(&f->notes, "value", request->value);
    note(&f->notes, "text", request->text);
    str_addc(&f->notes, '\n');
    (void)snprintf(f->ticket, sizeof f->ticket, "%s", request->ticket);
}

static void on_cancel(void *arg, const char *session)
{
    struct editor *f = arg;
    str_addf(&f->notes, "cancel %s\n", session);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct editor *f = arg;
    str_addf(&f->notes, "withdrawn %d\n", strcmp(ticket, f->ticket) == 0);
}

static void on_permitted(void *arg, int64_t serial, const char *option, const struct json *answers)
{
    struct editor *f = arg;
    str_addf(&f->notes, "permitted %lld %s%s\n", (long long)serial, option != NULL ? option : "-",
             answers != NULL ? " with answers" : "");
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct editor *f = arg;
    (void)why;
    str_addf(&f->notes, "garbage %.*s\n", (int)(len < 20 ? len : 20), bytes);
}

static const struct acp_agent_ops ops = {
    .request = on_request,
    .cancel = on_cancel,
    .withdrawn = on_withdrawn,
    .permitted = on_permitted,
    .garbage = on_garbage,
};

static void feed(struct editor *f, const char *text)
{
    acp_agent_feed(f->agent, text, strlen(text));
}

/* A request or, with id NULL, a notification. */
static void say(struct editor *f, const char *id, const char *method, const char *params)
{
    _cleanup_free_ char *line =
        id != NULL
            ? mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}\n", id,
                         method, params)
            : mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}\n", method, params);
    feed(f, line);
}

/* What was sent since the last time. */
static void check_sent(struct editor *f, const char *want)
{
    size_t len = 0;
    const char *out = acp_agent_out(f->agent, &len);
    _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);

    CHECK_STR(text, want);
    acp_agent_sent(f->agent, len);
}

static void check_error(struct editor *f, const char *id, int code, const char *message)
{
    _cleanup_free_ char *want =
        mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n",
                   id, code, message);
    check_sent(f, want);
}

static void check_told(struct editor *f, const char *fmt, int call)
{
    _cleanup_free_ char *want = call == -1 ? mem_dup(fmt) : mem_printf("request %d%s\n", call, fmt);
    CHECK_STR(str_text(&f->notes), want);
    str_clear(&f->notes);
}

static void begin_raw(struct editor *f)
{
    *f = (struct editor){.notes = STR_INIT};
    f->agent = acp_agent_new(&ops, f, &self);
}

static void begin(struct editor *f)
{
    size_t len = 0;

    begin_raw(f);
    say(f, "0", "initialize", "{\"protocolVersion\":1}");
    (void)acp_agent_out(f->agent, &len);
    acp_agent_sent(f->agent, len);
}

static void end(struct editor *f)
{
    acp_agent_free(f->agent);
    str_free(&f->notes);
}

TEST(initialize_comes_first_and_says_what_there_is)
{
    struct editor f;

    begin_raw(&f);
    say(&f, "1", "session/new", "{\"cwd\":\"/\"}");
    check_error(&f, "1", -32600, "call initialize first");
    say(&f, NULL, "session/cancel", "{\"sessionId\":\"s\"}");
    say(&f, "2", "initialize", "{\"protocolVersion\":\"1\"}");
    check_error(&f, "2", -32602, "protocolVersion is missing");
    say(&f, "3", "initialize", "{}");
    check_error(&f, "3", -32602, "protocolVersion is missing");
    say(&f, "4", "session/list", "{}");
    check_error(&f, "4", -32600, "call initialize first");
    say(&f, "5", "initialize", "{\"protocolVersion\":7}");
    check_sent(&f, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"protocolVersion\":1,"
                   "\"agentCapabilities\":{\"loadSession\":true,\"promptCapabilities\":{\"image\":"
                   "true,\"audio\":false,\"embeddedContext\":true},\"mcpCapabilities\":{\"http\":"
                   "false,\"sse\":false},\"sessionCapabilities\":{\"list\":{},\"resume\":{},"
                   "\"close\":{}}},\"agentInfo\":{\"name\":\"mas\",\"title\":\"mas team\","
                   "\"version\":\"1.2\"},\"authMethods\":[]}}\n");
    check_told(&f, "", -1);
    end(&f);
}

TEST(requests_are_told_whole)
{
    struct editor f;

    begin(&f);
    say(&f, "1", "session/new", "{\"cwd\":\"/a\",\"mcpServers\":[]}");
    check_told(&f, " cwd=/a", ACP_CALL_NEW);
    say(&f, "2", "session/load", "{\"sessionId\":\"s\",\"cwd\":\"/a\"}");
    check_told(&f, " session=s cwd=/a", ACP_CALL_LOAD);
    say(&f, "3", "session/resume", "{\"sessionId\":\"s\",\"cwd\":\"/a\"}");
    check_told(&f, " session=s cwd=/a", ACP_CALL_RESUME);
    say(&f, "4", "session/close", "{\"sessionId\":\"s\"}");
    check_told(&f, " session=s", ACP_CALL_CLOSE);
    say(&f, "5", "session/list", "{\"cursor\":\"c\"}");
    check_told(&f, " cursor=c", ACP_CALL_LIST);
    say(&f, "6", "session/set_mode", "{\"sessionId\":\"s\",\"modeId\":\"m\"}");
    check_told(&f, " session=s mode=m", ACP_CALL_SET_MODE);
    say(&f, "7", "session/set_config_option",
        "{\"sessionId\":\"s\",\"configId\":\"o\",\"value\":\"v\"}");
    check_told(&f, " session=s option=o value=v", ACP_CALL_SET_OPTION);
    say(&f, "8", "session/set_config_option",
        "{\"sessionId\":\"s\",\"configId\":\"o\",\"type\":\"boolean\",\"value\":false}");
    check_told(&f, " session=s option=o value=false", ACP_CALL_SET_OPTION);
    check_sent(&f, "");
    end(&f);
}

TEST(what_lacks_a_member_is_refused)
{
    static const char *const bad[][3] = {
        {"session/new", "{}", "cwd is not an absolute path"},
        {"session/new", "{\"cwd\":\"a\"}", "cwd is not an absolute path"},
        {"session/new", "{\"cwd\":[\"/a\"]}", "cwd is not an absolute path"},
        {"session/new", "[\"/a\"]", "cwd is not an absolute path"},
        {"session/load", "{\"cwd\":\"/a\"}", "sessionId is missing"},
        {"session/load", "{\"sessionId\":\"\",\"cwd\":\"/a\"}", "sessionId is missing"},
        {"session/load", "{\"sessionId\":5,\"cwd\":\"/a\"}", "sessionId is missing"},
        {"session/resume", "{\"sessionId\":\"s\"}", "cwd is not an absolute path"},
        {"session/close", "{\"SessionId\":\"s\"}", "sessionId is missing"},
        {"session/set_mode", "{\"sessionId\":\"s\",\"modeId\":null}", "modeId is missing"},
        {"session/set_config_option", "{\"sessionId\":\"s\",\"configId\":\"o\"}",
         "configId or value is missing"},
        {"session/set_config_option", "{\"sessionId\":\"s\",\"configId\":\"o\",\"value\":{}}",
         "configId or value is missing"},
        {"session/prompt", "{\"sessionId\":\"s\"}", "the prompt is not an array of content blocks"},
        {"session/prompt", "{\"sessionId\":\"s\",\"prompt\":\"x\"}",
         "the prompt is not an array of content blocks"},
        {"session/prompt", "{\"sessionId\":\"s\",\"prompt\":[]}", "the prompt is empty"},
        {"session/prompt", "{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"\"}]}",
         "the prompt is empty"},
        {"session/prompt", "{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"image\",\"data\":5}]}",
         "a prompt may contain only text, links, embedded text and images"},
        {"session/prompt", "{\"sessionId\":\"s\",\"prompt\":[5]}",
         "a prompt may contain only text, links, embedded text and images"},
        {"session/prompt",
         "{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"resource\",\"resource\":{\"blob\":\"\"}}]}",
         "a prompt may contain only text, links, embedded text and images"},
    };
    struct editor f;

    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        say(&f, "1", bad[i][0], bad[i][1]);
        check_error(&f, "1", -32602, bad[i][2]);
    }
    say(&f, "2", "session/fork", "{}");
    check_error(&f, "2", -32601, "method not found");
    check_told(&f, "", -1);
    end(&f);
}

TEST(blocks_become_one_text_with_what_is_embedded_behind)
{
    struct editor f;

    begin(&f);
    say(&f, "1", "session/prompt",
        "{\"sessionId\":\"s\",\"prompt\":["
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"text\":\"B\\r\\nB\"}},"
        "{\"type\":\"text\",\"text\":\"see \"},"
        "{\"type\":\"resource_link\",\"name\":\"a.c\",\"uri\":\"file:///a.c\"},"
        "{\"type\":\"resource_link\",\"uri\":\"file:///d\"},"
        "{\"type\":\"text\",\"text\":\"\\r\\nnow\\r\"}]}");
    check_told(&f,
               " session=s text=see [@a.c](file:///a.c)[@file:///d](file:///d)\nnow\r\n"
               "<context uri=\"file:///b\">\nB\nB\n</context>",
               ACP_CALL_PROMPT);
    end(&f);
}

TEST(a_prompt_has_a_limit)
{
    struct editor f;

    begin(&f);
    for (int more = 0; more < 2; more++) {
        size_t len = ACP_AGENT_PROMPT_MAX + (size_t)more;
        _cleanup_free_ char *text = malloc(len + 1);
        REQUIRE(text != NULL);
        memset(text, 'x', len);
        text[len] = '\0';
        _cleanup_free_ char *params = mem_printf(
            "{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);
        say(&f, "1", "session/prompt", params);
        CHECK((f.notes.len > 0) == (more == 0));
        str_clear(&f.notes);
        if (more == 1)
            check_error(&f, "1", -32602, "the prompt is too long");
        else
            CHECK(acp_agent_refuse(f.agent, f.ticket, -1, "x"));
        size_t sent = 0;
        (void)acp_agent_out(f.agent, &sent);
        acp_agent_sent(f.agent, sent);
    }
    end(&f);
}

TEST(a_request_is_answered_once_with_its_own_id)
{
    static const char *const ids[] = {"7", "-0.5e1", "98765432109876543210", "\"x y\"", "\"\""};
    struct editor f;

    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        _cleanup_free_ char *want =
            mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1}}\n", ids[i]);
        say(&f, ids[i], "session/close", "{\"sessionId\":\"s\"}");
        CHECK(acp_agent_answer(f.agent, f.ticket, "{\"a\":1}"));
        CHECK(!acp_agent_answer(f.agent, f.ticket, NULL));
        CHECK(!acp_agent_refuse(f.agent, f.ticket, -1, "x"));
        check_sent(&f, want);
    }
    CHECK(!acp_agent_answer(f.agent, "", NULL));
    CHECK(!acp_agent_answer(f.agent, "999", NULL));
    end(&f);
}

TEST(answers_may_come_in_any_order_and_requests_be_taken_back)
{
    char first[32];
    struct editor f;

    begin(&f);
    say(&f, "\"a\"", "session/close", "{\"sessionId\":\"s\"}");
    memcpy(first, f.ticket, sizeof first);
    say(&f, "\"b\"", "session/close", "{\"sessionId\":\"s\"}");
    str_clear(&f.notes);
    say(&f, NULL, "$/cancel_request", "{\"requestId\":\"b\"}");
    check_told(&f, "withdrawn 1\n", -1);
    say(&f, NULL, "$/cancel_request", "{\"requestId\":\"c\"}");
    say(&f, NULL, "$/cancel_request", "{\"requestId\":[]}");
    say(&f, NULL, "$/cancel_request", "5");
    say(&f, NULL, "session/cancel", "{\"sessionId\":5}");
    check_told(&f, "", -1);
    say(&f, NULL, "session/cancel", "{\"sessionId\":\"s\"}");
    check_told(&f, "cancel s\n", -1);
    CHECK(acp_agent_refuse(f.agent, f.ticket, -32800, "taken back"));
    check_error(&f, "\"b\"", -32800, "taken back");
    CHECK(acp_agent_answer(f.agent, first, NULL));
    check_sent(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n");
    end(&f);
}

#define UPDATE(rest)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/"                                                   \
    "update\",\"params\":{\"sessionId\":\"s\",\"update\""                                          \
    ":{\"sessionUpdate\":" rest "}}}\n"

TEST(an_update_of_a_tool_has_what_is_new)
{
    struct acp_agent_tool tool = {.id = "t", .title = "run", .kind = "execute"};
    struct editor f;

    begin(&f);
    acp_agent_tool(f.agent, "s", &tool);
    check_sent(&f, UPDATE("\"tool_call\",\"toolCallId\":\"t\",\"title\":\"run\",\"kind\":"
                          "\"execute\",\"status\":\"pending\""));
    tool = (struct acp_agent_tool){.id = "t", .known = true, .status = "completed"};
    acp_agent_tool(f.agent, "s", &tool);
    check_sent(&f, UPDATE("\"tool_call_update\",\"toolCallId\":\"t\",\"status\":\"completed\""));
    tool = (struct acp_agent_tool){.id = "t", .known = true, .text = "out", .len = 3};
    acp_agent_tool(f.agent, "s", &tool);
    check_sent(&f, UPDATE("\"tool_call_update\",\"toolCallId\":\"t\",\"content\":[{\"type\":"
                          "\"content\",\"content\":{\"type\":\"text\",\"text\":\"out\"}}]"));
    tool = (struct acp_agent_tool){.id = "u", .kind = "dance", .status = "asleep"};
    acp_agent_tool(f.agent, "s", &tool);
    check_sent(&f, UPDATE("\"tool_call\",\"toolCallId\":\"u\",\"title\":\"\",\"kind\":\"other\","
                          "\"status\":\"pending\""));
    end(&f);
}

TEST(a_permission_is_answered_by_an_option_or_by_none)
{
    static const char *const answers[][2] = {
        {"\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"yes\"}}", "yes"},
        {"\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}", "-"},
        {"\"result\":{\"outcome\":{\"outcome\":\"cancelled\",\"optionId\":\"yes\"}}", "-"},
        {"\"result\":{\"outcome\":{\"outcome\":\"selected\"}}", "-"},
        {"\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":7}}", "-"},
        {"\"result\":null", "-"},
        {"\"result\":[]", "-"},
        {"\"error\":{\"code\":-32601,\"message\":\"no\"}", "-"},
    };
    static const struct acp_agent_tool tool = {.id = "t", .title = "run"};
    static const struct word options[] = {{.id = (char *)(uintptr_t) "yes",
                                           .name = (char *)(uintptr_t) "Yes",
                                           .kind = (char *)(uintptr_t) "allow_once"}};
    struct editor f;

    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        size_t len = 0;
        long long serial = acp_agent_ask_permission(f.agent, "s", &tool, options, 1);
        (void)acp_agent_out(f.agent, &len);
        acp_agent_sent(f.agent, len);
        _cleanup_free_ char *line =
            mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}\n", serial, answers[i][0]);
        _cleanup_free_ char *want = mem_printf("permitted %lld %s\n", serial, answers[i][1]);
        feed(&f, line);
        check_told(&f, want, -1);
        feed(&f, line); /* a second answer is nobody's */
        check_told(&f, "", -1);
    }
    long long serial = acp_agent_ask_permission(f.agent, "s", &tool, options, 1);
    size_t len = 0;
    (void)acp_agent_out(f.agent, &len);
    acp_agent_sent(f.agent, len);
    acp_agent_withdraw(f.agent, serial);
    _cleanup_free_ char *taken = mem_printf(
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":%lld}}\n",
        serial);
    check_sent(&f, taken);
    _cleanup_free_ char *late =
        mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}\n", serial, answers[0][0]);
    feed(&f, late);
    check_told(&f, "", -1);
    end(&f);
}

TEST(lines_have_a_limit_and_garbage_is_told)
{
    _cleanup_free_ char *piece = malloc(1 << 20);
    struct editor f;

    REQUIRE(piece != NULL);
    memset(piece, 'x', 1 << 20);
    begin(&f);
    feed(&f, "no message\n\n[]\n");
    check_told(&f, "garbage no message\ngarbage []\n", -1);
    feed(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (size_t fed = 0; fed <= ACP_AGENT_LINE_MAX; fed += 1 << 20)
        acp_agent_feed(f.agent, piece, 1 << 20);
    feed(&f, "\"}\n");
    check_error(&f, "null", -32700, "the message is too long");
    str_clear(&f.notes);
    say(&f, "2", "session/close", "{\"sessionId\":\"s\"}");
    check_told(&f, " session=s", ACP_CALL_CLOSE);
    end(&f);
}

TEST(a_client_that_reads_nothing_is_known)
{
    _cleanup_free_ char *piece = malloc(1 << 20);
    struct editor f;

    REQUIRE(piece != NULL);
    memset(piece, 'x', 1 << 20);
    begin(&f);
    for (size_t told = 0; told < ACP_AGENT_OUT_MAX; told += 1 << 20) {
        CHECK(!acp_agent_is_stuck(f.agent));
        acp_agent_chunk(f.agent, "s", ACP_TEXT, NULL, piece, 1 << 20);
    }
    CHECK(acp_agent_is_stuck(f.agent));
    end(&f);
}
