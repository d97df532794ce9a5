#include "unit.h"

#include "base/time.h"
#include "model/preset.h"
#include "protocol/acp.h"

/* What the client told, one a line. */
struct heard {
    struct acp *acp;
    struct str notes;
    char ticket[32]; /* newest permission or request */
    bool leave; /* at the next answer */
};

static void add_text(struct str *to, const char *name, const char *text)
{
    if (text != NULL)
        str_addf(to, " %s=%s", name, text);
}

static void add_words(struct str *to, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_addf(to, " (%s|%s|%s|%s)", words[i].id, words[i].name, words[i].description,
                 words[i].kind);
}

static void add_update(struct str *to, const struct acp_update *update)
{
    static const char *const names[] = {"user",     "text",       "thought", "tool",     "plan",
                                        "commands", "mode",       "options", "info",     "usage",
                                        "notice",   "compaction", "summary", "subagent", "task",
                                        "message",  "other"};
    static const char *const tasks[] = {"", " runs", " done", " failed", " cancelled", " unknown"};

    str_addf(to, "%s@%s", names[update->kind], update->session);
    add_text(to, "id", update->id);
    add_text(to, "title", update->title);
    add_text(to, "kind", update->tool_kind);
    add_text(to, "status", update->status);
    if (update->text != NULL)
        str_addf(to, " <%.*s>", (int)update->len, update->text);
    str_addf(to, "%s%s", tasks[update->task], update->stoppable ? " stoppable" : "");
    add_words(to, update->words, update->count);
    if (update->kind == ACP_USAGE)
        str_addf(to, " %lld/%lld %lld%s", (long long)update->usage.used,
                 (long long)update->usage.size, (long long)update->usage.cost.micro,
                 update->usage.cost.currency);
    str_addc(to, '\n');
}

static void on_answer(void *arg, const struct acp_answer *answer)
{
    struct heard *h = arg;

    str_addf(&h->notes, "=%lld call %d ", (long long)answer->serial, (int)answer->call);
    if (answer->ok)
        str_add(&h->notes, "ok");
    else
        str_addf(&h->notes, "error %lld %s", (long long)answer->code, answer->message);
    add_text(&h->notes, "session", answer->session);
    add_text(&h->notes, "mode", answer->mode);
    add_text(&h->notes, "stop", answer->stop_reason);
    add_words(&h->notes, answer->modes, answer->mode_count);
    if (answer->options != NULL)
        str_add(&h->notes, " options");
    if (answer->steered)
        str_add(&h->notes, " steered");
    str_addc(&h->notes, '\n');
    if (h->leave)
        acp_free(h->acp);
}

static void on_update(void *arg, const struct acp_update *update)
{
    struct heard *h = arg;

    add_update(&h->notes, update);
}

static void on_permission(void *arg, const struct acp_permission *permission)
{
    struct heard *h = arg;

    (void)snprintf(h->ticket, sizeof h->ticket, "%s", permission->ticket);
    str_addf(&h->notes, "may@%s", permission->session);
    add_words(&h->notes, permission->options, permission->count);
    str_add(&h->notes, " for ");
    add_update(&h->notes, &permission->tool);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct heard *h = arg;

    str_addf(&h->notes, "withdrawn %s\n", ticket);
}

static void on_request(void *arg, const struct acp_request *request)
{
    struct heard *h = arg;

    (void)snprintf(h->ticket, sizeof h->ticket, "%s", request->ticket);
    str_addf(&h->notes, "do %s@%s\n", request->method, request->session);
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct heard *h = arg;

    (void)why;
    str_addf(&h->notes, "garbage %.*s\n", (int)len, bytes);
}

static const struct acp_ops ops = {
    .answer = on_answer,
    .update = on_update,
    .permission = on_permission,
    .withdrawn = on_withdrawn,
    .request = on_request,
    .garbage = on_garbage,
};

static void begin(struct heard *h)
{
    *h = (struct heard){.leave = false};
    h->acp = acp_new(&ops, h);
}

static void end(struct heard *h)
{
    if (!h->leave)
        acp_free(h->acp);
    str_free(&h->notes);
}

static void feed(struct heard *h, const char *text)
{
    acp_feed(h->acp, text, strlen(text));
}

