#include "root.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"
#include "protocol/acp_limit.h"
#include "store/config.h"

static const int64_t now = INT64_C(1795000000000); /* 2026-11-18T11:06:40Z */

/* Returns the pattern of a root with the shipped presets, and these lines in its mas.ini. */
static char *limited_of(const char *settings)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_free_ char *exe = path_exe_dir();
    _cleanup_free_ char *presets = mem_printf("%s/../../../" ROOT_PRESETS, exe);
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    CHECK(root_make(&place, &root) && place_put(place.dir, ROOT_SETTINGS, settings));
    CHECK(file_read(AT_FDCWD, presets, 1 << 20, &text, &len, &err) == 0 &&
          mkdirat(place.dir, ROOT_TEMPLATES, 0700) == 0 &&
          place_put(place.dir, ROOT_PRESETS, text) &&
          config_load(&root, true, &config, NULL, &err) == 0);
    return config_limited(&config);
}

/* The pattern of the shipped presets. */
static const char *limited(void)
{
    static char *shipped;

    if (shipped == NULL)
        shipped = limited_of("");
    return shipped;
}

static bool of_error(int64_t code, const char *message, const char *data, struct acp_limit *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    if (data != NULL && json_parse(data, strlen(data), 1 << 20, &json, &err) == -1)
        abort();
    return acp_limit_of_error(code, message, json, limited(), now, ret);
}

static bool of_answer(const char *text, int64_t now_ms, struct acp_limit *ret)
{
    return acp_limit_of_answer(text, limited(), now_ms, ret);
}

