#include "protocol/acp_limit.h"

#include "base/str.h"
#include "base/time.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    DEPTH_MAX = 6, /* levels of the data of an error */
    NODES_MAX = 256, /* of it */
    NEAR = 12, /* bytes between a word such as "status" and the number of it */
    LONG_SPAN_S = 400 * 24 * 3600,
};

/* ---- words */

enum sign { SIGN_LIMIT = 1, SIGN_LOAD = 2 };

/*
 * What providers and agents say, in lower case. Claude: "Claude AI usage limit reached|1712345678",
 * "You've hit your limit · resets 3pm (UTC)", "5-hour limit reached", "API Error: 529
 * {..overloaded_error..}". Codex: "You've hit your usage limit. .. try again in 3 hours 5
 * minutes.", "exceeded retry limit, last status: 429 Too Many Requests", "Selected model is at
 * capacity". Gemini: "RESOURCE_EXHAUSTED", "You exceeded your current quota .. Please retry
 * in 34.07s.", "You have exhausted your capacity on this model. Your quota will reset after
 * 5h12m10s." Copilot: "Sorry, you've hit a rate limit .. Please try again in 2 hours." OpenCode:
 * "AI_APICallError: Too Many Requests", "Provider is overloaded".
 */
static const struct acp_limit_words {
    const char *text;
    enum sign sign;
    bool opens; /* an answer that begins with it is a message of the agent, not of the model */
} words[] = {
    {"claude ai usage limit reached", SIGN_LIMIT, true},
    {"you've hit your", SIGN_LIMIT, true},
    {"you\xe2\x80\x99ve hit your", SIGN_LIMIT, true},
    {"-hour limit reached", SIGN_LIMIT, false},
    {"5-hour limit reached", SIGN_LIMIT, true},
    {"weekly limit reached", SIGN_LIMIT, true},
    {"session limit reached", SIGN_LIMIT, true},
    {"usage limit", SIGN_LIMIT, false},
    {"rate limit", SIGN_LIMIT, false},
    {"rate-limit", SIGN_LIMIT, false},
    {"rate_limit", SIGN_LIMIT, false},
    {"ratelimit", SIGN_LIMIT, false},
    {"rate limited", SIGN_LIMIT, true},
    {"too many requests", SIGN_LIMIT, true},
    {"resource_exhausted", SIGN_LIMIT, false},
    {"resource has been exhausted", SIGN_LIMIT, false},
    {"exceeded your current quota", SIGN_LIMIT, false},
    {"quota exceeded", SIGN_LIMIT, false},
    {"exhausted your capacity", SIGN_LIMIT, false},
    {"is at capacity", SIGN_LOAD, false},
    {"overloaded", SIGN_LOAD, true},
    {"service unavailable", SIGN_LOAD, false},
    {"exceeded retry limit, last status", 0, true}, /* the status follows */
    {"api error: 429", SIGN_LIMIT, true},
    {"api error: 529", SIGN_LOAD, true},
    {"api error: 503", SIGN_LOAD, true},
    {"api error: repeated 529", SIGN_LOAD, true},
    {"[api error: you exceeded your current quota", SIGN_LIMIT, true},
};

/* Money is missing: no wait helps. */
static const char *const unpaid[] = {"insufficient_quota", "credit balance is too low",
                                     "payment required"};

/* Words of an API, as values in the data of an error. */
static const struct {
    const char *text;
    enum sign sign;
} api_words[] = {
    {"rate_limit_error", SIGN_LIMIT},    {"rate_limit_exceeded", SIGN_LIMIT},
    {"rate_limit", SIGN_LIMIT},          {"rate_limited", SIGN_LIMIT},
    {"usage_limit_reached", SIGN_LIMIT}, {"usage_limit_exceeded", SIGN_LIMIT},
    {"too_many_requests", SIGN_LIMIT},   {"RESOURCE_EXHAUSTED", SIGN_LIMIT},
    {"overloaded_error", SIGN_LOAD},     {"overloaded", SIGN_LOAD},
    {"server_overloaded", SIGN_LOAD},    {"slow_down", SIGN_LOAD},
    {"UNAVAILABLE", SIGN_LOAD},
};

/* Keys of the data whose number is an HTTP status. */
static const char *const status_keys[] = {"status",           "statuscode",    "status_code",
                                          "httpstatus",       "http_status",   "code",
                                          "http_status_code", "httpstatuscode"};

static enum sign sign_of_status(int64_t status)
{
    return status == 429 ? SIGN_LIMIT : status == 529 || status == 503 ? SIGN_LOAD : 0;
}

static bool is_one_of(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(list[i], text) == 0)
            return true;
    return false;
}

