/* What mas, as an agent, tells an editor: each message as it is written. */
#include "unit.h"

#include "model/money.h"
#include "protocol/acp_agent.h"

static const struct acp_agent_self self = {"mas", "mas team", "1.2"};

static void on_request(void *arg, const struct editor_request *request)
{
    (void)arg, (void)request;
}

static void on_words(void *arg, const char *words)
{
    (void)arg, (void)words;
}

static void on_permitted(void *arg, int64_t serial, const char *option, const struct json *answers)
{
    (void)serial, (void)option, (void)answers;
    *(int *)arg += 1;
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    (void)arg, (void)why, (void)bytes, (void)len;
}

static const struct acp_agent_ops ops = {.request = on_request,
                                         .cancel = on_words,
                                         .withdrawn = on_words,
                                         .permitted = on_permitted,
                                         .garbage = on_garbage};

static int permitted; /* answers that were told */

static void feed(struct acp_agent *agent, const char *line)
{
    acp_agent_feed(agent, line, strlen(line));
}

/* The agent of an editor with these capabilities. */
static struct acp_agent *begin(const char *capabilities)
{
    struct acp_agent *agent = acp_agent_new(&ops, &permitted, &self);
    _cleanup_free_ char *line =
        mem_printf("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                   "{\"protocolVersion\":1,\"clientCapabilities\":%s}}\n",
                   capabilities);
    size_t len = 0;

    permitted = 0;
    feed(agent, line);
    (void)acp_agent_out(agent, &len);
    acp_agent_sent(agent, len);
    return agent;
}

static void check_sent(struct acp_agent *agent, const char *want)
{
    size_t len = 0;
    const char *out = acp_agent_out(agent, &len);
    _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);

    CHECK_STR(text, want);
    acp_agent_sent(agent, len);
}

#define UPDATE(rest)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\","          \
    "\"update\":{\"sessionUpdate\":" rest "}}}\n"

static struct json *parse(const char *text)
{
    struct json *json = NULL;
    struct err err = ERR_INIT;

    CHECK_INT(json_parse(text, strlen(text), 1 << 20, &json, &err), 0);
    return json;
}

TEST(chunks_of_each_kind)
{
    struct acp_agent *agent = begin("{}");

    acp_agent_chunk(agent, "s", ACP_USER, NULL, "abc", 2);
    check_sent(agent, UPDATE("\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
                             "\"ab\"}"));
    acp_agent_chunk(agent, "s", ACP_THOUGHT, "m", "abc", 3);
    check_sent(agent, UPDATE("\"agent_thought_chunk\",\"messageId\":\"m\",\"content\":{\"type\":"
                             "\"text\",\"text\":\"abc\"}"));
    acp_agent_chunk(agent, "s", ACP_TEXT, NULL, "", 0);
    check_sent(agent, UPDATE("\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
                             "\"\"}"));
    acp_agent_free(agent);
}

TEST(plans_commands_and_what_has_one_member)
{
    struct acp_agent *agent = begin("{}");
    _cleanup_json_ struct json *entries =
        parse("[{\"content\":\"a\",\"priority\":\"high\",\"status\":\"completed\"},"
              "{\"content\":\"b\",\"priority\":\"urgent\",\"status\":\"odd\"},{},"
              "{\"priority\":\"low\",\"status\":\"in_progress\"}]");
    char name[] = "n", words[] = "d", hint[] = "h", none[] = "";
    const struct word commands[] = {{.name = name, .description = words, .kind = hint},
                                    {.name = name, .description = words, .kind = none},
                                    {.name = name, .description = words}};

    acp_agent_plan(agent, "s", entries);
    check_sent(
        agent,
        UPDATE("\"plan\",\"entries\":[{\"content\":\"a\",\"priority\":\"high\",\"status\":"
               "\"completed\"},{\"content\":\"b\",\"priority\":\"medium\",\"status\":\"pending\"},"
               "{\"content\":\"\",\"priority\":\"medium\",\"status\":\"pending\"},"
               "{\"content\":\"\",\"priority\":\"low\",\"status\":\"in_progress\"}]"));
    acp_agent_commands(agent, "s", commands, ARRAY_LEN(commands));
    check_sent(agent, UPDATE("\"available_commands_update\",\"availableCommands\":[{\"name\":\"n\","
                             "\"description\":\"d\",\"input\":{\"hint\":\"h\"}},{\"name\":\"n\","
                             "\"description\":\"d\"},{\"name\":\"n\",\"description\":\"d\"}]"));
    acp_agent_mode(agent, "s", "plan");
    check_sent(agent, UPDATE("\"current_mode_update\",\"currentModeId\":\"plan\""));
    acp_agent_title(agent, "s", "t");
    check_sent(agent, UPDATE("\"session_info_update\",\"title\":\"t\""));
    acp_agent_options(agent, "s", "[1]");
    check_sent(agent, UPDATE("\"config_option_update\",\"configOptions\":[1]"));
    acp_agent_free(agent);
}

