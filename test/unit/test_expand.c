#include "unit.h"

#include "base/env.h"
#include "host/expand.h"

static const struct expand_value values[] = {{"id", "a \"b\""},
                                             {"dir", "/run"},
                                             {"none", NULL},
                                             {"event", "UserPromptSubmit"},
                                             {"json", "abc"}};

TEST(placeholders_are_replaced_and_other_braces_stay)
{
    static const struct {
        const char *text, *old, *want;
    } cases[] = {
        {"--x={id}", NULL, "--x=a \"b\""},
        {"{json:id}", NULL, "\"a \\\"b\\\"\""},
        {"{\"a\": {\"b\": \"{dir}/x\"}}", NULL, "{\"a\": {\"b\": \"/run/x\"}}"},
        {"{none}{json:none}", NULL, "\"\""},
        {"{other}{id", NULL, "{other}{id"},
        {"{}{{dir}}", NULL, "{}{/run}"},
        {"{dir}{,old}", "before", "/run,before"},
        {"{dir}{,old}", "", "/run"},
        {"{dir}{,old}", NULL, "/run"},
        {"{snake:event} {event}", NULL, "user_prompt_submit UserPromptSubmit"},
        {"{sha256:json}", NULL, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"{json}{sha1:json}", NULL, "abc{sha1:json}"},
        {"", NULL, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *got =
            expand_text(values, ARRAY_LEN(values), cases[i].text, cases[i].old);
        CHECK_STR(got, cases[i].want);
    }
}

TEST(a_value_stays_one_word)
{
    _cleanup_strv_ char **words = NULL;

    strv_push(&words, "program");
    expand_words(values, ARRAY_LEN(values), "--id {id} '{dir} x'", &words);
    REQUIRE(strv_len(words) == 4);
    CHECK_STR(words[1], "--id");
    CHECK_STR(words[2], "a \"b\"");
    CHECK_STR(words[3], "/run x");
}

TEST(a_variable_keeps_its_value_or_both_become_one)
{
    static const struct {
        const char *old, *text, *want; /* want NULL: it keeps its value */
    } cases[] = {
        {NULL, "{dir}", "/run"},
        {"", "{dir}", "/run"},
        {"a", "{dir}", NULL},
        {"a", "{dir}{,old}", "/run,a"},
        {"{}", "{\"a\": [{json:dir}]}", "{\"a\":[\"/run\"]}"},
        {"{\"a\":[1],\"b\":{\"c\":2,\"d\":3}}", "{\"a\":[4,1],\"b\":{\"c\":5,\"e\":6},\"f\":7}",
         "{\"a\":[1,4,1],\"b\":{\"c\":2,\"d\":3,\"e\":6},\"f\":7}"},
        {"{\"a\":null}", "{\"a\":[1]}", "{\"a\":null}"},
        {"[1]", "[2]", NULL},
        {"{\"a\":1} // a comment", "{\"b\":2}", NULL},
        {"{\"a\":1}", "none", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_strv_ char **env = NULL;
        struct kv_pair variable = {.key = (char *)"V", .value = (char *)cases[i].text};
        if (cases[i].old != NULL)
            env_put(&env, "V", cases[i].old);
        bool set = expand_variable(values, ARRAY_LEN(values), &variable, &env);
        CHECK_INT(set, cases[i].want != NULL);
        CHECK_STR(env_get(env, "V"), cases[i].want != NULL ? cases[i].want : cases[i].old);
    }
}

/* Codex 0.171.0 wrote this sum into its config.toml when it was told to trust the hook. */
TEST(codex_trusts_a_hook_by_this_sum)
{
    static const struct expand_value event[] = {{"event", "UserPromptSubmit"},
                                                {"command", "/bin/true"}};
    _cleanup_free_ char *hook =
        expand_text(event, ARRAY_LEN(event),
                    "{\"event_name\":\"{snake:event}\",\"hooks\":[{\"async\":false,"
                    "\"command\":{json:command},\"timeout\":3,\"type\":\"command\"}]}",
                    NULL);
    const struct expand_value made[] = {{"hook", hook}};
    _cleanup_free_ char *sum = expand_text(made, 1, "sha256:{sha256:hook}", NULL);

    CHECK_STR(sum, "sha256:07b8397f9008014e7377e0ef608658410d6e2570a5a67bfac2226861807d9ff9");
}
