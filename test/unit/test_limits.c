#include "unit.h"

#include "base/json.h"
#include "model/limits.h"
#include "store/limits/session_limits.h"

TEST(amounts_are_read_and_written)
{
    static const struct {
        enum limit_kind kind;
        const char *text;
        int64_t amount;
        const char *written, *shown;
    } good[] = {
        {LIMIT_SESSION, "2G", INT64_C(2) << 30, "2147483648", "2.0G"},
        {LIMIT_AGENT, "none", -1, "none", "none"},
        {LIMIT_AGENT, "0", -1, "none", "none"},
        {LIMIT_MEMORY, "16M", 16 << 20, "16777216", "16M"},
        {LIMIT_CPUS, "1.5", 150, "1.5", "1.5"},
        {LIMIT_CPUS, "2", 200, "2", "2"},
        {LIMIT_CPUS, "0.05", 5, "0.05", "0.05"},
        {LIMIT_PROCESSES, "100", 100, "100", "100"},
    };
    static const struct {
        enum limit_kind kind;
        const char *text;
    } bad[] = {{LIMIT_SESSION, "2048T"}, {LIMIT_AGENT, "-1"},          {LIMIT_MEMORY, "1M"},
               {LIMIT_MEMORY, ""},       {LIMIT_CPUS, "1.234"},        {LIMIT_CPUS, "5000"},
               {LIMIT_PROCESSES, "1k"},  {LIMIT_PROCESSES, "4194305"}, {LIMIT_PROCESSES, "None"}};
    char text[LIMIT_TEXT];
    int64_t amount = 0, again = 0;

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK(limit_parse(good[i].kind, good[i].text, &amount) == NULL);
        CHECK_INT(amount, good[i].amount);
        limit_write(good[i].kind, amount, text);
        CHECK_STR(text, good[i].written);
        CHECK(limit_parse(good[i].kind, text, &again) == NULL);
        CHECK_INT(again, amount);
        limit_format(good[i].kind, amount, text);
        CHECK_STR(text, good[i].shown);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(limit_parse(bad[i].kind, bad[i].text, &amount) != NULL);
}

TEST(words_name_an_agent_and_a_kind)
{
    static const struct {
        const char *word, *agent;
        enum limit_kind kind;
    } good[] = {{"memory=1G", NULL, LIMIT_MEMORY},
                {"limits.memory=1G", NULL, LIMIT_MEMORY},
                {"11.memory=1G", "11", LIMIT_MEMORY},
                {"11.limits.agent=1G", "11", LIMIT_AGENT},
                {"limits.session=1G", NULL, LIMIT_SESSION}};
    static const char *const bad[] = {"memory",      ".memory=1G",       "11.session=1G",
                                      "memor=1G",    "limits.=1G",       "=1G",
                                      "budget.x=1G", "11.limits.x=none", "memory=1M"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char *agent = NULL;
        enum limit_kind kind = LIMIT_KIND_COUNT;
        const char *wrong = NULL;
        int64_t amount = 0;
        CHECK(session_limits_parse(good[i].word, &agent, &kind, &amount, &wrong));
        CHECK_INT(kind, good[i].kind);
        CHECK_INT(amount, INT64_C(1) << 30);
        CHECK_STR(agent != NULL ? agent : "-", good[i].agent != NULL ? good[i].agent : "-");
        free(agent);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *agent = NULL;
        enum limit_kind kind = LIMIT_KIND_COUNT;
        const char *wrong = NULL;
        int64_t amount = 0;
        CHECK(!session_limits_parse(bad[i], &agent, &kind, &amount, &wrong));
        CHECK((wrong != NULL) == (strcmp(bad[i], "memory=1M") == 0));
    }
}

TEST(a_foreign_object_is_refused)
{
    static const char *const bad[] = {"{\"memory\":5}", "{\"memory\":\"x\"}", "{\"disk\":\"1G\"}",
                                      "[]", "\"1G\""};
    struct limit_set set = {.of = {0}};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_json_ struct json *json = NULL;
        struct err err = ERR_INIT;
        CHECK_INT(json_parse(bad[i], strlen(bad[i]), 1000, &json, &err), 0);
        CHECK(!limit_set_read(json, &set));
    }
    CHECK(limit_set_read(NULL, &set));
}

