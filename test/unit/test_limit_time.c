/* When a limit ends, in words and data of agents: protocol/acp_limit_time.h. */
#include "unit.h"

#include "base/time.h"
#include "protocol/acp_limit_time.h"

static const int64_t now = INT64_C(1795000000000); /* 2026-11-18T11:06:40Z, a Wednesday */

static void ends_in(const char *text, int64_t ms)
{
    if (!CHECK_INT(acp_limit_time_in(text, now), ms > 0 ? now + ms + 1 : 0))
        printf("# %s\n", text);
}

static void ends_at(const char *text, const char *until)
{
    time_t t = 0;

    CHECK(until == NULL || time_parse(until, &t));
    if (!CHECK_INT(acp_limit_time_in(text, now), (int64_t)t * 1000))
        printf("# %s\n", text);
}

TEST(a_span_is_read_in_all_its_forms)
{
    static const struct {
        const char *span;
        int64_t ms; /* 0: none */
    } spans[] = {
        {"1 millisecond", 1},
        {"20 milliseconds", 20},
        {"20ms", 20},
        {"2 seconds", 2000},
        {"1 second", 1000},
        {"3 secs", 3000},
        {"1 sec", 1000},
        {"34.07s", 34070},
        {"2 minutes", 120000},
        {"1 minute", 60000},
        {"2 mins", 120000},
        {"1 Min.", 60000},
        {"5m", 300000},
        {"2 HOURS", 7200000},
        {"1 hour", 3600000},
        {"2hrs", 7200000},
        {"1 hr", 3600000},
        {"1h", 3600000},
        {"2 days", 172800000},
        {"1 day", 86400000},
        {"3d", 259200000},
        {"5h12m10s", 18730000},
        {"2 hours and 5 minutes", 7500000},
        {"3 days, 4 hours and 5 minutes", 273900000},
        {": \"7s\"", 7000},
        {"=7s", 7000},
        {"1 hour 2", 3600000},
        {"1 hour, 2 apples", 3600000},
        {"", 0},
        {"5", 0},
        {"5 apples", 0},
        {"5 mss", 0},
        {"a while", 0},
        {"and 5s", 5000},
        {"0 seconds", 0},
        {"399 days", INT64_C(399) * 86400000},
        {"400 days", 0},
        {"34560000 ms", 34560000},
        {"34560001 ms", 0},
        {"34560001 s", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        _cleanup_free_ char *text = mem_printf("Try again in %s", spans[i].span);
        ends_in(text, spans[i].ms);
    }
}

TEST(words_stand_before_a_span_or_a_clock)
{
    static const char *const spans[] = {
        "Try again in 7s",     "please RETRY IN 7s", "retry after 7s", "Retry-After: 7s",
        "will reset after 7s", "resets in 7s",       "reset in 7s",    "\"retryDelay\": \"7s\"",
        "available in 7s",     "wait for 7s",        "wait 7s"};
    static const char *const clocks[] = {"resets at 3pm UTC",    "reset at 3pm UTC",
                                         "try again at 3pm UTC", "resets on Nov 18, 3pm UTC",
                                         "Resets 3pm UTC",       "available at 3pm UTC"};

    for (size_t i = 0; i < ARRAY_LEN(spans); i++)
        ends_in(spans[i], 7000);
    for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
        ends_at(clocks[i], "2026-11-18T15:00:00Z");
    ends_in("resets at 3pm UTC, try again in 7s", 7000); /* spans first */
    ends_in("try again in a while, or wait 7s", 7000);
    ends_at("try again at lunch; resets 3pm UTC", "2026-11-18T15:00:00Z");
    ends_at("nothing of that", NULL);
}

TEST(a_clock_is_read_in_all_its_forms)
{
    static const struct {
        const char *clock, *until; /* NULL: none */
    } clocks[] = {
        {"3pm", "2026-11-18T15:00:00Z"},
        {"3 PM", "2026-11-18T15:00:00Z"},
        {"3 p.m.", "2026-11-18T15:00:00Z"},
        {"3 p.m", "2026-11-18T15:00:00Z"},
        {"11:30 a.m.", "2026-11-18T11:30:00Z"},
        {"11:30 a.m", "2026-11-18T11:30:00Z"},
        {"3:05\xc2\xa0pm", "2026-11-18T15:05:00Z"},
        {"3:05 \xe2\x80\xaf\xc2\xa0 pm", "2026-11-18T15:05:00Z"},
        {"noon", "2026-11-18T12:00:00Z"},
        {"Midnight", "2026-11-19T00:00:00Z"},
        {"12:00 am", "2026-11-19T00:00:00Z"},
        {"12 pm", "2026-11-18T12:00:00Z"},
        {"1am", "2026-11-19T01:00:00Z"},
        {"13am", NULL},
        {"0 pm", NULL},
        {"23:59", "2026-11-18T23:59:00Z"},
        {"24:00", NULL},
        {"15:60", NULL},
        {"15:59:59", "2026-11-18T15:59:59Z"},
        {"15:59:60", NULL},
        {"15:04:05.25", "2026-11-18T15:04:05Z"},
        {"15:04:5", "2026-11-18T15:04:05Z"},
        {"15:", NULL},
        {"15", NULL},
        {"123:00", NULL},
        {"3:05pmx", "2026-11-19T03:05:00Z"},
        {"nooner", NULL},
        /* not yet, just now, a little ago: that is tomorrow's from five minutes on */
        {"11:06:41", "2026-11-18T11:06:41Z"},
        {"11:06:40", "2026-11-18T11:06:40Z"},
        {"11:01:41", "2026-11-18T11:01:41Z"},
        {"11:01:40", "2026-11-19T11:01:40Z"},
        {"Jan 3 at 3pm", "2027-01-03T15:00:00Z"},
        {"january 3rd, 3pm", "2027-01-03T15:00:00Z"},
        {"Dec. 22nd 3pm", "2026-12-22T15:00:00Z"},
        {"Dec 1st, 2026 3pm", "2026-12-01T15:00:00Z"},
        {"Dec 4th,2026, at 3pm", "2026-12-04T15:00:00Z"},
        {"Nov 17, 2026 at 3pm", "2026-11-17T15:00:00Z"},
        {"2026-12-03 15:00", "2026-12-03T15:00:00Z"},
        {"2026-12-03t15:00", "2026-12-03T15:00:00Z"},
        {"2001-01-01 15:00", "2001-01-01T15:00:00Z"},
        {"2000-12-31 15:00", NULL},
        {"2026-12-31 15:00", "2026-12-31T15:00:00Z"},
        {"2026-12-32 15:00", NULL},
        {"2026-13-01 15:00", NULL},
        {"2026-00-01 15:00", NULL},
        {"2026-01-00 15:00", NULL},
        {"2028-02-29 15:00", "2028-02-29T15:00:00Z"},
        {"2026-02-29 15:00", NULL},
        {"Dec 3", NULL},
        {"3pm on Dec 3", "2026-12-03T15:00:00Z"},
        {"3pm, Dec 3, 2026", "2026-12-03T15:00:00Z"},
        {"2026/12/03 15:00", NULL},
        {"Dec 300 3pm", NULL},
    };
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    (void)setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < ARRAY_LEN(clocks); i++) {
        _cleanup_free_ char *text = mem_printf("resets at %s", clocks[i].clock);
        ends_at(text, clocks[i].until);
    }
    for (int month = 0; month < 12; month++) {
        _cleanup_free_ char *text = mem_printf("resets at %.3s 20, 3pm", months + month * 3);
        _cleanup_free_ char *until =
            mem_printf("%d-%02d-20T15:00:00Z", month < 10 ? 2027 : 2026, month + 1);
        ends_at(text, until);
    }
}