TEST(limits_are_known)
{
    static const struct {
        int64_t code;
        const char *message, *data;
        bool overloaded;
        int64_t wait_s; /* 0: not told */
    } limits[] = {
        {429, "Too many", NULL, false, 0},
        {529, "x", NULL, true, 0},
        {-32603, "Internal error", "{\"status\":429}", false, 0},
        {-32603, "Internal error", "{\"statusCode\":503,\"headers\":{\"retry-after\":\"17\"}}",
         true, 17},
        {-32603, "x", "{\"error\":{\"type\":\"overloaded_error\"}}", true, 0},
        {-32603, "x", "{\"error\":{\"type\":\"rate_limit_error\",\"retry_after_ms\":2500}}", false,
         2},
        {-32603, "x", "{\"httpStatus\":\"429\",\"retryDelay\":\"34s\"}", false, 34},
        {-32603, "x", "{\"status\":429,\"resetsAt\":1795000060}", false, 60},
        {-32603, "x", "{\"status\":429,\"resetsAt\":\"2026-11-18T11:07:40Z\"}", false, 60},
        {-32603, "x", "{\"status\":429,\"resets_in_seconds\":90}", false, 90},
        {-32603, "x", "{\"status\":429,\"retry-after\":\"Wed, 18 Nov 2026 11:08:00 GMT\"}", false,
         80},
        {-32603, "x",
         "{\"status\":429,\"headers\":{\"retry-after\":\"5\",\"anthropic-ratelimit-tokens-reset\":"
         "\"2026-11-18T12:06:40Z\"}}",
         false, 5},
        {-32603, "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
         NULL, true, 0},
        {-32603, "Claude AI usage limit reached|1795000100", NULL, false, 100},
        {-32603, "You've hit your limit \xc2\xb7 resets 11:40 AM (UTC)", NULL, false, 2000},
        {-32603, "You've hit your usage limit. Visit x or try again in 3 hours 5 minutes.", NULL,
         false, 11100},
        {-32603, "exceeded retry limit, last status: 429 Too Many Requests", NULL, false, 0},
        {-32603, "Rate limit reached for gpt-x. Please try again in 1.898s.", NULL, false, 1},
        {-32603, "Selected model is at capacity. Please try a different model.", NULL, true, 0},
        {500,
         "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\": "
         "\"34s\"}]}}",
         NULL, false, 34},
        {500, "You exceeded your current quota, please check your plan. Please retry in 34.07s.",
         NULL, false, 34},
        {500,
         "You have exhausted your capacity on this model. Your quota will reset after 5h12m10s.",
         NULL, false, 18730},
        {-32603, "Sorry, you've hit a rate limit. Please try again in 2 hours.", NULL, false, 7200},
        {-32603, "AI_APICallError: Too Many Requests", NULL, false, 0},
        {-32603, "Rate limited; resets at 2026-11-18T11:10:00Z.", NULL, false, 200},
        {-32603, "x", "{\"status\":429,\"resetsAt\":\"2026-11-18T12:07:40.5+01:00\"}", false, 60},
        {-32603, "x", "{\"status\":429,\"resetsAt\":1794999900}", false, 0}, /* now */
        /* a time that is no time, or is over */
        {429, "x", "{\"resetsAt\":\"2026-11-18T12:07:40\"}", false, 0}, /* where? */
        {429, "try again in 900 days", NULL, false, 0},
        {429, "resets at 2026-11-18T11:00:00Z", NULL, false, 0},
        {429, "try again in -5 seconds", NULL, false, 0},
        {429, "try again in 99999999999999999999999 seconds", NULL, false, 0},
        {429, "x", "{\"retryAfter\":1e300}", false, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct acp_limit limit = {.until_ms = -1};
        CHECK_STR(of_error(limits[i].code, limits[i].message, limits[i].data, &limit) ? "limit"
                                                                                      : "",
                  "limit");
        CHECK_STR(limit.overloaded ? limits[i].message : "",
                  limits[i].overloaded ? limits[i].message : "");
        CHECK_INT(limit.until_ms == 0 ? 0 : (limit.until_ms - now) / 1000, limits[i].wait_s);
    }
}

TEST(other_errors_are_none)
{
    static const struct {
        int64_t code;
        const char *message, *data;
    } others[] = {
        {-32603, "Internal error", NULL},
        {-32603, "Internal error", "{\"status\":500,\"retry-after\":\"5\"}"},
        {401, "Unauthorized", NULL},
        {-32603, "the context has 429 lines", NULL},
        {-32603, "max turn limit reached", NULL},
        {429, "You exceeded your current quota", "{\"code\":\"insufficient_quota\"}"},
        {-32603, "Credit balance is too low", NULL},
        {-32000, "Authentication required", NULL},
        {-32603, NULL, NULL},
    };
    struct acp_limit limit;

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK_STR(of_error(others[i].code, others[i].message, others[i].data, &limit)
                      ? others[i].message
                      : "",
                  "");
}

TEST(an_answer_is_one_only_if_it_is_nothing_else)
{
    struct acp_limit limit;
    _cleanup_str_ struct str longer = STR_INIT;

    CHECK(of_answer("API Error: 529 overloaded_error", now, &limit) && limit.overloaded);
    CHECK(of_answer("\nYou've hit your limit, resets 11:40 AM (UTC)", now, &limit));
    CHECK_INT(limit.until_ms - now, 2000000);
    CHECK(of_answer("exceeded retry limit, last status: 429 Too Many Requests\n\n", now, &limit) &&
          !limit.overloaded);
    CHECK(of_answer("Warning: no metadata.\n\nWarning: old.\n\n"
                    "exceeded retry limit, last status: 529",
                    now, &limit) &&
          limit.overloaded);
    CHECK(!of_answer("exceeded retry limit, last status: 500 Internal", now, &limit));
    CHECK(!of_answer("Warning: too many requests may follow", now, &limit));
    CHECK(!of_answer("I have written a test for the API Error: 529", now, &limit));
    CHECK(!of_answer("The rate limit is 5", now, &limit));
    str_add(&longer, "Overloaded");
    while (longer.len <= ACP_LIMIT_ANSWER_MAX)
        str_addc(&longer, '.');
    CHECK(!of_answer(longer.data, now, &limit));
    CHECK(acp_limit_of_stop("rate_limit") && !acp_limit_of_stop("end_turn"));
}

/* What agents say is data: without presets nobody knows it, and with one of their own they do. */
TEST(a_preset_adds_words)
{
    static const char purse[] = "[preset x]\nlimited = (purse|jar) is empty\n";
    static const char jars[] = "[preset x]\nlimited = jars\n[preset y]\nlimited = a|b\n";
    static const struct {
        const char *settings; /* NULL: no preset at all */
        const char *words;
        bool answer, error;
    } cases[] = {
        {NULL, "You've hit your limit", false, false},
        {NULL, "Overloaded", true, true},
        {"", "You've hit your limit", true, true},
        {"", "Sorry: you\xe2\x80\x99ve hit your limit", false, true},
        {"", "12-hour limit reached", true, true},
        {"", "exceeded retry limit, last status: 500", false, false},
        {"", "You have exhausted your capacity", true, true},
        {"", "The purse is empty", false, false},
        {purse, "Purse is empty, resets 11:40 AM (UTC)", true, true},
        {purse, "The purse is empty", false, true},
        {purse, "You've hit your limit", true, true},
        {purse, "JAR IS EMPTY. Credit balance is too low", false, false},
        {jars, "Jars", true, true},
        {jars, "Both", true, true},
        {jars, "xyz", false, false},
    };
    struct acp_limit limit;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *words = cases[i].words;
        _cleanup_free_ char *pattern =
            cases[i].settings != NULL ? limited_of(cases[i].settings) : mem_dup("");
        bool answer = acp_limit_of_answer(words, pattern, now, &limit);
        CHECK_STR(answer == cases[i].answer ? "" : words, "");
        CHECK(!answer || limit.overloaded == (strcmp(words, "Overloaded") == 0));
        CHECK(!answer || (limit.until_ms > 0) == (strstr(words, "resets") != NULL));
        CHECK_STR(acp_limit_of_error(-32603, words, NULL, pattern, now, &limit) == cases[i].error
                      ? ""
                      : words,
                  "");
    }
}