/* Of no limit, of one, and of several, with what is used and without. */
TEST(limits_that_hold_are_told_and_read_back)
{
    static const struct {
        struct limits_held held;
        const char *json, *text;
    } cases[] = {
        {{.of = {{0}}}, "{\"limits\":null}", ""},
        {{.of = {[LIMIT_CPUS] = {-1, "mas set", 5}}}, "{\"limits\":null}", ""},
        {{.of = {[LIMIT_MEMORY] = {2 << 20, "preset 'a'", 1 << 20}}},
         "{\"limits\":{\"memory\":{\"amount\":\"2097152\",\"used\":\"1048576\","
         "\"from\":\"preset 'a'\"}}}",
         "memory 1.0M of 2.0M (preset 'a')"},
        {{.of = {[LIMIT_SESSION] = {INT64_C(1) << 30, "mas.ini", 0},
                 [LIMIT_AGENT] = {0, "mas set", 7},
                 [LIMIT_CPUS] = {150, "mas set", -1},
                 [LIMIT_PROCESSES] = {10, "x", 3}}},
         "{\"limits\":{\"session\":{\"amount\":\"1073741824\",\"from\":\"mas.ini\"},"
         "\"cpus\":{\"amount\":\"1.5\",\"from\":\"mas set\"},"
         "\"processes\":{\"amount\":\"10\",\"used\":\"3\",\"from\":\"x\"}}}",
         "session's disk 1.0G (mas.ini), cpus 1.5 (mas set), processes 3 of 10 (x)"},
        {{.of = {[LIMIT_AGENT] = {1024, "x", 512}}},
         "{\"limits\":{\"agent\":{\"amount\":\"1024\",\"used\":\"512\",\"from\":\"x\"}}}",
         "agent's disk 512B of 1.0K (x)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str json = STR_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_json_ struct json *object = NULL;
        struct json_out out = {.to = &json};
        struct limits_held again = {.of = {[LIMIT_MEMORY] = {9, "before", 9}}};
        struct err err = ERR_INIT;
        json_open(&out, NULL, '{');
        limits_held_put(&cases[i].held, &out);
        json_close(&out, '}');
        CHECK_STR(json.data, cases[i].json);
        limits_held_describe(&cases[i].held, &text);
        CHECK_STR(str_text(&text), cases[i].text);
        CHECK_INT(limits_held_any(&cases[i].held), cases[i].text[0] != '\0');
        CHECK_INT(json_parse(json.data, json.len, 4096, &object, &err), 0);
        limits_held_parse(json_get(object, "limits"), &again);
        for (enum limit_kind kind = 0; kind < LIMIT_KIND_COUNT; kind++) {
            int64_t amount = cases[i].held.of[kind].amount;
            if (kind == LIMIT_MEMORY && amount > 0 && amount < (16 << 20))
                continue; /* less than an agent may have */
            CHECK_INT(again.of[kind].amount, amount > 0 ? amount : 0);
            CHECK_STR(again.of[kind].from, amount > 0 ? cases[i].held.of[kind].from : "");
        }
    }
}

TEST(kinds_have_names)
{
    static const char *const wanted[] = {"session", "agent", "memory", "cpus", "processes"};
    enum limit_kind kind = LIMIT_KIND_COUNT;

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        CHECK_STR(limit_kind_name(i), wanted[i]);
        CHECK(limit_kind_parse(wanted[i], strlen(wanted[i]), &kind) && kind == i);
        CHECK(!limit_kind_parse(wanted[i], strlen(wanted[i]) - 1, &kind));
        CHECK_INT(limit_is_of_agent(i), i != LIMIT_SESSION);
    }
    CHECK(!limit_kind_parse("cpus=1", 6, &kind) && limit_kind_parse("cpus=1", 4, &kind));
}
