#include "unit.h"

#include "protocol/mcp.h"

static const struct model_tool send_tool = {
    "send",
    "Send",
    "Sends",
    .params = PARAMS({"text", PARAM_LONG, true, .help = "what", .max = 10},
                     {"n", PARAM_NUMBER, .help = "how often", .min = 1, .max = 5},
                     {"word", PARAM_WORD, .help = "which", .words = "idle, exit"}),
};
static const struct model_tool list_tool = {"list", "List", "Lists", .reads = true};
static const struct model_tool *const tools[] = {&send_tool, &list_tool};
static const struct mcp_self self = {"mas", "mas team", "1.2", "be kind"};

/* What was told, one a line, and how calls are to be ended. */
struct server {
    struct mcp *mcp;
    struct str notes;
    bool answers; /* at once */
    char ticket[32]; /* of the last call */
};

static void on_call(void *arg, const char *ticket, const struct model_tool *tool,
                    const struct json *arguments)
{
    struct server *s = arg;
    struct json_out out = {.to = &s->notes};

    str_addf(&s->notes, "call %s ", tool->name);
    json_put_node(&out, NULL, arguments);
    str_addc(&s->notes, '\n');
    (void)snprintf(s->ticket, sizeof s->ticket, "%s", ticket);
    if (s->answers)
        mcp_result(s->mcp, ticket, "done", "{\"a\":1}", false);
}

static void on_cancelled(void *arg, const char *ticket)
{
    struct server *s = arg;
    str_addf(&s->notes, "cancelled %d\n", strcmp(ticket, s->ticket) == 0);
}

static const struct mcp_ops ops = {.call = on_call, .cancelled = on_cancelled};

static void feed(struct server *s, const char *text)
{
    mcp_feed(s->mcp, text, strlen(text));
}

static void begin(struct server *s)
{
    *s = (struct server){.notes = STR_INIT};
    s->mcp = mcp_new(&ops, s, &self, tools, ARRAY_LEN(tools));
}

/* What was sent since the last time. */
static void check_sent(struct server *s, const char *want)
{
    size_t len = 0;
    const char *out = mcp_out(s->mcp, &len);
    _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);

    CHECK_STR(text, want);
    mcp_sent(s->mcp, len);
}

static void check_told(struct server *s, const char *want)
{
    CHECK_STR(str_text(&s->notes), want);
    str_clear(&s->notes);
}

static void begin_old(struct server *s)
{
    size_t len = 0;

    begin(s);
    feed(s, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
            "\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n");
    (void)mcp_out(s->mcp, &len);
    mcp_sent(s->mcp, len);
}

static void end(struct server *s)
{
    mcp_free(s->mcp);
    str_free(&s->notes);
}

#define ERROR(id, code, message)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message       \
    "\"}}\n"
#define RESULT(id, rest)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":" rest "}}\n"

TEST(the_handshake_agrees_on_a_revision)
{
    static const char *const asked[][2] = {
        {"\"2025-11-25\"", "2025-11-25"}, {"\"2025-06-18\"", "2025-06-18"},
        {"\"2024-11-05\"", "2024-11-05"}, {"\"1999-01-01\"", "2025-11-25"},
        {"\"2026-07-28\"", "2025-11-25"}, {"7", "2025-11-25"}};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        struct server s;
        begin(&s);
        _cleanup_free_ char *hello = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                                                "\"initialize\",\"params\":{\"protocolVersion\":%s}"
                                                "}\n",
                                                asked[i][0]);
        _cleanup_free_ char *want =
            mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"%s\","
                       "\"serverInfo\":{\"name\":\"mas\",\"title\":\"mas team\",\"version\":"
                       "\"1.2\"},\"capabilities\":{\"tools\":{}},\"instructions\":\"be kind\"}}\n",
                       asked[i][1]);
        feed(&s, hello);
        check_sent(&s, want);
        end(&s);
    }
}

TEST(nothing_but_ping_comes_before_it)
{
    struct server s;

    begin(&s);
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    check_sent(&s, ERROR("1", "-32600", "call initialize first"));
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"list\"}}\n");
    check_sent(&s, ERROR("2", "-32600", "call initialize first"));
    check_told(&s, "");
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n");
    check_sent(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n");
    end(&s);
}

TEST(ids_come_back_as_they_were)
{
    static const char *const ids[] = {
        "0",    "-1", "1.50", "123456789012345678901234567890", "1e400", "\"\"", "\"a\\u00e4\\n\"",
        "\"7\""};
    struct server s;

    begin_old(&s);
    s.answers = true;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        _cleanup_free_ char *call = mem_printf(
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"list\"}}\n",
            ids[i]);
        size_t len = 0;
        feed(&s, call);
        const char *out = mcp_out(s.mcp, &len);
        _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);
        const char *id = strstr(text, "\"id\":");
        REQUIRE(id != NULL);
        /* a text may be escaped in another way, a number may not change at all */
        if (ids[i][0] == '"')
            CHECK(id[5] == '"');
        else
            CHECK(strncmp(id + 5, ids[i], strlen(ids[i])) == 0 && id[5 + strlen(ids[i])] == ',');
        mcp_sent(s.mcp, len);
    }
    end(&s);
}

