#include "unit.h"

#include "base/id.h"
#include "base/time.h"

/* By hand in time.c; the C library is the judge. */
TEST(agrees_with_timegm)
{
    for (long day = 0; day < 365L * 140; day++) {
        char text[TIME_TEXT];
        time_t t = (time_t)day * 86400 + day % 86400;
        time_t back = -1;
        time_format(t, text);
        if (!time_parse(text, &back) || back != t) {
            CHECK_INT(back, t);
            return;
        }
    }
    CHECK(true);
}

TEST(refuses_other_forms)
{
    static const char *const bad[] = {
        "",
        "2025-12-18",
        "2025-12-18T08:00:00",
        "2025-12-18 08:00:00Z",
        "2025-02-30T08:00:00Z",
        "2023-02-29T08:00:00Z",
        "2025-13-01T08:00:00Z",
        "2025-00-01T08:00:00Z",
        "2025-12-00T08:00:00Z",
        "2025-12-18T24:00:00Z",
        "2025-12-18T08:60:00Z",
        "2025-12-18T08:00:60Z",
        "2025-12-18T08:00:00Zx",
        "2025-12-1xT08:00:00Z",
        "-025-12-18T08:00:00Z",
        "1969-12-31T23:59:59Z",
        "2025-12-18T08:00:0:Z", /* the characters beside the digits */
        "2025-12-18T08:00:1/Z",
    };
    time_t t;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!time_parse(bad[i], &t));
    CHECK(time_parse("2024-02-29T23:59:59Z", &t));
}

TEST(ages_read_well)
{
    char buf[24];
    time_age(100, 159, buf);
    CHECK_STR(buf, "59s");
    time_age(0, 3599, buf);
    CHECK_STR(buf, "59m");
    time_age(0, 86399, buf);
    CHECK_STR(buf, "23h");
    time_age(0, 86400 * 3, buf);
    CHECK_STR(buf, "3d");
    time_age(10, 0, buf);
    CHECK_STR(buf, "0s");
}

TEST(ids_are_random_version_4)
{
    char a[ID_TEXT];
    char b[ID_TEXT];
    struct err err = ERR_INIT;
    REQUIRE(id_make(a, &err) == 0 && id_make(b, &err) == 0);
    CHECK(id_is_valid(a) && id_is_valid(b));
    CHECK(strcmp(a, b) != 0);
}

TEST(ids_of_other_forms_are_none)
{
    static const char *const bad[] = {
        "",
        "550e8400",
        "550e8400-e29b-11d4-a716-446655440000",
        "550e8400-e29b-41d4-c716-446655440000",
        "550E8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-44665544000",
        "550e8400-e29b-41d4-a716-4466554400000",
        "550e8400-e29b-41d4-a716-44665544000g",
        "550e8400 e29b-41d4-a716-446655440000",
        "../../etc/passwd",
    };
    char lower[ID_TEXT];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!id_is_valid(bad[i]));
    CHECK(id_is_valid("550e8400-e29b-41d4-a716-446655440000"));
    CHECK(id_normalise("550E8400-E29B-41D4-A716-446655440000", lower));
    CHECK_STR(lower, "550e8400-e29b-41d4-a716-446655440000");
}

TEST(durations_have_a_unit)
{
    static const struct {
        const char *text;
        int ms;
    } good[] = {{"0", 0},         {"2", 2000},       {"007", 7000},
                {"200ms", 200},   {"2s", 2000},      {"1m", 60000},
                {"3h", 10800000}, {"24h", 86400000}, {"86400000ms", 86400000}};
    static const char *const bad[] = {"",     "s",   "ms",  "-1s",        "+1s",
                                      "1.5s", "1 s", " 1s", "1s ",        "1S",
                                      "1d",   "1sm", "25h", "86400001ms", "99999999999999999999s",
                                      "0x10"};
    int ms;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ms = -1;
        CHECK(time_parse_duration(good[i].text, &ms));
        CHECK_INT(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ms = -1;
        CHECK(!time_parse_duration(bad[i], &ms));
        CHECK_INT(ms, -1);
    }
}

TEST(reads_ages)
{
    static const struct {
        const char *text;
        time_t seconds; /* -1: none */
    } ages[] = {
        {"0s", 0},
        {"30s", 30},
        {"10m", 600},
        {"3h", 10800},
        {"2d", 172800},
        {"1w", 604800},
        {"5200w", 3144960000},
        {"5300w", -1},
        {"", -1},
        {"10", -1},
        {"s", -1},
        {"-1s", -1},
        {"1.5h", -1},
        {"1y", -1},
        {"1h30m", -1},
        {" 1s", -1},
        {"1s ", -1},
        {"1S", -1},
        {"99999999999999999999w", -1},
    };
    for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
        time_t seconds = -1;
        CHECK(time_parse_age(ages[i].text, &seconds) == (ages[i].seconds != -1));
        CHECK_INT(seconds, ages[i].seconds);
    }
}

TEST(the_past_is_an_age_or_a_time)
{
    static const struct {
        const char *text;
        int64_t age_s;
    } ages[] = {{"0s", 0}, {"30s", 30}, {"10m", 600}, {"2d", 172800}, {"1w", 604800}};
    static const char *const bad[] = {"", "10", "m", "2025-12-18", "-1s", "2025-02-30T08:00:00Z"};
    int64_t ms = 7;

    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        int64_t before = (int64_t)time(NULL) - ages[i].age_s;
        CHECK(time_parse_past(ages[i].text, &ms));
        CHECK(ms >= before * 1000 && ms <= (time(NULL) - ages[i].age_s) * 1000 && ms % 1000 == 0);
    }
    CHECK(time_parse_past("1970-01-02T00:00:01Z", &ms));
    CHECK_INT(ms, 86401000);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!time_parse_past(bad[i], &ms) && ms == 86401000);
}

TEST(never_is_later_than_any_time)
{
    CHECK_INT(time_sooner(5, 6), 5);
    CHECK_INT(time_sooner(6, 5), 5);
    CHECK_INT(time_sooner(-1, 5), 5);
    CHECK_INT(time_sooner(5, -1), 5);
    CHECK_INT(time_sooner(-1, -1), -1);
    CHECK_INT(time_sooner(0, 5), 0);
    CHECK_INT(time_sooner(5, 0), 0);
}

TEST(an_id_begins_with_four_digits_or_more)
{
    static const char *const good[] = {
        "0123",
        "aBcD",
        "01234567",
        "0123456789",
        "01234567-",
        "01234567-8",
        "01234567-89ab-cdef-0123-456789abcdef",
        "01234567-89AB-CDEF-0123-456789ABCDEF",
        "0123456789abcdef0123456789abcdef0123456789", /* digits alone, however many */
    };
    static const char *const bad[] = {
        "",
        "012",
        "012g",
        "g123",
        "0123-",
        "-0123",
        "01234567--",
        "0123456789-",
        "01234567-89abc-",
        "01234567-89abcdef",
        "01234567-89ab-cdef-0123-456789abcdef0",
        "01234567-89ab-cdef-0123-456789abcdeg",
        "0123 ",
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!CHECK(id_could_begin(good[i])))
            unit_print_str("text", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!id_could_begin(bad[i])))
            unit_print_str("text", bad[i]);
}