static void feed_update(struct heard *h, const char *update)
{
    _cleanup_free_ char *line =
        mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":"
                   "{\"sessionId\":\"S\",\"update\":%s}}\n",
                   update);

    feed(h, line);
}

static void check_heard(struct heard *h, const char *want)
{
    CHECK_STR(str_text(&h->notes), want);
    str_clear(&h->notes);
}

static void check_out(struct heard *h, const char *want)
{
    size_t len;
    const char *out = acp_out(h->acp, &len);
    _cleanup_free_ char *text = mem_dupn(out, len);

    CHECK_STR(text, want);
    acp_sent(h->acp, len);
}

static void forget_out(struct heard *h)
{
    size_t len;

    (void)acp_out(h->acp, &len);
    acp_sent(h->acp, len);
}

TEST(learns_what_an_agent_can)
{
    struct heard h;
    const struct acp_info *info;

    begin(&h);
    CHECK_STR(acp_info(h.acp)->name, "");
    CHECK_INT(acp_initialize(h.acp, OFFERS_ALL, 1000), 1);
    check_out(&h,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
              "{\"protocolVersion\":1,\"clientCapabilities\":{\"fs\":{\"readTextFile\":true,"
              "\"writeTextFile\":true},\"terminal\":true,\"elicitation\":{\"form\":{},\"url\":{}},"
              "\"auth\":{\"terminal\":true},\"session\":{\"compaction\":{},"
              "\"notices\":{},\"configOptions\":{\"boolean\":{}}},\"subagents\":{}},\"clientInfo\":"
              "{\"name\":\"mas\","
              "\"version\":\"" MAS_VERSION "\"}}}\n");
    feed(&h, "{\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{"
             "\"loadSession\":true,\"promptCapabilities\":{\"embeddedContext\":true},"
             "\"sessionCapabilities\":{\"resume\":{},\"list\":null,\"close\":{}}},"
             "\"agentInfo\":{\"name\":\"a\",\"version\":\"1.2\"},"
             "\"authMethods\":[{\"id\":\"x\",\"n\":0.10}]}}\n");
    check_heard(&h, "=1 call 0 ok\n");
    info = acp_info(h.acp);
    CHECK_STR(info->name, "a");
    CHECK_STR(info->version, "1.2");
    CHECK(info->load && info->resume && info->close && !info->list);
    CHECK(!info->image && info->embedded && !info->mcp_http);
    CHECK_INT(info->protocol, 1);
    CHECK_STR(info->auth, "[{\"id\":\"x\",\"n\":0.10}]");
    end(&h);
}

TEST(refuses_another_version)
{
    struct heard h;

    begin(&h);
    (void)acp_initialize(h.acp, OFFERS_ALL, -1);
    feed(&h, "{\"id\":1,\"result\":{\"protocolVersion\":2}}\n");
    check_heard(&h, "=1 call 0 error -2 the agent does not support protocol version 1\n");
    (void)acp_initialize(h.acp, OFFERS_ALL, -1);
    feed(&h, "{\"id\":2,\"result\":{}}\n");
    check_heard(&h, "=2 call 0 error -2 the agent reported no protocol version\n");
    CHECK_STR(acp_info(h.acp)->auth, "[]");
    end(&h);
}

TEST(opens_sessions)
{
    struct heard h;

    begin(&h);
    (void)acp_session_new(h.acp, "/w", NULL, -1);
    (void)acp_session_load(h.acp, "old \"1\"", "/w", "[{\"name\":\"m\"}]", -1);
    acp_set_session_meta(h.acp, "{\"a\":{}}");
    (void)acp_session_resume(h.acp, "old", "/w", NULL, -1);
    (void)acp_session_close(h.acp, "old", -1);
    (void)acp_session_list(h.acp, "/d", "next", -1);
    check_out(
        &h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/w\","
            "\"mcpServers\":[]}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/load\",\"params\":{\"sessionId\":"
            "\"old \\\"1\\\"\",\"cwd\":\"/w\",\"mcpServers\":[{\"name\":\"m\"}]}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/resume\",\"params\":{\"sessionId\":"
            "\"old\",\"cwd\":\"/w\",\"mcpServers\":[],\"_meta\":{\"a\":{}}}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/close\",\"params\":{\"sessionId\":"
            "\"old\"}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/list\",\"params\":{\"cwd\":\"/"
            "d\",\"cursor\":"
            "\"next\"}}\n");
    feed(&h, "{\"id\":3,\"result\":null}\n"
             "{\"id\":1,\"result\":{\"sessionId\":\"S\",\"modes\":{\"currentModeId\":\"ask\","
             "\"availableModes\":[{\"id\":\"ask\",\"name\":\"Ask\",\"description\":\"d\"},7,"
             "{\"id\":\"go\",\"name\":\"Go\"}]},\"configOptions\":[{}]}}\n"
             "{\"id\":2,\"error\":{\"code\":-32002,\"message\":\"gone\"}}\n{\"id\":4}\n");
    check_heard(&h, "=3 call 3 ok session=old\n"
                    "=1 call 1 ok session=S mode=ask (ask|Ask|d|) (go|Go||) options\n"
                    "=2 call 2 error -32002 gone session=old \"1\"\n"
                    "=4 call 4 ok session=old\n");
    end(&h);
}

