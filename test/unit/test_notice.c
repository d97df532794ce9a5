#include "unit.h"

#include "model/notice.h"

enum { LONG_MS = 30000 };

TEST(kinds_are_a_list)
{
    unsigned kinds = 99;

    CHECK(VALUE_PARSE(&notice_kinds_type, "", &kinds) == NULL);
    CHECK_INT(kinds, 0);
    CHECK(VALUE_PARSE(&notice_kinds_type, "waiting, done conflict", &kinds) == NULL);
    CHECK_INT(kinds, 1U << NOTICE_WAITING | 1U << NOTICE_DONE | 1U << NOTICE_CONFLICT);
    CHECK(VALUE_PARSE(&notice_kinds_type, "waiting, maybe", &kinds) != NULL);
    CHECK_INT(kinds, 1U << NOTICE_WAITING | 1U << NOTICE_DONE | 1U << NOTICE_CONFLICT);
}

TEST(a_request_has_an_id_of_its_own)
{
    char one[REQUEST_ID_TEXT], two[REQUEST_ID_TEXT];

    request_id("5a3cd415-3be7-4c03-ba3f-d08b164adb0b:7", "", one);
    request_id("5a3cd415-3be7-4c03-ba3f-d08b164adb0b:8", "", two);
    CHECK(request_id_is_valid(one));
    CHECK(strcmp(one, two) != 0);
    request_id("5a3cd415-3be7-4c03-ba3f-d08b164adb0b:7", "something else", two);
    CHECK(strcmp(one, two) != 0);
    request_id("", "x", one);
    CHECK_STR(one, "");
    request_id(NULL, NULL, one);
    CHECK_STR(one, "");
    CHECK(!request_id_is_valid("r-1234567"));
    CHECK(!request_id_is_valid("r-123456789"));
    CHECK(!request_id_is_valid("r-1234567G"));
    CHECK(!request_id_is_valid("5a3cd415"));
}

/* A state that lasts, a state that comes again, and requests that follow each other. */
TEST(each_change_is_told_once)
{
    static const struct {
        struct agent_status status;
        int64_t at;
        int kind; /* -1: nothing is told */
    } steps[] = {
        {{.state = AGENT_STARTING}, 1000, -1},
        {{.state = AGENT_IDLE}, 2000, -1},
        {{.state = AGENT_WORKING}, 3000, -1},
        {{.state = AGENT_WAITING, .permission = (char *)(uintptr_t) "a:1"}, 4000, NOTICE_WAITING},
        {{.state = AGENT_WAITING, .permission = (char *)(uintptr_t) "a:1"}, 5000, -1},
        {{.state = AGENT_WAITING, .permission = (char *)(uintptr_t) "a:2"}, 6000, NOTICE_WAITING},
        {{.state = AGENT_WORKING}, 7000, -1},
        {{.state = AGENT_IDLE}, 3000 + LONG_MS, NOTICE_DONE},
        {{.state = AGENT_IDLE}, 3001 + LONG_MS, -1},
        {{.state = AGENT_WORKING}, 100000, -1},
        {{.state = AGENT_IDLE}, 99999 + LONG_MS, -1},
        {{.state = AGENT_WORKING}, 140000, -1},
        {{.state = AGENT_IDLE, .done_ms = 5, .seen_ms = 5}, 140000 + LONG_MS, -1},
        {{.state = AGENT_WORKING, .done_ms = 5, .seen_ms = 5}, 180000, -1},
        {{.state = AGENT_IDLE, .done_ms = 6, .seen_ms = 5}, 180000 + LONG_MS, NOTICE_DONE},
        {{.state = AGENT_LIMITED}, 250000, NOTICE_LIMIT},
        {{.state = AGENT_LIMITED}, 250001, -1},
        {{.state = AGENT_PAUSED}, 250002, NOTICE_LIMIT},
        {{.state = AGENT_CRASHED}, 250003, NOTICE_CRASHED},
        {{.state = AGENT_STARTING}, 250004, -1},
        {{.state = AGENT_CRASHED}, 250005, NOTICE_CRASHED},
        {{.state = AGENT_STARTING}, 250006, -1},
        {{.state = AGENT_WAITING}, 250007, NOTICE_WAITING},
        {{.state = AGENT_EXITED}, 250007 + LONG_MS, NOTICE_DONE},
        {{.state = AGENT_ASLEEP}, 300000, -1},
        {{.state = AGENT_WORKING}, 400000, -1}, /* a turn that fails is told at once, elsewhere */
        {{.state = AGENT_IDLE, .done_ms = 9, .turn = TURN_FAILED}, 400000 + LONG_MS, -1},
    };
    struct notice_state state = {.busy_ms = 0};
    struct notice got;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        bool told = notice_of_change(&state, &steps[i].status, steps[i].at, LONG_MS, &got);
        CHECK_INT(told ? (int)got.kind : -1, steps[i].kind);
        if (told)
            CHECK_INT(got.at_ms, steps[i].at);
    }
}

