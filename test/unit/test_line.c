#include "unit.h"

#include "protocol/line.h"

TEST(a_rule_that_cannot_be_meant_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *why; /* NULL: it is one */
    } cases[] = {
        {"says type=assistant text:message.content[].text", NULL},
        {"usage a?  b!  c^=x  d!=y  'e=a b'  f=  once:id input:u.in cost:c", NULL},
        {"tool a[][].b? tool:n tool_id:i input:x session:s", NULL},
        {"failed $set? why:e", NULL},
        {"done past a!^=x", NULL},
        {"session type=meta directory:cwd session:id", NULL},
        {"nothing a? b=c", NULL},
        {"nothing session:s", "'session:s': a fact 'nothing' has no member 'session'"},
        {"nothing text:s", "'text:s': a fact 'nothing' has no member 'text'"},
        {"prompt directory:cwd", "'directory:cwd': a fact 'prompt' has no member 'directory'"},
        {"", "unknown fact ''"},
        {"sayz text:a", "unknown fact 'sayz'; did you mean 'says'?"},
        {"says", "a fact is followed by 1 to 16 words"},
        {"says a? a? a? a? a? a? a? a? a? a? a? a? a? a? a? a? a?",
         "a fact is followed by 1 to 16 words"},
        {"says tex:a", "'tex:a': unknown member 'tex'; did you mean 'text'?"},
        {"says cost:a", "'cost:a': a fact 'says' has no member 'cost'"},
        {"usage text:a", "'text:a': a fact 'usage' has no member 'text'"},
        {"says a", "'a': it has to be PATH=VALUE"},
        {"says a?b", "'a?b': it has to be PATH=VALUE"},
        {"says =b", "'=b': a path is"},
        {"says .a=b", "'.a=b': a path is"},
        {"says a.=b", "'a.=b': a path is"},
        {"says a..b=c", "'a..b=c': a path is"},
        {"says []=b", "'[]=b': a path is"},
        {"says a[=b", "'a[=b': a path is"},
        {"says a]=b", "'a]=b': a path is"},
        {"says a[]b=c", "'a[]b=c': a path is"},
        {"says text:", "'text:': a path is"},
        {"says text:a:b", "'text:a:b': a path is"},
        {"says a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q?", "a path is at most 16 names"},
        {"says 'a", "quote"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct line_rule rule;
        struct err err = ERR_INIT;
        int rc = line_rule_parse(cases[i].text, &rule, &err);
        CHECK(rc == (cases[i].why == NULL ? 0 : -1));
        if (cases[i].why != NULL && strstr(err.text, cases[i].why) == NULL)
            CHECK_STR(err.text, cases[i].why);
        line_rule_free(&rule);
    }
}

static const char line[] =
    "{\"type\":\"assistant\",\"meta\":false,\"none\":null,\"n\":12,\"id\":\"m-1\","
    "\"message\":{\"model\":\"opus\",\"content\":[{\"type\":\"text\",\"text\":\"one\"},"
    "{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}},"
    "{\"type\":\"text\",\"text\":\"two\"},\"three\"],"
    "\"usage\":{\"in\":3,\"out\":4,\"cached\":5,\"bad\":-1,\"cost\":0.25}}}";

static struct json *read_line(void)
{
    struct json *json = NULL;
    struct err err = ERR_INIT;

    CHECK(json_parse(line, strlen(line), 4096, &json, &err) == 0);
    return json;
}

TEST(all_conditions_of_a_rule_have_to_hold)
{
    static const struct {
        const char *conditions;
        bool holds;
    } cases[] = {
        {"type=assistant", true},
        {"type=user", false},
        {"type!=user", true},
        {"type!=assistant", false},
        {"other!=x", true},
        {"type^=assist", true},
        {"type^=x", false},
        {"type!^=x", true},
        {"type!^=assist", false},
        {"type=", false},
        {"n=12", true},
        {"n=1", false},
        {"meta=false", true},
        {"none?", false},
        {"none!", true},
        {"meta?", true},
        {"message?", true},
        {"message=x", false},
        {"message.none.more!", true},
        {"type.more?", false},
        {"message.content[].type=tool_use", true},
        {"message.content[].type=text", true},
        {"message.content[].type=image", false},
        {"message.content[].type!=tool_use", false},
        {"message.content[]=three", true},
        {"message[]?", false},
        {"type=assistant n=12 meta=true", false},
    };
    _cleanup_json_ struct json *json = read_line();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text = mem_printf("says %s", cases[i].conditions);
        struct line_rule rule;
        struct err err = ERR_INIT;
        _cleanup_line_ struct line_told told;
        REQUIRE(line_rule_parse(text, &rule, &err) == 0);
        CHECK(line_apply(&rule, json, &told) == cases[i].holds);
        CHECK(!cases[i].holds || line_may_apply(&rule, line, strlen(line)));
        line_rule_free(&rule);
    }
}

TEST(one_condition_of_a_line_that_says_nothing_is_enough)
{
    static const struct {
        const char *conditions;
        bool holds, may; /* may: its text does not say that it cannot */
    } cases[] = {
        {"type=assistant", true, true},
        {"type=user type=assistant", true, true},
        {"type=assistant type=user", true, true},
        {"type=user type=system", false, false},
        {"type=user none?", false, true},
        {"type=user n?", true, true},
        {"type=opus", false, true},
    };
    _cleanup_json_ struct json *json = read_line();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text = mem_printf("nothing %s", cases[i].conditions);
        struct line_rule rule;
        struct err err = ERR_INIT;
        _cleanup_line_ struct line_told told;
        REQUIRE(line_rule_parse(text, &rule, &err) == 0);
        CHECK(line_apply(&rule, json, &told) == cases[i].holds);
        CHECK(line_may_apply(&rule, line, strlen(line)) == cases[i].may);
        line_rule_free(&rule);
    }
}