/* ---- times */

/* Returns the length of a unit of time at `p` in ms and its name's length in *ret_len; 0: there is
 * none. */
static int64_t unit_at(const char *p, size_t *ret_len)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"milliseconds", 1}, {"millisecond", 1}, {"ms", 1},          {"seconds", 1000},
        {"second", 1000},    {"secs", 1000},     {"sec", 1000},      {"s", 1000},
        {"minutes", 60000},  {"minute", 60000},  {"mins", 60000},    {"min", 60000},
        {"m", 60000},        {"hours", 3600000}, {"hour", 3600000},  {"hrs", 3600000},
        {"hr", 3600000},     {"h", 3600000},     {"days", 86400000}, {"day", 86400000},
        {"d", 86400000},
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncasecmp(p, units[i].name, len) != 0 || isalpha((unsigned char)p[len]) != 0)
            continue;
        *ret_len = len;
        return units[i].ms;
    }
    return 0;
}

/* Reads "34.07s", "5h12m10s" or "3 days, 4 hours and 5 minutes" in ms; 0: there is none. */
static int64_t read_span(const char *p)
{
    double ms = 0;

    for (;;) {
        char *end = NULL;
        size_t len = 0;
        p += strspn(p, " ,\":=");
        if (strncasecmp(p, "and ", 4) == 0)
            p += 4;
        if (isdigit((unsigned char)*p) == 0)
            break;
        double n = strtod(p, &end);
        const char *unit = end + strspn(end, " ");
        int64_t one = unit_at(unit, &len);
        if (one == 0 || n > LONG_SPAN_S)
            break;
        ms += n * (double)one;
        p = unit + len;
    }
    return ms > 0 && ms < LONG_SPAN_S * 1000.0 ? (int64_t)ms + 1 : 0;
}

static int month_at(const char *p)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

    for (int i = 0; i < 12; i++)
        if (strncasecmp(p, names + (ptrdiff_t)3 * i, 3) == 0)
            return i;
    return -1;
}

/* Reads "Jan 3", "Jan 3rd, 2026" and moves *p behind it; returns false if there is no date. */
static bool read_date(const char **p, struct tm *tm, bool *ret_year)
{
    const char *at = *p;
    char *end = NULL;
    int month = month_at(at);

    *ret_year = false;
    if (month == -1)
        return false;
    at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.");
    at += strspn(at, " ");
    long day = strtol(at, &end, 10);
    if (end == at || day < 1 || day > 31)
        return false;
    at = end + strspn(end, "stndrh, ");
    long year = strtol(at, &end, 10);
    if (end == at + 4 && year > 2000) {
        *ret_year = true;
        tm->tm_year = (int)year - 1900;
        at = end + strspn(end, ", ");
    }
    if (strncasecmp(at, "at ", 3) == 0)
        at += 3;
    tm->tm_mon = month;
    tm->tm_mday = (int)day;
    *p = at;
    return true;
}

/* Reads "3pm", "3:05 PM" or "15:04" and moves *p behind it. */
static bool read_hour(const char **p, struct tm *tm)
{
    char *end = NULL;
    long hour = strtol(*p, &end, 10);
    long minute = 0;
    bool sure = false;

    if (end == *p || hour < 0 || hour > 23)
        return false;
    if (*end == ':' && isdigit((unsigned char)end[1]) != 0) {
        minute = strtol(end + 1, &end, 10);
        sure = true;
    }
    const char *half = end + strspn(end, " ");
    bool pm = strncasecmp(half, "pm", 2) == 0;
    if (pm || strncasecmp(half, "am", 2) == 0) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (pm ? 12 : 0);
        end = (char *)(uintptr_t)half + 2;
        sure = true;
    }
    if (!sure || minute < 0 || minute > 59)
        return false;
    tm->tm_hour = (int)hour;
    tm->tm_min = (int)minute;
    tm->tm_sec = 0;
    *p = end;
    return true;
}

/* Reads the time of a clock: the next such time, in the zone of this machine, as agents print it,
 * unless "UTC" follows. */
