/*
 * Everything that there is to look at adds to what was found: signs of a limit or of load, times,
 * and that money is missing. conclude() decides when all has been seen: a time that is meant for
 * this request counts before others, and no wait helps if money is missing. An answer can be of a
 * model that speaks of limits, so it counts only if it is short and begins as agents begin such a
 * message.
 */

#include "protocol/acp_limit.h"

#include "protocol/acp_limit_time.h"

#include <regex.h>
#include <strings.h>

enum {
    DEPTH_MAX = 6, /* levels of the data of an error */
    NODES_MAX = 256, /* of it */
    NEAR = 12, /* bytes between a word such as "status" and the number of it */
};

/* ---- words */

enum sign { SIGN_LIMIT = 1, SIGN_LOAD = 2 };

/*
 * What providers say, and programs pass on, in lower case: "Rate limit reached for gpt-x. Please
 * try again in 1.898s.", "Selected model is at capacity", "RESOURCE_EXHAUSTED", "You exceeded your
 * current quota .. Please retry in 34.07s.", "AI_APICallError: Too Many Requests".
 */
static const struct acp_limit_words {
    const char *text;
    enum sign sign;
    bool opens; /* an answer that begins with it is a message of the agent, not of the model */
} words[] = {
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
    {"is at capacity", SIGN_LOAD, false},
    {"overloaded", SIGN_LOAD, true},
    {"service unavailable", SIGN_LOAD, false},
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

/* ---- signs */

/* What has been found. */
struct acp_limit_found {
    regex_t limited; /* the pattern, if `compiled` */
    bool compiled;
    bool matched; /* it does; unless there is another sign, too much was used */
    unsigned signs;
    bool unpaid;
    int64_t until_ms; /* the latest time; 0: none */
    int64_t retry_ms; /* the latest one that is meant for this request; 0: none */
    int64_t now_ms;
    size_t nodes;
};

static void compile(struct acp_limit_found *found, const char *limited)
{
    found->compiled =
        limited[0] != '\0' && regcomp(&found->limited, limited, REG_EXTENDED | REG_ICASE) == 0;
}

static void found_free(struct acp_limit_found *found)
{
    if (found->compiled)
        regfree(&found->limited);
}
#define _cleanup_found_ __attribute__((cleanup(found_free)))

/* Returns where the pattern matches first; -1: nowhere. */
static regoff_t find_limited(const struct acp_limit_found *found, const char *text)
{
    regmatch_t match;

    return found->compiled && regexec(&found->limited, text, 1, &match, 0) == 0 ? match.rm_so : -1;
}

static void add_time(const struct acp_limit_found *found, int64_t when, int64_t *to)
{
    int64_t most = found->now_ms + (int64_t)ACP_LIMIT_DAYS_MAX * 24 * 3600 * 1000;

    if (when > found->now_ms - ACP_LIMIT_PAST_MS && when < found->now_ms)
        when = found->now_ms;
    if (when >= found->now_ms && when <= most && when > *to)
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
    found->matched = found->matched || find_limited(found, text) != -1;
    found->signs |= sign_of_number(text);
    add_time(found, acp_limit_time_in(text, found->now_ms), &found->until_ms);
}

static void look_at_member(struct acp_limit_found *found, const struct json *node)
{
    const char *key = json_key(node);
    const char *text = json_text(node);
    double n = acp_limit_number(node);
    bool retry = false;

    if (key != NULL && n >= 0 && is_one_of(status_keys, ARRAY_LEN(status_keys), key))
        found->signs |= (unsigned)sign_of_status((int64_t)n);
    int64_t when = acp_limit_time_of(node, found->now_ms, &retry);
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
    *ret = (struct acp_limit){.overloaded = found->signs == SIGN_LOAD,
                              .until_ms = found->retry_ms > 0 ? found->retry_ms : found->until_ms};
    return (found->signs != 0 || found->matched) && !found->unpaid;
}

bool acp_limit_of_error(int64_t code, const char *message, const struct json *data,
                        const char *limited, int64_t now_ms, struct acp_limit *ret)
{
    _cleanup_found_ struct acp_limit_found found = {.now_ms = now_ms,
                                                    .signs = (unsigned)sign_of_status(code)};

    compile(&found, limited);
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

bool acp_limit_of_answer(const char *text, const char *limited, int64_t now_ms,
                         struct acp_limit *ret)
{
    _cleanup_found_ struct acp_limit_found found = {.now_ms = now_ms};

    text = skip_warnings(text);
    if (strlen(text) > ACP_LIMIT_ANSWER_MAX)
        return false;
    compile(&found, limited);
    bool opens = find_limited(&found, text) == 0;
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