TEST(needs_a_session_id)
{
    static const char *const results[] = {"null", "{}", "{\"sessionId\":\"\"}", "{\"sessionId\":7}",
                                          "{\"sessionId\":\"a\\nb\"}"};
    struct heard h;

    begin(&h);
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        _cleanup_free_ char *line = mem_printf("{\"id\":%zu,\"result\":%s}\n", i + 1, results[i]);
        _cleanup_free_ char *want =
            mem_printf("=%zu call 1 error -2 the agent returned no valid session id\n", i + 1);

        (void)acp_session_new(h.acp, "/w", NULL, -1);
        feed(&h, line);
        check_heard(&h, want);
    }
    end(&h);
}

TEST(prompts_and_sets)
{
    static const struct acp_block blocks[] = {
        {"earlier\n", NULL}, {"now \xFF", NULL}, {NULL, NULL}};
    struct heard h;

    begin(&h);
    (void)acp_prompt(h.acp, "S", blocks, -1);
    (void)acp_set_mode(h.acp, "S", "plan", -1);
    (void)acp_set_option(h.acp, "S", "model", "large", false, -1);
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{"
                  "\"sessionId\":\"S\",\"prompt\":[{\"type\":\"text\",\"text\":\"earlier\\n\"},"
                  "{\"type\":\"text\",\"text\":\"now \xEF\xBF\xBD\"}]}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/set_mode\",\"params\":{"
                  "\"sessionId\":\"S\",\"modeId\":\"plan\"}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/set_config_option\","
                  "\"params\":{\"sessionId\":\"S\",\"configId\":\"model\",\"value\":\"large\"}}\n");
    feed(&h, "{\"id\":3,\"result\":{\"configOptions\":[]}}\n{\"id\":2,\"result\":{}}\n"
             "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    check_heard(&h, "=3 call 8 ok session=S options\n=2 call 7 ok session=S mode=plan\n"
                    "=1 call 6 ok session=S stop=end_turn\n");
    (void)acp_prompt(h.acp, "S", blocks, 1000);
    (void)acp_prompt(h.acp, "S", blocks, -1);
    (void)acp_prompt(h.acp, "S", blocks, -1);
    feed(&h, "{\"id\":5,\"result\":{}}\n{\"id\":6,\"error\":{\"code\":401,\"message\":\"no\"}}\n");
    CHECK_INT(acp_tick(h.acp, time_monotonic_ms() + 2000), -1);
    check_heard(&h, "=5 call 6 ok session=S stop=unknown\n=6 call 6 error 401 no session=S\n"
                    "=4 call 6 error -1 no answer in time session=S\n");
    end(&h);
}

TEST(tells_what_an_error_says_in_its_data)
{
    struct heard h;

    begin(&h);
    for (int i = 0; i < 4; i++)
        (void)acp_session_close(h.acp, "S", -1);
    feed(&h, "{\"id\":1,\"error\":{\"code\":1,\"message\":\"no\",\"data\":{\"details\":\"why\"}}}\n"
             "{\"id\":2,\"error\":{\"code\":1,\"message\":\"\",\"data\":\"why\"}}\n"
             "{\"id\":3,\"error\":{\"code\":1,\"message\":\"no: why\",\"data\":\"why\"}}\n"
             "{\"id\":4,\"error\":{\"code\":1,\"message\":\"no\",\"data\":{\"x\":1}}}\n");
    check_heard(&h, "=1 call 4 error 1 no: why session=S\n=2 call 4 error 1 why session=S\n"
                    "=3 call 4 error 1 no: why session=S\n=4 call 4 error 1 no session=S\n");
    end(&h);
}