TEST(usage_has_a_cost_only_if_one_is_known)
{
    struct acp_agent *agent = begin("{}");
    const struct money none = {.micro = 5}, zero = {.micro = 0, .currency = "USD"},
                       some = {.micro = 1500000, .currency = "EUR"};

    acp_agent_usage(agent, "s", 5, 9, &none);
    check_sent(agent, UPDATE("\"usage_update\",\"used\":5,\"size\":9"));
    acp_agent_usage(agent, "s", -1, -1, &zero);
    check_sent(agent, UPDATE("\"usage_update\",\"used\":0,\"size\":0,\"cost\":{\"amount\":0,"
                             "\"currency\":\"USD\"}"));
    acp_agent_usage(agent, "s", 1, 0, &some);
    check_sent(agent, UPDATE("\"usage_update\",\"used\":1,\"size\":0,\"cost\":{\"amount\":1.5,"
                             "\"currency\":\"EUR\"}"));
    acp_agent_free(agent);
}

TEST(a_permission_names_kinds_that_there_are)
{
    struct acp_agent *agent = begin("{}");
    const struct acp_agent_tool tool = {.id = "t", .known = true, .kind = "edit", .title = ""};
    static const char *const kinds[] = {"allow_once", "allow_always", "reject_once",
                                        "reject_always", "clear"};
    struct word options[ARRAY_LEN(kinds)];
    char id[] = "i", name[] = "n";
    _cleanup_str_ struct str want = STR_INIT;

    str_add(&want, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/request_permission\","
                   "\"params\":{\"sessionId\":\"s\",\"toolCall\":{\"toolCallId\":\"t\",\"kind\":"
                   "\"edit\"},\"options\":[");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        options[i] = (struct word){.id = id, .name = name, .kind = (char *)(uintptr_t)kinds[i]};
        str_addf(&want, "%s{\"optionId\":\"i\",\"name\":\"n\",\"kind\":\"%s\"}", i > 0 ? "," : "",
                 i < 4 ? kinds[i] : "allow_once");
    }
    str_add(&want, "]}}\n");
    int64_t serial = acp_agent_ask_permission(agent, "s", &tool, options, ARRAY_LEN(kinds));
    check_sent(agent, str_text(&want));
    acp_agent_withdraw(agent, serial);
    check_sent(agent, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
                      "{\"requestId\":1}}\n");
    feed(agent,
         "{\"id\":1,\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"i\"}}}\n");
    CHECK_INT(permitted, 0); /* its answer is not waited for any more */
    acp_agent_free(agent);
}

