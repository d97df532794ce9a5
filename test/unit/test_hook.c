#include "unit.h"

#include "protocol/hook.h"

static int parse(const char *text, struct hook_told *ret)
{
    struct err err = ERR_INIT;

    return hook_parse(text, strlen(text), ret, &err);
}

TEST(each_program_names_its_members_its_own_way)
{
    static const char *const texts[] = {
        "{\"session_id\":\"a-1\",\"prompt\":\"p\",\"last_assistant_message\":\"x\",\"error\":\"e\","
        "\"tool_name\":\"Bash\",\"tool_use_id\":\"t\",\"tool_input\":{\"command\":\"ls\"}}",
        "{\"sessionId\":\"a-1\",\"prompt\":\"p\",\"prompt_response\":\"x\",\"error\":{\"message\":"
        "\"e\"},\"toolName\":\"Bash\",\"toolCallId\":\"t\",\"toolInput\":{\"command\":\"ls\"}}",
        "{\"sessionID\":\"a-1\",\"prompt\":\"p\",\"prompt_response\":\"x\",\"error\":\"e\","
        "\"toolName\":\"Bash\",\"toolCallId\":\"t\",\"toolArgs\":{\"command\":\"ls\"}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_hook_ struct hook_told told;
        REQUIRE(parse(texts[i], &told) == 0);
        CHECK_STR(told.session, "a-1");
        CHECK_STR(told.prompt, "p");
        CHECK_STR(told.answer, "x");
        CHECK_STR(told.error, "e");
        CHECK_STR(told.tool, "Bash");
        CHECK_STR(told.tool_id, "t");
        CHECK_STR(json_get_text(told.input, "command"), "ls");
        CHECK(told.source == NULL);
    }
}

TEST(what_goes_on_behind_a_turn_is_a_list_with_something_in_it)
{
    static const struct {
        const char *text;
        bool behind;
    } cases[] = {{"{\"background_tasks\":[],\"session_crons\":[]}", false},
                 {"{\"background_tasks\":[{}]}", true},
                 {"{\"background_tasks\":[],\"session_crons\":[1]}", true},
                 {"{\"background_tasks\":1}", false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_hook_ struct hook_told told;
        REQUIRE(parse(cases[i].text, &told) == 0);
        CHECK(told.behind == cases[i].behind);
    }
}

TEST(what_is_missing_or_of_another_type_is_not_told)
{
    _cleanup_hook_ struct hook_told told;

    REQUIRE(parse("{\"session_id\":7,\"prompt\":[\"p\"],\"error\":[],\"source\":\"clear\"}",
                  &told) == 0);
    CHECK(told.session == NULL && told.prompt == NULL && told.error == NULL);
    CHECK_STR(told.source, "clear");
}

/* An id is put into a command line, and into paths. */
TEST(an_id_is_a_word)
{
    char longest[HOOK_ID_MAX + 2] = "";
    static const char *const bad[] = {"", "-x", "a/b", "..", "a b", "{id}", "a\\n"};

    memset(longest, 'a', HOOK_ID_MAX + 1);
    for (size_t i = 0; i <= ARRAY_LEN(bad) + 1; i++) {
        struct hook_told told;
        const char *id = i < ARRAY_LEN(bad) ? bad[i] : longest;
        _cleanup_free_ char *text = mem_printf("{\"session_id\":\"%s\"}", id);
        bool fits = i > ARRAY_LEN(bad);
        CHECK(parse(text, &told) == (fits ? 0 : -1));
        CHECK(fits == (told.json != NULL));
        hook_free(&told);
        if (i == ARRAY_LEN(bad))
            longest[HOOK_ID_MAX] = '\0'; /* the longest one that fits */
    }
}

TEST(what_is_no_json_is_damaged)
{
    struct hook_told told;

    CHECK(parse("", &told) == -1);
    CHECK(parse("{\"session_id\":\"a\"", &told) == -1);
    CHECK(parse("{}", &told) == 0);
    hook_free(&told);
}
