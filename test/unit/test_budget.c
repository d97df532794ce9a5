#include "unit.h"

#include "model/budget.h"

TEST(limits_are_read_and_written)
{
    static const struct {
        enum budget_kind kind;
        const char *text;
        int64_t amount;
        const char *written, *shown;
    } good[] = {
        {BUDGET_COST, "5 USD", 5000000, "5 USD", "5.00 USD"},
        {BUDGET_COST, "0.5 eur", 500000, "0.5 EUR", "0.5000 EUR"},
        {BUDGET_TOKENS, "200k", 200000, "200000", "200000 tokens"},
        {BUDGET_TOKENS, "5M", 5000000, "5000000", "5000000 tokens"},
        {BUDGET_TURNS, "10", 10, "10", "10 turns"},
        {BUDGET_TIME, "90m", 5400000, "5400s", "1h30m"},
        {BUDGET_TIME, "2d", 172800000, "172800s", "48h00m"},
        {BUDGET_TIME, "65s", 65000, "65s", "1m05s"},
    };
    struct budget_limit limit, again;
    char text[BUDGET_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK(budget_parse(good[i].kind, good[i].text, &limit) == NULL);
        CHECK_INT(limit.amount, good[i].amount);
        budget_format(good[i].kind, &limit, text);
        CHECK_STR(text, good[i].shown);
        budget_write(good[i].kind, &limit, text);
        CHECK_STR(text, good[i].written);
        CHECK(budget_parse(good[i].kind, text, &again) == NULL);
        CHECK_INT(again.amount, limit.amount);
        CHECK_STR(again.currency, limit.currency);
    }
}

TEST(what_is_no_limit_is_refused)
{
    static const struct {
        enum budget_kind kind;
        const char *text;
    } bad[] = {{BUDGET_COST, ""},       {BUDGET_COST, "5"},
               {BUDGET_COST, "-5 USD"}, {BUDGET_COST, "0 USD"},
               {BUDGET_TOKENS, "0"},    {BUDGET_TOKENS, "-1"},
               {BUDGET_TOKENS, "1.5M"}, {BUDGET_TOKENS, "2000G"},
               {BUDGET_TURNS, "0"},     {BUDGET_TURNS, "10k"},
               {BUDGET_TURNS, "-1"},    {BUDGET_TIME, "10"},
               {BUDGET_TIME, "0s"},     {BUDGET_TIME, "367d"},
               {BUDGET_TIME, "soon"},   {BUDGET_TURNS, "99999999999999999999"}};
    struct budget_limit limit;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(budget_parse(bad[i].kind, bad[i].text, &limit) != NULL);
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        char text[BUDGET_TEXT];
        CHECK(budget_parse(i, "none", &limit) == NULL);
        CHECK_INT(limit.amount, -1);
        budget_write(i, &limit, text);
        CHECK_STR(text, "none");
    }
}

static bool reads(const char *text, struct budget *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    *ret = (struct budget){.of = {{.amount = 0}}};
    return json_parse(text, strlen(text), strlen(text), &json, &err) == 0 && budget_read(json, ret);
}

TEST(a_budget_is_kept_as_json)
{
    struct budget budget, again;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    CHECK(reads("{\"cost\":\"5 USD\",\"time\":\"none\"}", &budget));
    budget_put(&budget, &out);
    CHECK_STR(str_text(&text), "\"budget\":{\"cost\":\"5 USD\",\"time\":\"none\"}");
    CHECK(reads(text.data + strlen("\"budget\":"), &again));
    CHECK_INT(again.of[BUDGET_COST].amount, 5000000);
    CHECK(budget_read(NULL, &budget));
    CHECK(!reads("[]", &budget));
    CHECK(!reads("7", &budget));
    CHECK(!reads("{\"cost\":5}", &budget));
    CHECK(!reads("{\"cost\":\"5\"}", &budget));
    CHECK(!reads("{\"coffee\":\"5\"}", &budget));
}

TEST(what_is_used_is_told_beside_the_limit)
{
    static const struct {
        struct budget_held held;
        const char *json, *text;
    } cases[] = {
        {{.of = {{.used = 5}}}, "{\"budget\":null}", ""},
        {{.of = {[BUDGET_TURNS] = {.limit.amount = -1, .used = 5}}}, "{\"budget\":null}", ""},
        {{.of = {[BUDGET_COST] = {{5000000, "USD"}, {0, ""}, 1200000, "mas set"},
                 [BUDGET_TURNS] = {{10, ""}, {0, ""}, 3, "preset claude"}}},
         "{\"budget\":{\"cost\":{\"amount\":\"5 USD\",\"used\":\"1.2 USD\",\"from\":\"mas set\"},"
         "\"turns\":{\"amount\":\"10\",\"used\":\"3\",\"from\":\"preset claude\"}}}",
         "1.20 USD of 5.00 USD (mas set), 3 turns of 10 turns (preset claude)"},
        {{.of = {[BUDGET_COST] = {{5000000, "EUR"}, {0, ""}, 0, "a"},
                 [BUDGET_TOKENS] = {{9, ""}, {0, ""}, 0, "b"},
                 [BUDGET_TIME] = {{90000, ""}, {0, ""}, 0, "c"}}},
         "{\"budget\":{\"cost\":{\"amount\":\"5 EUR\",\"used\":\"0 EUR\",\"from\":\"a\"},"
         "\"tokens\":{\"amount\":\"9\",\"used\":\"0\",\"from\":\"b\"},"
         "\"time\":{\"amount\":\"90s\",\"used\":\"0s\",\"from\":\"c\"}}}",
         "0.0000 EUR of 5.00 EUR (a), 0 tokens of 9 tokens (b), time 0s of 1m30s (c)"},
        {{.of = {[BUDGET_TOKENS] = {{9, ""}, {0, ""}, -1, "b"}}},
         "{\"budget\":{\"tokens\":{\"amount\":\"9\",\"used\":null,\"from\":\"b\"}}}",
         "9 tokens (b; its use is not told)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str json = STR_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &json};
        json_open(&out, NULL, '{');
        budget_held_put(&cases[i].held, &out);
        json_close(&out, '}');
        CHECK_STR(json.data, cases[i].json);
        budget_held_describe(&cases[i].held, &text);
        CHECK_STR(str_text(&text), cases[i].text);
        CHECK_INT(budget_held_any(&cases[i].held), cases[i].text[0] != '\0');
    }
}

TEST(times_read_well)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {{0, "0s"},          {1, "1ms"},          {999, "999ms"},      {1000, "1s"},
                 {59000, "59s"},     {60000, "1m00s"},    {3599000, "59m59s"}, {3600000, "1h00m"},
                 {3660000, "1h01m"}, {86400000, "24h00m"}};
    char text[BUDGET_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        budget_format(BUDGET_TIME, &(struct budget_limit){.amount = cases[i].ms}, text);
        CHECK_STR(text, cases[i].want);
    }
    /* as much as is needed to read no less back */
    budget_write(BUDGET_TIME, &(struct budget_limit){.amount = 1001}, text);
    CHECK_STR(text, "2s");
    budget_write(BUDGET_TIME, &(struct budget_limit){.amount = 1000}, text);
    CHECK_STR(text, "1s");
    budget_write(BUDGET_TURNS, &(struct budget_limit){.amount = 0}, text);
    CHECK_STR(text, "");
}