static int64_t stamp(const char *text)
{
    time_t t = 0;

    return time_parse(text, &t) ? (int64_t)t * 1000 : 0;
}

/* A time in words means the zone that they name, and its date, wherever mas runs. */
TEST(a_zone_in_the_words_counts)
{
    static const char *const zones[] = {"UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo",
                                        "Pacific/Auckland"};
    static const char night[] = "2026-01-15T03:09:20Z", /* a winter's night in UTC */
        evening[] = "2026-01-15T20:00:00Z", /* it is tomorrow in the east */
        summer[] = "2026-07-15T03:09:20Z";
    /* clang-format off */
    static const struct {
        const char *now, *resets, *until; /* NULL: it says nothing that is sure */
    } phrases[] = {
        {night, "12am (America/New_York)", "2026-01-15T05:00:00Z"},
        {night, "6am (Europe/Berlin)", "2026-01-15T05:00:00Z"},
        {night, "8pm (Asia/Tokyo)", "2026-01-15T11:00:00Z"},
        {night, "6:05 AM PST", "2026-01-15T14:05:00Z"},
        {night, "05:30 +02:00", "2026-01-15T03:30:00Z"},
        {evening, "10pm (UTC)", "2026-01-15T22:00:00Z"},
        {evening, "1am (UTC)", "2026-01-16T01:00:00Z"},
        {evening, "6am (Asia/Tokyo)", "2026-01-15T21:00:00Z"},
        {evening, "4am (Asia/Tokyo)", "2026-01-16T19:00:00Z"},
        {night, "12pm UTC", "2026-01-15T12:00:00Z"},
        {night, "12:59 a.m. UTC", "2026-01-16T00:59:00Z"},
        {night, "12:59 p.m. UTC", "2026-01-15T12:59:00Z"},
        {night, "11pm UTC", "2026-01-15T23:00:00Z"},
        {night, "13pm UTC", NULL},
        {night, "0am UTC", NULL},
        {night, "3:09am (UTC)", "2026-01-15T03:09:20Z"}, /* now */
        {night, "3:06 am UTC", "2026-01-15T03:09:20Z"},
        {night, "3:04am (UTC)", "2026-01-16T03:04:00Z"},
        {summer, "12am (America/New_York)", "2026-07-15T04:00:00Z"},
        {summer, "6am (Europe/Berlin)", "2026-07-15T04:00:00Z"},
        {summer, "6:05 AM PDT", "2026-07-15T13:05:00Z"},
        {night, "05:30+0200.", "2026-01-15T03:30:00Z"},
        {night, "6am UTC+2, or so", "2026-01-15T04:00:00Z"},
        {night, "9:30 p.m. (GMT\xe2\x88\x92" "05:30)", "2026-01-16T03:00:00Z"},
        {night, "3:15\xe2\x80\xaf" "AM GMT", "2026-01-15T03:15:00Z"},
        {night, "04:05:06Z", "2026-01-15T04:05:06Z"},
        {night, "noon CET", "2026-01-15T11:00:00Z"},
        {night, "midnight ET", "2026-01-15T05:00:00Z"},
        {night, "4pm JST", "2026-01-15T07:00:00Z"},
        {night, "Jan 20 at 3pm (Asia/Kolkata)", "2026-01-20T09:30:00Z"},
        {night, "Jan 20th, 2026 9:05 AM (America/Los_Angeles)", "2026-01-20T17:05:00Z"},
        {night, "3pm (Australia/Lord_Howe) on Jan 20", "2026-01-20T04:00:00Z"},
        {night, "2026-01-20T15:00:00+01:00", "2026-01-20T14:00:00Z"},
        {night, "2026-01-20 15:00:00.250 UTC", "2026-01-20T15:00:00Z"},
        {night, "6am (Mars/Olympus)", NULL},
        {night, "6am CST", NULL}, /* Chicago, Shanghai or Havana */
        {night, "6am (Pacific Time)", NULL},
        {night, "6am +14:00", "2026-01-15T16:00:00Z"},
        {night, "6am +15:00", NULL},
        {night, "6am +05:59", "2026-01-16T00:01:00Z"},
        {night, "6am +05:60", NULL},
        {night, "6am +0559", "2026-01-16T00:01:00Z"},
        {night, "6am +0560", NULL},
        {night, "6am +055", NULL},
        {night, "6am +25:00", NULL},
        {night, "6am UTC+25", NULL},
        {night, "Feb 30 at 3pm UTC", NULL},
        {night, "25:00 UTC", NULL},
        {night, "12 (UTC)", NULL},
    };
    /* clang-format on */

    if (access("/usr/share/zoneinfo/America/New_York", R_OK) == -1)
        UNIT_SKIP("there are no files of zones");
    for (size_t i = 0; i < ARRAY_LEN(zones) * ARRAY_LEN(phrases); i++) {
        const char *zone = zones[i % ARRAY_LEN(zones)];
        size_t at = i / ARRAY_LEN(zones);
        _cleanup_free_ char *text =
            mem_printf("You've hit your limit \xc2\xb7 resets %s", phrases[at].resets);
        const char *until = phrases[at].until;
        struct acp_limit limit = {.until_ms = -1};
        (void)setenv("TZ", zone, 1);
        tzset();
        CHECK(of_answer(text, stamp(phrases[at].now), &limit));
        if (limit.until_ms != (until != NULL ? stamp(until) : 0))
            printf("# TZ=%s: %s\n", zone, phrases[at].resets);
        CHECK_INT(limit.until_ms, until != NULL ? stamp(until) : 0);
    }
}