TEST(a_number_is_a_time_by_its_size)
{
    static const struct {
        const char *number;
        int64_t until;
    } numbers[] = {
        {"1000000000", 0},
        {"1000000001", INT64_C(1000000001000)},
        {"99999999999", INT64_C(99999999999000)},
        {"100000000000", 0},
        {"1000000000000", 0},
        {"1000000000001", INT64_C(1000000000001)},
        {"99999999999999", INT64_C(99999999999999)},
        {"100000000000000", 0},
        {"x", 0},
        {"", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        _cleanup_free_ char *text = mem_printf("usage Limit Reached|%s", numbers[i].number);
        CHECK_INT(acp_limit_time_in(text, now), numbers[i].until);
    }
}

TEST(members_of_data_say_it_by_their_names)
{
    static const struct {
        const char *member;
        int64_t until;
        bool retry;
    } members[] = {
        {"\"retry_after\":7", now + 7000, true},
        {"\"Retry-After\":\"7\"", now + 7000, true},
        {"\"retry-after-ms\":7000", now + 7000, true},
        {"\"retryAfterMillis\":7000", now + 7000, true},
        {"\"retryDelay\":\"7s\"", now + 7001, true},
        {"\"retry_in\":\"7.5\"", now + 7500, true},
        {"\"resetsIn\":7", now + 7000, false},
        {"\"x-ratelimit-reset\":7", now + 7000, false},
        {"\"resetsAt\":1795000007", now + 7000, false},
        {"\"resets_at\":1795000007000", now + 7000, false},
        {"\"resetsAt\":\"2026-11-18T11:06:47Z\"", now + 7000, false},
        {"\"resetsAt\":\"2026-11-18T11:06:47\"", 0, false}, /* of which zone? */
        {"\"resetsAt\":\"2026-11-18T12:06:47+01:00\"", now + 7000, false},
        {"\"retry-after\":\"Wed, 18 Nov 2026 11:06:47 GMT\"", now + 7000, true},
        {"\"retry-after\":\"Wed, 18 Nov 2026\"", 0, true},
        {"\"retry-after\":\"soon\"", 0, true},
        {"\"retryAfter\":0", 0, true},
        {"\"retryAfter\":-1", 0, true},
        {"\"retryAfter\":null", 0, true},
        {"\"retryAfter\":\"7x\"", 0, true},
        {"\"retryAfter\":\"\"", 0, true},
        {"\"retries\":7", 0, false},
        {"\"after\":7", 0, false},
        {"\"do_not_retry_after\":7", 0, false},
        {"\"a_name_of_more_than_so_many_letters_that_nobody_reads_reset\":7", 0, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        _cleanup_free_ char *text = mem_printf("{%s}", members[i].member);
        _cleanup_json_ struct json *json = NULL;
        struct err err = ERR_INIT;
        bool retry = !members[i].retry;
        REQUIRE(json_parse(text, strlen(text), 1 << 10, &json, &err) == 0);
        if (!CHECK_INT(acp_limit_time_of(json_first(json), now, &retry), members[i].until) ||
            !CHECK_INT(retry, members[i].retry))
            printf("# %s\n", text);
        retry = false;
        CHECK_INT(acp_limit_time_of(json, now, &retry), 0); /* no name */
    }
}