TEST(tells_updates)
{
    struct heard h;

    begin(&h);
    feed_update(&h, "{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"m1\",\"content\":"
                    "{\"type\":\"text\",\"text\":\"h\\u00ebllo\"}}");
    feed_update(&h, "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"image\","
                    "\"mimeType\":\"image/png\",\"data\":\"\"}}");
    feed_update(&h, "{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":"
                    "\"resource_link\",\"uri\":\"file:///x\",\"name\":\"x\"}}");
    feed_update(&h, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"resource\","
                    "\"resource\":{\"uri\":\"u\",\"text\":\"inside\"}}}");
    feed_update(&h, "{\"sessionUpdate\":\"agent_message_chunk\"}");
    check_heard(&h, "text@S id=m1 <h\xC3\xABllo>\nuser@S <[image image/png]>\n"
                    "thought@S <[file:///x]>\ntext@S <inside>\ntext@S <>\n");
    feed_update(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"look\",\"priority\":"
                    "\"high\",\"status\":\"pending\"},{}]}");
    feed_update(&h, "{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":["
                    "{\"name\":\"compact\",\"description\":\"d\"}]}");
    feed_update(&h, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"plan\"}");
    feed_update(&h, "{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}");
    feed_update(&h, "{\"sessionUpdate\":\"usage_update\",\"used\":5,\"size\":10}");
    feed_update(&h, "{\"sessionUpdate\":\"config_option_update\",\"configOptions\":[]}");
    feed_update(&h, "{\"sessionUpdate\":\"something_new\",\"x\":1}");
    feed_update(&h, "{\"sessionUpdate\":\"current_mode_update\"}");
    feed_update(&h, "{}");
    feed_update(&h, "7");
    check_heard(&h,
                "plan@S (|look|high|pending) (|||)\ncommands@S (compact|compact|d|)\n"
                "mode@S id=plan <plan>\ninfo@S title=T <T>\nusage@S 5/10 0\noptions@S\nother@S\n"
                "other@S\nother@S\n");
    end(&h);
}

/* Feeds one usage_update with these members and checks what it means. */
static void check_usage(const char *members, const char *want)
{
    _cleanup_free_ char *json = mem_printf("{\"sessionUpdate\":\"usage_update\",%s}", members);
    _cleanup_free_ char *line = mem_printf("usage@S %s\n", want);
    struct heard h;

    begin(&h);
    feed_update(&h, json);
    check_heard(&h, line);
    end(&h);
}

/* What is no number that can be counted is not told. */
TEST(reads_usage_of_hostile_agents)
{
    check_usage("\"used\":0,\"size\":1000000", "0/1000000 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":null", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":0.1,\"currency\":\"usd\"}",
                "1/2 100000USD");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":0,\"currency\":\"USD\"}", "1/2 0USD");
    check_usage("\"used\":-1,\"size\":1e300", "-1/-1 0");
    check_usage("\"used\":1.5,\"size\":\"2\"", "-1/-1 0");
    check_usage("\"used\":9007199254740993,\"size\":null", "-1/-1 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":-1,\"currency\":\"USD\"}", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":1e30,\"currency\":\"USD\"}", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":\"1\",\"currency\":\"USD\"}", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":1}", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":1,\"currency\":\"\\u001b[31m\"}",
                "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":1,\"currency\":\"\"}", "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":{\"amount\":1,\"currency\":\"abcdefghijklmnopq\"}",
                "1/2 0");
    check_usage("\"used\":1,\"size\":2,\"cost\":[]", "1/2 0");
}

TEST(tells_tools_as_upserts)
{
    struct heard h;

    begin(&h);
    feed_update(&h, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"new\",\"status\":"
                    "\"completed\",\"title\":null}");
    feed_update(&h, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\","
                    "\"kind\":\"edit\",\"status\":\"pending\",\"content\":["
                    "{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"words\"}},"
                    "{\"type\":\"diff\",\"path\":\"/w/f\",\"oldText\":\"a\\nb\\n\",\"newText\":"
                    "\"a\\nc\\n\"},{\"type\":\"diff\",\"path\":\"/w/n\",\"newText\":\"x\\n\"},"
                    "{\"type\":\"terminal\",\"terminalId\":\"t1\"},{\"type\":\"odd\"},3]}");
    feed_update(&h, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"content\":[]}");
    feed_update(&h, "{\"sessionUpdate\":\"tool_call\",\"title\":\"no id\"}");
    check_heard(&h, "tool@S id=new status=completed\n"
                    "tool@S id=c title=Edit kind=edit status=pending <words\n--- /w/f\n+++ /w/f\n"
                    "@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- /dev/null\n+++ /w/n\n@@ -0,0 +1,1 @@\n+x\n"
                    "[terminal t1]\n[odd]\n[]>\n"
                    "tool@S id=c <>\nother@S title=no id\n");
    end(&h);
}

static const char permission_line[] =
    "{\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"S\","
    "\"toolCall\":{\"toolCallId\":\"c\",\"title\":\"Run\"},\"options\":["
    "{\"optionId\":\"y\",\"name\":\"Yes\",\"kind\":\"allow_once\"},"
    "{\"optionId\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"}]}}\n";
