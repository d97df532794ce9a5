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