/* Applies a rule that holds. */
static void apply(const char *text, struct line_told *ret, struct json **ret_json)
{
    struct line_rule rule;
    struct err err = ERR_INIT;

    *ret_json = read_line();
    REQUIRE(line_rule_parse(text, &rule, &err) == 0);
    REQUIRE(line_apply(&rule, *ret_json, ret));
    line_rule_free(&rule);
}

TEST(members_are_where_the_rule_says)
{
    struct json *json[3] = {NULL};
    _cleanup_line_ struct line_told says, tool, usage;

    apply("says text:message.content[].text session:id", &says, &json[0]);
    CHECK_STR(says.told.answer, "one\ntwo");
    CHECK_STR(says.told.session, "m-1");
    apply("tool tool:message.content[].name tool_id:id input:message.content[].input", &tool,
          &json[1]);
    CHECK_STR(tool.told.tool, "Bash");
    CHECK_STR(json_get_text(tool.told.input, "command"), "ls");
    apply("usage once:n model:message.model input:message.usage.in output:message.usage.out "
          "cached:message.usage.bad cost:message.usage.cost used:message.usage.in "
          "used:message.usage.cached window:none",
          &usage, &json[2]);
    CHECK_STR(usage.usage.once, "12");
    CHECK_STR(usage.usage.model, "opus");
    CHECK_INT(usage.usage.tokens.of[TOKENS_INPUT], 3);
    CHECK_INT(usage.usage.tokens.of[TOKENS_OUTPUT], 4);
    CHECK_INT(usage.usage.tokens.of[TOKENS_CACHED_READ], -1);
    CHECK_INT(usage.usage.used, 8); /* members of one name are added up */
    CHECK_INT(usage.usage.window, -1);
    CHECK_INT(usage.usage.cost.micro, 250000);
    for (size_t i = 0; i < ARRAY_LEN(json); i++) /* an array has no cleanup */
        json_free(json[i]);
}

TEST(what_cannot_hold_is_seen_in_the_bytes)
{
    static const struct {
        const char *line;
        bool may;
    } cases[] = {
        {"{\"type\":\"assistant\",\"x\":1}", true},
        {"{\"type\":\"user\"}", false},
        {"{\"type\":\"\\u0061ssistant\"}", true},
    };
    struct line_rule rule;
    struct err err = ERR_INIT;

    REQUIRE(line_rule_parse("says type=assistant meta!=true none! x?", &rule, &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK(line_may_apply(&rule, cases[i].line, strlen(cases[i].line)) == cases[i].may);
    line_rule_free(&rule);
}

TEST(a_line_says_in_which_directory_its_session_began)
{
    static const char text[] = "{\"meta\":{\"cwd\":\"/srv\"},\"n\":1}";
    _cleanup_json_ struct json *json = NULL;
    _cleanup_line_ struct line_told told = {.owned = NULL};
    struct line_rule rule;
    struct err err = ERR_INIT;

    REQUIRE(json_parse(text, strlen(text), strlen(text), &json, &err) == 0);
    REQUIRE(line_rule_parse("session directory:meta.cwd", &rule, &err) == 0);
    REQUIRE(line_apply(&rule, json, &told));
    CHECK_STR(told.directory, "/srv");
    line_rule_free(&rule);
    REQUIRE(line_rule_parse("session directory:n", &rule, &err) == 0);
    REQUIRE(line_apply(&rule, json, &told));
    CHECK(told.directory == NULL);
    line_rule_free(&rule);
}

TEST(windows_of_a_provider_are_read_in_both_forms)
{
    static const char codex[] =
        "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":null,"
        "\"rate_limits\":{\"primary\":{\"used_percent\":12.9,\"window_minutes\":300,"
        "\"resets_at\":1764412200},\"secondary\":null,\"credits\":null}}}";
    static const struct {
        const char *members;
        int percent;
        int64_t minutes, resets_ms;
    } cases[] = {
        {"percent:payload.rate_limits.primary.used_percent "
         "minutes:payload.rate_limits.primary.window_minutes "
         "resets:payload.rate_limits.primary.resets_at",
         12, 300, INT64_C(1764412200000)},
        {"part:payload.rate_limits.primary.used_percent", 999, 0, 0},
        {"percent:payload.type minutes:payload.rate_limits.primary.resets_at", -1, 0, 0},
        {"percent:payload.rate_limits.secondary.used_percent", -1, 0, 0},
    };
    struct err err = ERR_INIT;
    _cleanup_json_ struct json *json = NULL;

    REQUIRE(json_parse(codex, strlen(codex), sizeof codex, &json, &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text =
            mem_printf("quota payload.rate_limits.primary? %s", cases[i].members);
        _cleanup_line_ struct line_told told;
        struct line_rule rule;
        REQUIRE(line_rule_parse(text, &rule, &err) == 0);
        CHECK(line_apply(&rule, json, &told));
        CHECK_INT(told.quota.percent, cases[i].percent);
        CHECK_INT(told.quota.minutes, cases[i].minutes);
        CHECK_INT(told.quota.resets_ms, cases[i].resets_ms);
        line_rule_free(&rule);
    }
}