static const char permission_told[] =
    "may@S (y|Yes||allow_once) (n|No||reject_once) for tool@S id=c title=Run\n";
static const char cancelled[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}\n";

TEST(answers_permissions)
{
    struct heard h;

    begin(&h);
    feed(&h, permission_line);
    check_heard(&h, permission_told);
    CHECK(!acp_permit(h.acp, h.ticket, "maybe"));
    CHECK(!acp_permit(h.acp, "77", "y"));
    check_out(&h, "");
    CHECK(acp_permit(h.acp, h.ticket, "y"));
    CHECK(!acp_permit(h.acp, h.ticket, "y"));
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":"
                  "\"selected\",\"optionId\":\"y\"}}}\n");
    feed(&h, permission_line);
    CHECK(acp_permit(h.acp, h.ticket, NULL));
    check_out(&h, cancelled);
    feed(&h, "{\"id\":1,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"S\","
             "\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[]}}\n");
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
                  "\"a permission needs toolCall and options\"}}\n");
    end(&h);
}

TEST(reads_subagents_and_tasks)
{
    static const struct {
        const char *update, *heard;
    } cases[] = {
        {"\"subagent_update\",\"sessionId\":\"c\",\"title\":\"t\",\"description\":\"d\"",
         "subagent@s id=c title=t <d>\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"capabilities\":{\"cancel\":{}},"
         "\"state\":{\"state\":\"running\"}",
         "subagent@s id=c runs stoppable\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"requires_action\"}",
         "subagent@s id=c runs\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"idle\"}",
         "subagent@s id=c done\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"description\":\"d\",\"state\":{\"state\":"
         "\"idle\",\"stopReason\":\"error\",\"error\":{\"code\":1,\"message\":\"why\"}}",
         "subagent@s id=c <why> failed\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"idle\","
         "\"stopReason\":\"cancelled\"}",
         "subagent@s id=c cancelled\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"state\":null", "subagent@s id=c unknown\n"},
        {"\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"_odd\"}",
         "subagent@s id=c unknown\n"},
        {"\"subagent_update\",\"sessionId\":7", "other@s\n"},
        {"\"session_message\",\"messageId\":\"m\",\"senderSessionId\":\"s\","
         "\"recipientSessionId\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]",
         "message@s id=s title=c <hi>\n"},
        {"\"async_task_spawned\",\"asyncTaskId\":\"a\",\"name\":\"n\",\"description\":\"d\"",
         "task@s id=a title=n <d> runs\n"},
        {"\"async_task_progress\",\"asyncTaskId\":\"a\",\"summary\":\"x\"", "task@s id=a <x>\n"},
        {"\"async_task_state_update\",\"asyncTaskId\":\"a\",\"state\":\"paused\"",
         "task@s id=a runs\n"},
        {"\"async_task_state_update\",\"asyncTaskId\":\"a\",\"state\":\"completed\","
         "\"summary\":\"x\"",
         "task@s id=a <x> done\n"},
        {"\"async_task_state_update\",\"asyncTaskId\":\"a\",\"state\":\"stopped\"",
         "task@s id=a cancelled\n"},
        {"\"async_task_state_update\",\"asyncTaskId\":\"a\",\"state\":\"new\"",
         "task@s id=a unknown\n"},
        {"\"async_task_spawned\"", "other@s runs\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct heard h;
        _cleanup_free_ char *line =
            mem_printf("{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":"
                       "{\"sessionUpdate\":%s}}}\n",
                       cases[i].update);

        begin(&h);
        feed(&h, line);
        check_heard(&h, cases[i].heard);
        end(&h);
    }
}

TEST(notices_permissions_taken_back)
{
    static const struct acp_block blocks[] = {{"x", NULL}, {NULL, NULL}};
    struct heard h;

    begin(&h);
    feed(&h, permission_line);
    feed(&h, "{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"q\"}}\n");
    check_heard(&h, permission_told);
    feed(&h, "{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"p\"}}\n");
    check_heard(&h, "withdrawn 1\n");
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"error\":{\"code\":-32800,\"message\":"
                  "\"cancelled\"}}\n");
    CHECK(!acp_permit(h.acp, "1", "y"));
    /* a turn that ends while one is open */
    (void)acp_prompt(h.acp, "S", blocks, -1);
    forget_out(&h);
    feed(&h, permission_line);
    feed(&h, "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    CHECK(strstr(h.notes.data, "withdrawn 2\n=1 call 6 ok") != NULL);
    check_out(&h, cancelled);
    end(&h);
}

TEST(cancels_with_open_permissions)
{
    static const struct acp_block blocks[] = {{"x", NULL}, {NULL, NULL}};
    struct heard h;

    begin(&h);
    (void)acp_prompt(h.acp, "S", blocks, -1);
    (void)acp_prompt(h.acp, "T", blocks, -1);
    forget_out(&h);
    feed(&h, permission_line);
    feed(&h, "{\"id\":9,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"T\","
             "\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"y\"}]}}\n");
    str_clear(&h.notes);
    acp_cancel(h.acp, "S");
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":"
                  "\"S\"}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":"
                  "\"cancelled\"}}}\n");
    feed(&h, permission_line); /* it crossed the cancel */
    check_heard(&h, "");
    check_out(&h, cancelled);
    feed(&h, "{\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
    check_heard(&h, "=1 call 6 ok session=S stop=cancelled\n");
    CHECK(acp_permit(h.acp, h.ticket, "y"));
    forget_out(&h);
    (void)acp_prompt(h.acp, "S", blocks, -1);
    forget_out(&h);
    feed(&h, permission_line);
    check_heard(&h, permission_told);
    end(&h);
}

/* The prompt of one session is cancelled, that of the other goes on. */
TEST(a_cancel_is_of_one_session)
{
    static const struct acp_block blocks[] = {{"x", NULL}, {NULL, NULL}};
    static const char ask[] = "{\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":"
                              "{\"sessionId\":\"%s\",\"toolCall\":{\"toolCallId\":\"c\"},"
                              "\"options\":[{\"optionId\":\"y\"}]}}\n";
    static const char *const sessions[] = {"S", "T", "U"};

    for (size_t of = 0; of < ARRAY_LEN(sessions); of++) {
        struct heard h;
        begin(&h);
        for (size_t i = 0; i < ARRAY_LEN(sessions); i++)
            (void)acp_prompt(h.acp, sessions[i], blocks, -1);
        acp_cancel(h.acp, sessions[of]);
        forget_out(&h);
        for (size_t i = 0; i < ARRAY_LEN(sessions); i++) {
            _cleanup_free_ char *head = mem_dupn(ask, (size_t)(strstr(ask, "%s") - ask));
            _cleanup_free_ char *line =
                mem_printf("%s%s%s", head, sessions[i], strstr(ask, "%s") + 2);
            feed(&h, line);
            CHECK_INT(h.notes.len > 0, i != of);
            check_out(&h, i == of ? cancelled : "");
            str_clear(&h.notes);
            if (i != of)
                CHECK(acp_permit(h.acp, h.ticket, NULL));
            forget_out(&h);
        }
        end(&h);
    }
}

/* What the agent takes goes with each session that is opened, and nothing else. */
TEST(sessions_have_what_the_agent_takes)
{
    static const struct {
        const char *can, *more;
    } table[] = {
        {"{}", ""},
        {"{\"sessionCapabilities\":{\"additionalDirectories\":{}}}",
         ",\"additionalDirectories\":[\"/a\",\"/b\"]"},
        {"{\"sessionCapabilities\":{\"additionalDirectories\":true}}", ""},
        {"{\"sessionCapabilities\":{\"systemPrompt\":{}}}",
         ",\"systemPrompt\":{\"mode\":\"append\",\"content\":[{\"type\":\"text\",\"text\":"
         "\"be\"}]}"},
        {"{\"sessionCapabilities\":{\"systemPrompt\":true},\"_meta\":{\"claudeCode\":{}}}",
         ",\"systemPrompt\":{\"mode\":\"append\",\"content\":[{\"type\":\"text\",\"text\":"
         "\"be\"}]}"},
        {"{\"_meta\":{\"claudeCode\":{}}}", ",\"_meta\":{\"systemPrompt\":{\"append\":\"be\"}}"},
        {"{\"_meta\":{\"claudeCode\":true}}", ""},
    };
    char a[] = "/a", b[] = "/b";
    char *paths[] = {a, b, NULL};

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (int set = 0; set < 2; set++) {
            struct heard h;
            _cleanup_free_ char *line = mem_printf(
                "{\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":%s}}\n",
                table[i].can);
            _cleanup_free_ char *want =
                mem_printf("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/fork\",\"params\":"
                           "{\"sessionId\":\"S\",\"cwd\":\"/w\",\"mcpServers\":[]%s}}\n",
                           set ? table[i].more : "");
            begin(&h);
            (void)acp_initialize(h.acp, 0, -1);
            feed(&h, line);
            forget_out(&h);
            if (set) {
                acp_set_directories(h.acp, paths);
                acp_set_system(h.acp, "be");
            } else { /* taken back */
                acp_set_directories(h.acp, paths);
                acp_set_directories(h.acp, NULL);
                acp_set_system(h.acp, NULL);
            }
            (void)acp_session_fork(h.acp, "S", "/w", NULL, -1);
            check_out(&h, want);
            end(&h);
        }
    }
    struct heard h; /* what the preset gives stays */
    begin(&h);
    (void)acp_initialize(h.acp, 0, -1);
    feed(&h, "{\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"_meta\":"
             "{\"claudeCode\":{}}}}}\n");
    forget_out(&h);
    acp_set_session_meta(h.acp, "{\"p\":1,\"q\":[]}");
    acp_set_system(h.acp, "be");
    (void)acp_session_new(h.acp, "/w", NULL, -1);
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":"
                  "\"/w\",\"mcpServers\":[],\"_meta\":{\"p\":1,\"q\":[],\"systemPrompt\":"
                  "{\"append\":\"be\"}}}}\n");
    end(&h);
}

