#include "unit.h"

#include "host/expand.h"

static const struct expand_value values[] = {{"id", "a \"b\""}, {"dir", "/run"}, {"none", NULL}};

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