TEST(an_editor_is_asked_only_what_it_offers)
{
    static const struct {
        const char *capabilities;
        bool form, url;
    } table[] = {
        {"{}", false, false},
        {"{\"elicitation\":{\"form\":{}}}", true, false},
        {"{\"elicitation\":{\"url\":{}}}", false, true},
        {"{\"elicitation\":{\"form\":{},\"url\":{}}}", true, true},
        {"{\"elicitation\":true}", false, false},
    };
    _cleanup_json_ struct json *schema = parse("{\"a\":1}");
    const struct acp_agent_elicitation form = {.form = schema, .tool = "t"},
                                       url = {.url = "u", .id = "e", .message = "m"},
                                       no_id = {.url = "u"}, no_url = {.id = "e"};

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct acp_agent *agent = begin(table[i].capabilities);
        CHECK_INT(acp_agent_elicits(agent, &form), table[i].form);
        CHECK_INT(acp_agent_elicits(agent, &url), table[i].url);
        CHECK(!acp_agent_elicits(agent, &no_id));
        CHECK(!acp_agent_elicits(agent, &no_url));
        acp_agent_elicited(agent, "e");
        check_sent(agent, table[i].url ? "{\"jsonrpc\":\"2.0\",\"method\":\"elicitation/complete\","
                                         "\"params\":{\"elicitationId\":\"e\"}}\n"
                                       : "");
        acp_agent_free(agent);
    }
    struct acp_agent *agent = begin(table[3].capabilities);
    (void)acp_agent_elicit(agent, "s", &form);
    check_sent(agent,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":"
               "{\"mode\":\"form\",\"sessionId\":\"s\",\"toolCallId\":\"t\",\"message\":\"\","
               "\"requestedSchema\":{\"a\":1}}}\n");
    (void)acp_agent_elicit(agent, "s", &url);
    check_sent(agent, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\",\"params\":"
                      "{\"mode\":\"url\",\"sessionId\":\"s\",\"message\":\"m\",\"elicitationId\":"
                      "\"e\",\"url\":\"u\"}}\n");
    acp_agent_free(agent);
}

static void check_put(struct str *text, struct json_out *out, const char *want)
{
    json_close(out, '}');
    CHECK_STR(str_text(text), want);
    str_clear(text);
}

TEST(modes_and_options_are_named_after_their_ids_if_they_have_no_name)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    _cleanup_json_ struct json *none = parse("[]");
    _cleanup_json_ struct json *modes = parse("[{\"id\":\"a\",\"name\":\"A\"},{\"id\":\"b\"},"
                                              "{\"id\":\"c\",\"name\":\"\"}]");
    _cleanup_json_ struct json *options = parse(
        "[{\"id\":\"o\",\"category\":\"model\",\"type\":\"select\",\"value\":\"x\",\"values\":"
        "[{\"value\":\"x\",\"name\":\"X\"},{\"value\":\"y\"}]},"
        "{\"id\":\"s\",\"name\":\"S\",\"type\":\"boolean\",\"value\":\"true\",\"values\":"
        "[{\"value\":\"true\",\"name\":\"On\"}]}]");
    static const char select[] =
        "{\"configOptions\":[{\"id\":\"o\",\"name\":\"o\",\"category\":\"model\",\"type\":"
        "\"select\",\"currentValue\":\"x\",\"options\":[{\"value\":\"x\",\"name\":\"X\"},"
        "{\"value\":\"y\",\"name\":\"y\"}]},{\"id\":\"s\",\"name\":\"S\",\"type\":";

    json_open(&out, NULL, '{');
    acp_agent_put_modes(&out, "a", none);
    check_put(&text, &out, "{}");
    out = (struct json_out){.to = &text};
    json_open(&out, NULL, '{');
    acp_agent_put_modes(&out, NULL, modes);
    check_put(&text, &out,
              "{\"modes\":{\"currentModeId\":\"\",\"availableModes\":[{\"id\":\"a\","
              "\"name\":\"A\"},{\"id\":\"b\",\"name\":\"b\"},{\"id\":\"c\",\"name\":"
              "\"c\"}]}}");
    for (int switches = 0; switches < 2; switches++) {
        struct acp_agent *agent =
            begin(switches ? "{\"session\":{\"configOptions\":{\"boolean\":{}}}}" : "{}");
        out = (struct json_out){.to = &text};
        json_open(&out, NULL, '{');
        acp_agent_put_options(agent, &out, "configOptions", options);
        _cleanup_free_ char *want = mem_printf(
            "%s%s", select,
            switches ? "\"boolean\",\"currentValue\":true}]}"
                     : "\"select\",\"currentValue\":\"true\",\"options\":[{\"value\":\"true\","
                       "\"name\":\"On\"}]}]}");
        check_put(&text, &out, want);
        acp_agent_free(agent);
    }
}
