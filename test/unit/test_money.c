#include "unit.h"

#include "model/money.h"

#include <math.h>

TEST(amounts_are_read_exactly)
{
    static const struct {
        const char *text;
        int64_t micro;
        const char *currency;
    } good[] = {{"5 USD", 5000000, "USD"},
                {"5USD", 5000000, "USD"},
                {"0.25 eur", 250000, "EUR"},
                {"0.000001 USD", 1, "USD"},
                {"1.5 credits", 1500000, "credits"},
                {"1000000 USD", INT64_C(1000000000000), "USD"},
                {"5 aaaaaaaaaaaaaaaa", 5000000, "aaaaaaaaaaaaaaaa"}};
    static const char *const bad[] = {"",
                                      "5",
                                      "USD",
                                      "-5 USD",
                                      "+5 USD",
                                      "5 USD ",
                                      " 5 USD",
                                      "5. USD",
                                      ".5 USD",
                                      "0 USD",
                                      "0.0000001 USD",
                                      "5 U$D",
                                      "5 USD EUR",
                                      "1e3 USD",
                                      "99999999999999999999 USD",
                                      "0x5 USD",
                                      "5 aaaaaaaaaaaaaaaaa",
                                      "5: USD",
                                      "5/ USD",
                                      "5.: USD",
                                      "5.1/ USD",
                                      "nan USD"};
    struct money money;

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK(money_parse(good[i].text, &money));
        CHECK_INT(money.micro, good[i].micro);
        CHECK_STR(money.currency, good[i].currency);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!money_parse(bad[i], &money));
}

TEST(numbers_that_are_no_amounts_are_refused)
{
    int64_t micro = 7;

    CHECK(!money_from_number(-0.01, &micro));
    CHECK(!money_from_number(NAN, &micro));
    CHECK(!money_from_number(INFINITY, &micro));
    CHECK(!money_from_number(-INFINITY, &micro));
    CHECK(!money_from_number(1e300, &micro));
    CHECK_INT(micro, 7);
    CHECK(money_from_number(0, &micro));
    CHECK_INT(micro, 0);
    CHECK(money_from_number(0.1 + 0.2, &micro));
    CHECK_INT(micro, 300000);
    CHECK(money_from_number(1e-9, &micro));
    CHECK_INT(micro, 0);
}

TEST(amounts_are_written_for_people_and_programs)
{
    static const struct {
        int64_t micro;
        const char *number, *text;
    } amounts[] = {{0, "0", "0.0000 USD"},
                   {1, "0.000001", "0.0000 USD"},
                   {12345, "0.012345", "0.0123 USD"},
                   {999999, "0.999999", "1.0000 USD"},
                   {1000000, "1", "1.00 USD"},
                   {5025000, "5.025", "5.03 USD"},
                   {MONEY_MAX, "1125899906.842624", "1125899906.84 USD"}};
    char buf[MONEY_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        const struct money money = {.micro = amounts[i].micro, .currency = "USD"};
        money_format_number(amounts[i].micro, buf);
        CHECK_STR(buf, amounts[i].number);
        money_format(&money, buf);
        CHECK_STR(buf, amounts[i].text);
    }
}

TEST(sums_have_an_end)
{
    CHECK_INT(money_sum(1, 2), 3);
    CHECK_INT(money_sum(MONEY_MAX, 1), MONEY_MAX);
    CHECK_INT(money_sum(MONEY_MAX - 1, MONEY_MAX), MONEY_MAX);
}

TEST(what_was_written_is_read_back)
{
    static const int64_t amounts[] = {0, 1, 333333, INT64_C(1125899906000001)};

    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        const struct money money = {.micro = amounts[i], .currency = "USD"};
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_json_ struct json *json = NULL;
        struct json_out out = {.to = &text};
        struct err err = ERR_INIT;
        struct money got;
        json_open(&out, NULL, '{');
        money_put(&money, &out);
        json_close(&out, '}');
        CHECK_INT(json_parse(text.data, text.len, text.len, &json, &err), 0);
        money_read(json, &got);
        CHECK_INT(got.micro, money.micro);
        CHECK_STR(got.currency, "USD");
    }
}