static int64_t read_clock(const char *p, int64_t now_ms)
{
    time_t now = (time_t)(now_ms / 1000);
    time_t when = 0;
    struct tm tm;
    bool has_year = false;

    _cleanup_free_ char *word = mem_dupn(p, strcspn(p, " ,)"));
    size_t len = strlen(word);
    if (len > 0 && word[len - 1] == '.')
        word[len - 1] = '\0';
    if (time_parse(word, &when))
        return (int64_t)when * 1000;
    if (localtime_r(&now, &tm) == NULL)
        return 0;
    bool dated = read_date(&p, &tm, &has_year);
    if (!read_hour(&p, &tm))
        return 0;
    p += strspn(p, " (");
    tm.tm_isdst = -1;
    bool utc = strncasecmp(p, "utc", 3) == 0 || strncasecmp(p, "gmt", 3) == 0;
    struct tm next = tm;
    when = utc ? timegm(&next) : mktime(&next);
    if (when <= now && !dated) {
        tm.tm_mday++;
        when = utc ? timegm(&tm) : mktime(&tm);
    } else if (when <= now && !has_year) {
        tm.tm_year++;
        when = utc ? timegm(&tm) : mktime(&tm);
    }
    return (int64_t)when * 1000;
}

/* A number of seconds or milliseconds since 1970, by its size. */
static int64_t from_epoch(double n)
{
    return n > 1e12 && n < 1e14 ? (int64_t)n : n > 1e9 && n < 1e11 ? (int64_t)(n * 1000) : 0;
}

/* Finds in the words of a person when the limit ends. */
static int64_t time_in_words(const char *text, int64_t now_ms)
{
    static const char *const spans[] = {
        "again in ", "retry in ",  "retry after ",  "retry-after", "reset after ", "resets in ",
        "reset in ", "retrydelay", "available in ", "wait for ",   "wait "};
    static const char *const clocks[] = {"resets at ", "reset at ", "again at ",
                                         "resets on ", "resets ",   "available at "};
    const char *at;

    for (size_t i = 0; i < ARRAY_LEN(spans); i++)
        if ((at = strcasestr(text, spans[i])) != NULL) {
            int64_t ms = read_span(at + strlen(spans[i]));
            if (ms > 0)
                return now_ms + ms;
        }
    for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
        if ((at = strcasestr(text, clocks[i])) != NULL) {
            int64_t when = read_clock(at + strlen(clocks[i]), now_ms);
            if (when > 0)
                return when;
        }
    at = strcasestr(text, "limit reached|");
    return at != NULL ? from_epoch(strtod(at + strlen("limit reached|"), NULL)) : 0;
}

/* A key's name without its separators, in lower case, such as "retryafter". */
static void plain_key(const char *key, char buf[48])
{
    size_t n = 0;

    for (; *key != '\0' && n < 47; key++)
        if (isalnum((unsigned char)*key) != 0)
            buf[n++] = (char)tolower((unsigned char)*key);
    buf[n] = '\0';
}

/* Returns the value of a node as a number; -1: it is none. */
static double number_of(const struct json *node)
{
    const char *text = json_text(node);
    char *end = NULL;

    if (text == NULL)
        return json_is_number(node) ? (double)json_int(node, -1) : -1;
    double n = strtod(text, &end);
    return end != text && *end == '\0' ? n : -1;
}

/* The date of an HTTP header */
static int64_t http_date(const char *text)
{
    struct tm tm = {.tm_sec = 0};

    return text != NULL && strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm) != NULL
               ? (int64_t)timegm(&tm) * 1000
               : 0;
}

/* Returns the time that a member of the data gives for the end of the limit; 0: none. */
static int64_t time_of_member(const struct json *node, int64_t now_ms, bool *ret_retry)
{
    const char *key = json_key(node);
    const char *text = json_text(node);
    double n = number_of(node);
    time_t when = 0;
    char name[48];

    if (key == NULL)
        return 0;
    plain_key(key, name);
    bool reset = strstr(name, "reset") != NULL;
    bool retry = str_starts(name, "retryafter") || str_starts(name, "retrydelay") ||
                 str_starts(name, "retryin");
    *ret_retry = retry;
    if (!reset && !retry)
        return 0;
    if (n >= 0) {
        int64_t epoch = from_epoch(n);
        bool is_ms = str_ends(name, "ms") || str_ends(name, "millis");
        if (epoch > 0)
            return epoch;
        return n > 0 && n < LONG_SPAN_S * 1000.0 ? now_ms + (int64_t)(is_ms ? n : n * 1000) : 0;
    }
    if (text == NULL)
        return 0;
    if (time_parse(text, &when))
        return (int64_t)when * 1000;
    int64_t span = read_span(text);
    return span > 0 ? now_ms + span : http_date(text);
}

/* ---- signs */

/* What has been found. */
struct acp_limit_found {
    unsigned signs;
    bool unpaid;
    int64_t until_ms; /* the latest time; 0: none */
    int64_t retry_ms; /* the latest one that is meant for this request; 0: none */
    int64_t now_ms;
    size_t nodes;
};