TEST(arguments_are_held_to_the_row)
{
    static const char *const bad[][2] = {
        {"{}", "'text' is missing"},
        {"{\"text\":1}", "'text' is not a string"},
        {"{\"text\":null}", "'text' is not a string"},
        {"{\"text\":\"\"}", "'text' is empty"},
        {"{\"text\":\"12345678901\"}", "'text' is longer than 10 bytes"},
        {"{\"text\":\"a\",\"n\":0}", "'n' is not a number from 1 to 5"},
        {"{\"text\":\"a\",\"n\":6}", "'n' is not a number from 1 to 5"},
        {"{\"text\":\"a\",\"n\":1.5}", "'n' is not a number from 1 to 5"},
        {"{\"text\":\"a\",\"n\":\"1\"}", "'n' is not a number from 1 to 5"},
        {"{\"text\":\"a\",\"n\":1e30}", "'n' is not a number from 1 to 5"},
        {"{\"text\":\"a\",\"word\":\"gone\"}", "'word' is none of its words"},
        {"{\"text\":\"a\",\"Text\":\"b\"}", "unknown argument 'Text'"},
        {"[\"a\"]", "the arguments are not an object"},
        {"\"a\"", "the arguments are not an object"},
    };
    struct server s;

    begin_old(&s);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_free_ char *call = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                                               "call\",\"params\":{\"name\":\"send\",\"arguments\":"
                                               "%s}}\n",
                                               bad[i][0]);
        _cleanup_free_ char *want = mem_printf(RESULT("1", "\"%s\"}],\"isError\":true"), bad[i][1]);
        feed(&s, call);
        check_sent(&s, want);
    }
    check_told(&s, "");
    feed(&s,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"send\","
         "\"arguments\":{\"text\":\"1234567890\",\"n\":5,\"word\":\"exit\"}}}\n");
    check_told(&s, "call send {\"text\":\"1234567890\",\"n\":5,\"word\":\"exit\"}\n");
    check_sent(&s, ""); /* not before it is ended */
    mcp_result(s.mcp, s.ticket, "ok", NULL, false);
    check_sent(&s, RESULT("1", "\"ok\"}],\"isError\":false"));
    mcp_result(s.mcp, s.ticket, "again", NULL, false);
    check_sent(&s, "");
    end(&s);
}

TEST(a_tool_that_is_not_there_is_an_error_of_the_protocol)
{
    struct server s;

    begin_old(&s);
    feed(&s,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}\n");
    check_sent(&s, ERROR("1", "-32602", "unknown tool 'rm'"));
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":5}}\n");
    check_sent(&s, ERROR("2", "-32602", "unknown tool ''"));
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\"}\n");
    check_sent(&s, ERROR("3", "-32602", "unknown tool ''"));
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/list\"}\n");
    check_sent(&s, ERROR("4", "-32601", "method not found"));
    feed(
        &s,
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}\n");
    check_sent(&s, ERROR("5", "-32602", "unknown cursor"));
    feed(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"list\"}}\n");
    check_sent(&s, ""); /* a notification asks for nothing */
    check_told(&s, "");
    end(&s);
}

TEST(a_call_that_is_taken_back_is_not_answered)
{
    struct server s;

    begin_old(&s);
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"list\"}}\n");
    check_told(&s, "call list null\n");
    feed(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":\"y\"}}\n"
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":{}}}\n"
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n");
    check_told(&s, "");
    feed(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":\"x\"}}\n");
    check_told(&s, "cancelled 1\n");
    mcp_result(s.mcp, s.ticket, "late", NULL, false);
    check_sent(&s, "");
    end(&s);
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define SERVER                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"mas\",\"title\":\"mas team\","  \
    "\"version\":\"1.2\"}}"

TEST(the_newest_revision_needs_no_handshake)
{
    struct server s;

    begin(&s);
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"list\"," META "}}\n");
    check_told(&s, "call list null\n");
    mcp_result(s.mcp, s.ticket, "ok", NULL, false);
    check_sent(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"," SERVER
                   ",\"content\":[{\"type\":\"text\",\"text\":\"ok\"}],\"isError\":false}}\n");
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\"}}}\n");
    check_sent(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32022,\"message\":"
                   "\"unsupported protocol version\",\"data\":{\"supported\":["
                   "\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"],"
                   "\"requested\":\"2030-01-01\"}}}\n");
    /* one that does not name it still has to shake hands */
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n");
    check_sent(&s, ERROR("3", "-32600", "call initialize first"));
    end(&s);
}

TEST(bytes_may_come_one_by_one_and_many_at_once)
{
    static const char two[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n"
                              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
    static const char want[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n";
    struct server s;

    begin_old(&s);
    for (size_t i = 0; i < sizeof two - 1; i++)
        mcp_feed(s.mcp, two + i, 1);
    check_sent(&s, want);
    feed(&s, two);
    check_sent(&s, want);
    end(&s);
}

TEST(a_batch_is_refused_and_what_is_no_message_is_skipped)
{
    struct server s;

    begin_old(&s);
    feed(&s, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n");
    check_sent(&s,
               ERROR("null", "-32600", "batches are not supported: send each message by itself"));
    feed(&s, "[]\n[1]\n[INFO] hello\nhello\n7\n\"x\"\nnull\n{}\n");
    check_sent(&s, "");
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}\n");
    check_sent(&s, ERROR("null", "-32700", "line 1, column 25: duplicate key 'id' in an object"));
    end(&s);
}

TEST(a_message_that_is_too_long_is_refused_and_skipped)
{
    _cleanup_free_ char *piece = malloc(1 << 20);
    struct server s;

    REQUIRE(piece != NULL);
    memset(piece, 'x', 1 << 20);
    begin_old(&s);
    feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (size_t fed = 0; fed <= MCP_LINE_MAX; fed += 1 << 20)
        mcp_feed(s.mcp, piece, 1 << 20);
    feed(&s, "\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    check_sent(&s,
               ERROR("null", "-32700",
                     "the message is too long") "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
    CHECK(!mcp_is_stuck(s.mcp));
    end(&s);
}