TEST(a_crash_says_how_it_ended)
{
    struct notice_state state = {.busy_ms = 0};
    struct agent_status status = {
        .state = AGENT_CRASHED, .exit_code = -1, .signal = 9, .title = (char *)(uintptr_t) "title"};
    struct notice got;

    REQUIRE(notice_of_change(&state, &status, 1, LONG_MS, &got));
    CHECK_STR(got.text, "was killed by signal 9 (Killed)");
    state = (struct notice_state){.busy_ms = 0};
    status.exit_code = 3;
    status.signal = 0;
    status.note = (char *)(uintptr_t) "out of paper";
    REQUIRE(notice_of_change(&state, &status, 1, LONG_MS, &got));
    CHECK_STR(got.text, "exited with code 3: out of paper");
}

TEST(text_is_one_safe_line)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {NULL, ""},
        {"plain; $(id) `x` 'q'", "plain; $(id) `x` 'q'"},
        {"a\033]0;t\007b\nc\x7f", "a ]0;t b c "},
        {"c1 \xc2\x9b 31m \xc3\xa4", "c1    31m \xc3\xa4"},
        {"bad \xff\xfe", "bad ??"},
    };
    struct notice notice;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        notice_fill(NOTICE_DONE, 1, cases[i].text, &notice);
        CHECK_STR(notice.text, cases[i].want);
    }
    char big[3 * NOTICE_TEXT_MAX];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    notice_fill(NOTICE_DONE, 1, big, &notice);
    CHECK_INT(strlen(notice.text), NOTICE_TEXT_MAX - 1);
}

static bool parse(const char *text, struct notice *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    return CHECK(json_parse(text, strlen(text), 4096, &json, &err) == 0) &&
           notice_parse(json, ret, &err) == 0;
}

TEST(a_notice_survives_the_way)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct notice notice, got;

    notice_fill(NOTICE_LIMIT, 1234567890123, "a \"text\" \\ more", &notice);
    request_id("x:1", NULL, notice.request);
    json_open(&out, NULL, '{');
    notice_put(&notice, &out);
    json_close(&out, '}');
    REQUIRE(parse(str_text(&text), &got));
    CHECK_INT(got.kind, notice.kind);
    CHECK_INT(got.at_ms, notice.at_ms);
    CHECK_STR(got.request, notice.request);
    CHECK_STR(got.text, notice.text);
    CHECK(!parse("{}", &got));
    CHECK(!parse("{\"kind\":\"limit\",\"at\":-1,\"request\":\"\",\"text\":\"\"}", &got));
    CHECK(!parse("{\"kind\":\"limit\",\"at\":1,\"request\":\"r-x\",\"text\":\"\"}", &got));
    CHECK(!parse("{\"kind\":\"other\",\"at\":1,\"request\":\"\",\"text\":\"\"}", &got));
}

TEST(quiet_hours_may_go_over_midnight)
{
    struct notice_quiet quiet;

    REQUIRE(notice_parse_quiet("22:00-07:30", &quiet));
    CHECK(notice_is_quiet(&quiet, 22 * 60));
    CHECK(notice_is_quiet(&quiet, 0));
    CHECK(notice_is_quiet(&quiet, 7 * 60 + 29));
    CHECK(!notice_is_quiet(&quiet, 7 * 60 + 30));
    CHECK(!notice_is_quiet(&quiet, 21 * 60 + 59));
    REQUIRE(notice_parse_quiet("12:00-13:00", &quiet));
    CHECK(notice_is_quiet(&quiet, 12 * 60));
    CHECK(!notice_is_quiet(&quiet, 13 * 60));
    REQUIRE(notice_parse_quiet("", &quiet));
    CHECK(!notice_is_quiet(&quiet, 0));
    static const char *const bad[] = {"22:00",       "24:00-07:00",  "22:00-07:60",
                                      "22:00 07:00", "22:00-07:000", "2:000-07:00"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!notice_parse_quiet(bad[i], &quiet));
}