/* Each capability is one member. */
TEST(each_ability_is_read_from_its_place)
{
    static const char *const abilities[] = {
        "\"agentCapabilities\":{\"loadSession\":true}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"resume\":{}}}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"close\":{}}}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"list\":{}}}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"fork\":{}}}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"delete\":{}}}",
        "\"agentCapabilities\":{\"sessionCapabilities\":{\"additionalDirectories\":{}}}",
        "\"_meta\":{\"steering\":{\"supported\":true}}",
        "\"agentCapabilities\":{\"promptCapabilities\":{\"image\":true}}",
        "\"agentCapabilities\":{\"promptCapabilities\":{\"audio\":true}}",
        "\"agentCapabilities\":{\"promptCapabilities\":{\"embeddedContext\":true}}",
        "\"agentCapabilities\":{\"mcpCapabilities\":{\"http\":true}}",
        "\"agentCapabilities\":{\"mcpCapabilities\":{\"sse\":true}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(abilities); i++) {
        struct heard h;
        _cleanup_free_ char *line =
            mem_printf("{\"id\":1,\"result\":{\"protocolVersion\":1,%s}}\n", abilities[i]);
        begin(&h);
        (void)acp_initialize(h.acp, 0, -1);
        feed(&h, line);
        const struct acp_info *info = acp_info(h.acp);
        const bool can[] = {info->load,   info->resume, info->close,       info->list,
                            info->fork,   info->remove, info->directories, info->steer,
                            info->image,  info->audio,  info->embedded,    info->mcp_http,
                            info->mcp_sse};
        for (size_t k = 0; k < ARRAY_LEN(can); k++)
            CHECK_INT(can[k], k == i);
        CHECK_INT(info->system, ACP_SYSTEM_NONE);
        end(&h);
    }
}