static void add_time(const struct acp_limit_found *found, int64_t when, int64_t *to)
{
    int64_t most = found->now_ms + (int64_t)ACP_LIMIT_DAYS_MAX * 24 * 3600 * 1000;

    if (when > found->now_ms && when <= most && when > *to)
        *to = when;
}

/* Finds "status: 429", "HTTP 529", "(429)": a number that is named as a status. */
static unsigned sign_of_number(const char *text)
{
    static const char *const names[] = {"status", "error", "code", "http", "got"};
    unsigned signs = 0;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (const char *at = text; (at = strcasestr(at, names[i])) != NULL;) {
            at += strlen(names[i]);
            size_t near = strcspn(at, "0123456789");
            if (near > NEAR || at[near] == '\0')
                continue;
            char *end = NULL;
            long n = strtol(at + near, &end, 10);
            if (isalnum((unsigned char)*end) == 0)
                signs |= (unsigned)sign_of_status(n);
        }
    return signs;
}

static void look_at_text(struct acp_limit_found *found, const char *whole)
{
    _cleanup_free_ char *text = mem_dupn(whole, str_fit(whole, ACP_LIMIT_TEXT_MAX));

    for (size_t i = 0; i < ARRAY_LEN(unpaid); i++)
        found->unpaid = found->unpaid || strcasestr(text, unpaid[i]) != NULL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(text, words[i].text) != NULL)
            found->signs |= (unsigned)words[i].sign;
    found->signs |= sign_of_number(text);
    add_time(found, time_in_words(text, found->now_ms), &found->until_ms);
}

static void look_at_member(struct acp_limit_found *found, const struct json *node)
{
    const char *key = json_key(node);
    const char *text = json_text(node);
    double n = number_of(node);
    bool retry = false;

    if (key != NULL && n >= 0 && is_one_of(status_keys, ARRAY_LEN(status_keys), key))
        found->signs |= (unsigned)sign_of_status((int64_t)n);
    int64_t when = time_of_member(node, found->now_ms, &retry);
    add_time(found, when, retry ? &found->retry_ms : &found->until_ms);
    if (text == NULL)
        return;
    for (size_t i = 0; i < ARRAY_LEN(api_words); i++)
        if (strcmp(api_words[i].text, text) == 0)
            found->signs |= (unsigned)api_words[i].sign;
    if (strlen(text) > 8) /* words for a person, or JSON in a text */
        look_at_text(found, text);
}

static void look_at_data(struct acp_limit_found *found, const struct json *node, int depth)
{
    if (node == NULL || depth > DEPTH_MAX || found->nodes++ > NODES_MAX)
        return;
    look_at_member(found, node);
    for (const struct json *n = json_first(node); n != NULL; n = json_next(n))
        look_at_data(found, n, depth + 1);
}

static bool conclude(const struct acp_limit_found *found, struct acp_limit *ret)
{
    *ret = (struct acp_limit){.overloaded = (found->signs & SIGN_LIMIT) == 0,
                              .until_ms = found->retry_ms > 0 ? found->retry_ms : found->until_ms};
    return found->signs != 0 && !found->unpaid;
}

bool acp_limit_of_error(int64_t code, const char *message, const struct json *data, int64_t now_ms,
                        struct acp_limit *ret)
{
    struct acp_limit_found found = {.now_ms = now_ms, .signs = (unsigned)sign_of_status(code)};

    if (message != NULL)
        look_at_text(&found, message);
    look_at_data(&found, data, 0);
    return conclude(&found, ret);
}

/* Returns the text behind the warnings that Codex puts in front of its first answer, each of them a
 * paragraph. */
static const char *skip_warnings(const char *text)
{
    static const char warning[] = "Warning: ";
    const char *end;

    text += strspn(text, " \t\r\n");
    while (str_starts(text, warning) && (end = strstr(text, "\n\n")) != NULL)
        text = end + strspn(end, " \t\r\n");
    return text;
}

bool acp_limit_of_answer(const char *text, int64_t now_ms, struct acp_limit *ret)
{
    struct acp_limit_found found = {.now_ms = now_ms};
    bool opens = false;

    text = skip_warnings(text);
    if (strlen(text) > ACP_LIMIT_ANSWER_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words) && !opens; i++)
        opens = words[i].opens && strncasecmp(text, words[i].text, strlen(words[i].text)) == 0;
    if (!opens)
        return false;
    look_at_text(&found, text);
    return conclude(&found, ret);
}

bool acp_limit_of_stop(const char *stop_reason)
{
    for (size_t i = 0; i < ARRAY_LEN(api_words); i++)
        if (strcmp(api_words[i].text, stop_reason) == 0)
            return true;
    return false;
}
