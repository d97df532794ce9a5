#include "unit.h"

#include "base/str.h"
#include "protocol/acp_limit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t now = INT64_C(1795000000000); /* 2026-11-18T11:06:40Z */

static bool of_error(int64_t code, const char *message, const char *data, struct acp_limit *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    if (data != NULL && json_parse(data, strlen(data), 1 << 20, &json, &err) == -1)
        abort();
    return acp_limit_of_error(code, message, json, now, ret);
}

static void limits_are_known(void)
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
        /* a time that is no time, or is over */
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

static void other_errors_are_none(void)
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

static void an_answer_is_one_only_if_it_is_nothing_else(void)
{
    struct acp_limit limit;
    _cleanup_str_ struct str longer = STR_INIT;

    CHECK(acp_limit_of_answer("API Error: 529 overloaded_error", now, &limit) && limit.overloaded);
    CHECK(acp_limit_of_answer("\nYou've hit your limit, resets 11:40 AM (UTC)", now, &limit));
    CHECK_INT(limit.until_ms - now, 2000000);
    CHECK(acp_limit_of_answer("exceeded retry limit, last status: 429 Too Many Requests\n\n", now,
                              &limit) &&
          !limit.overloaded);
    CHECK(acp_limit_of_answer("Warning: no metadata.\n\nWarning: old.\n\n"
                              "exceeded retry limit, last status: 529",
                              now, &limit) &&
          limit.overloaded);
    CHECK(!acp_limit_of_answer("exceeded retry limit, last status: 500 Internal", now, &limit));
    CHECK(!acp_limit_of_answer("Warning: too many requests may follow", now, &limit));
    CHECK(!acp_limit_of_answer("I have written a test for the API Error: 529", now, &limit));
    CHECK(!acp_limit_of_answer("The rate limit is 5", now, &limit));
    str_add(&longer, "Overloaded");
    while (longer.len <= ACP_LIMIT_ANSWER_MAX)
        str_addc(&longer, '.');
    CHECK(!acp_limit_of_answer(longer.data, now, &limit));
    CHECK(acp_limit_of_stop("rate_limit") && !acp_limit_of_stop("end_turn"));
}

/* What an agent sends may be as deep and as long as a message may be. */
static void hostile_data_costs_little(void)
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

static const struct unit_test tests[] = {
    TEST(limits_are_known),
    TEST(other_errors_are_none),
    TEST(an_answer_is_one_only_if_it_is_nothing_else),
    TEST(hostile_data_costs_little),
};

int main(void)
{
    return UNIT_RUN(tests);
}