TEST(words_in_a_turn_are_taken_or_not)
{
    static const struct {
        const char *outcome;
        bool steered;
    } table[] = {{"\"injected\"", true},
                 {"\"startedNewTurn\"", true},
                 {"\"promptRequired\"", false},
                 {"7", false}};
    static const struct acp_block blocks[] = {{"now", NULL}, {NULL, NULL}};
    struct heard h;

    begin(&h);
    (void)acp_steer(h.acp, "S", blocks, -1);
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_session/steering\",\"params\":"
                  "{\"sessionId\":\"S\",\"prompt\":[{\"type\":\"text\",\"text\":\"now\"}],"
                  "\"_meta\":{\"steering\":{\"idleBehavior\":\"promptRequired\"}}}}\n");
    (void)acp_session_delete(h.acp, "S", -1);
    (void)acp_session_list(h.acp, NULL, NULL, -1);
    (void)acp_set_option(h.acp, "S", "o", "true", true, -1);
    (void)acp_set_option(h.acp, "S", "o", "false", true, -1);
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/delete\",\"params\":"
                  "{\"sessionId\":\"S\"}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/list\",\"params\":{}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/set_config_option\","
                  "\"params\":{\"sessionId\":\"S\",\"configId\":\"o\",\"type\":\"boolean\","
                  "\"value\":true}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/set_config_option\","
                  "\"params\":{\"sessionId\":\"S\",\"configId\":\"o\",\"type\":\"boolean\","
                  "\"value\":false}}\n");
    feed(&h, "{\"id\":1,\"result\":{}}\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_free_ char *line =
            mem_printf("{\"id\":%zu,\"result\":{\"outcome\":%s}}\n", i + 6, table[i].outcome);
        (void)acp_steer(h.acp, "S", blocks, -1);
        str_clear(&h.notes);
        feed(&h, line);
        CHECK_INT(strstr(str_text(&h.notes), " steered") != NULL, table[i].steered);
    }
    end(&h);
}