/* Without a zone it is that of this machine, where the agent has printed it. */
TEST(without_a_zone_it_is_that_of_this_machine)
{
    static const struct {
        const char *zone, *resets, *until;
    } phrases[] = {
        {"UTC", "6am", "2026-01-15T06:00:00Z"},
        {"America/New_York", "12am. Visit https://x/y", "2026-01-15T05:00:00Z"},
        {"Europe/Berlin", "6am \xc2\xb7 /upgrade to go on", "2026-01-15T05:00:00Z"},
        {"Asia/Tokyo", "8pm (local time)", "2026-01-15T11:00:00Z"},
        {"Pacific/Auckland", "Jan 20, 6am", "2026-01-19T17:00:00Z"},
        {"America/Chicago", "6am CST", "2026-01-15T12:00:00Z"},
        {"Asia/Shanghai", "6pm (CST)", "2026-01-15T10:00:00Z"},
    };

    if (access("/usr/share/zoneinfo/America/New_York", R_OK) == -1)
        UNIT_SKIP("there are no files of zones");
    for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
        _cleanup_free_ char *text = mem_printf("Rate limited; resets at %s", phrases[i].resets);
        struct acp_limit limit = {.until_ms = -1};
        (void)setenv("TZ", phrases[i].zone, 1);
        tzset();
        CHECK(of_answer(text, stamp("2026-01-15T03:09:20Z"), &limit));
        if (limit.until_ms != stamp(phrases[i].until))
            printf("# TZ=%s: %s\n", phrases[i].zone, phrases[i].resets);
        CHECK_INT(limit.until_ms, stamp(phrases[i].until));
    }
}

/* What an agent sends may be as deep and as long as a message may be. */
TEST(hostile_data_costs_little)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct acp_limit limit;

    str_add(&text, "[");
    for (int i = 0; i < 20000; i++)
        str_add(&text, "{\"a\":1},");
    str_add(&text, "{\"status\":429}]");
    CHECK(!of_error(1, "x", text.data, &limit));
    str_clear(&text);
    for (int i = 0; i < 50; i++)
        str_add(&text, "{\"a\":");
    str_add(&text, "{\"status\":429}");
    for (int i = 0; i < 50; i++)
        str_add(&text, "}");
    CHECK(!of_error(1, "x", text.data, &limit));
    str_clear(&text);
    while (text.len < 1 << 20)
        str_add(&text, "status status error code again in resets ");
    CHECK(!of_error(1, text.data, NULL, &limit));
}