TEST(serves_what_it_can)
{
    struct heard h;

    begin(&h);
    feed(&h, "{\"id\":0,\"method\":\"fs/read_text_file\",\"params\":{\"sessionId\":\"S\"}}\n");
    check_heard(&h, "do fs/read_text_file@S\n");
    acp_answer_request(h.acp, h.ticket, "{\"content\":\"\"}");
    acp_answer_request(h.acp, h.ticket, "{}");
    feed(&h, "{\"id\":1.5,\"method\":\"terminal/create\",\"params\":{\"sessionId\":\"S\"}}\n");
    acp_refuse(h.acp, h.ticket, -32602, "no");
    feed(&h, "{\"id\":2,\"method\":\"terminal/create\",\"params\":{}}\n"
             "{\"id\":3,\"method\":\"elicitation/other\",\"params\":{\"sessionId\":\"S\"}}\n"
             "{\"method\":\"_auth/status_update\",\"params\":{}}\n{\"method\":\"session/update\"}\n"
             "{\"method\":\"$/cancel_request\"}\n");
    check_heard(&h, "do terminal/create@S\n");
    check_out(&h,
              "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"content\":\"\"}}\n"
              "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"error\":{\"code\":-32602,\"message\":\"no\"}}\n"
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":"
              "\"sessionId is missing\"}}\n"
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,\"message\":"
              "\"method not found\"}}\n");
    end(&h);
}

TEST(tells_what_is_replayed_in_order)
{
    static const char chunk[] = "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":"
                                "{\"type\":\"text\",\"text\":\"old\"}}";
    struct heard h;

    begin(&h);
    (void)acp_session_load(h.acp, "S", "/w", NULL, -1);
    feed_update(&h, chunk);
    feed(&h, "{\"id\":1,\"result\":{}}\n");
    feed_update(&h, chunk);
    check_heard(&h, "text@S <old>\n=1 call 2 ok session=S\ntext@S <old>\n");
    end(&h);
}

TEST(may_be_freed_in_a_call)
{
    struct heard h;

    begin(&h);
    (void)acp_initialize(h.acp, OFFERS_ALL, -1);
    h.leave = true;
    feed(&h, "{\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}\ngarbage\n{\"id\":4,\"method\":"
             "\"terminal/create\",\"params\":{\"sessionId\":\"S\"}}\n");
    check_heard(&h, "=1 call 0 error 1 x\n");
    end(&h);
}
