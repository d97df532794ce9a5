/*
 * Each kind has a name, and a type: the values that it can have. An amount is the first member of a
 * struct budget_limit, and all of it but for a cost. budget_write() is for files and programs, and
 * budget_parse() reads it back; budget_format() is for people.
 */

#include "model/budget.h"

#include "base/number.h"
#include "model/token_counts.h"

enum { TURNS_MAX = 1000000000, SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
#define TIME_MAX (INT64_C(366) * 24 * HOUR)

static const struct unit token_units[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}};
static const struct unit time_units[] = {
    {"s", SECOND}, {"m", MINUTE}, {"h", HOUR}, {"d", 24 * HOUR}};

static const char *const names[BUDGET_KIND_COUNT] = {[BUDGET_COST] = "cost",
                                                     [BUDGET_TOKENS] = "tokens",
                                                     [BUDGET_TURNS] = "turns",
                                                     [BUDGET_TIME] = "time"};

static const char *parse_cost(const char *text, void *to)
{
    struct budget_limit limit = {.amount = -1};
    struct money money;

    if (strcmp(text, "none") != 0) {
        if (!money_parse(text, &money))
            return "an amount and its currency, such as 5 USD, or none";
        limit.amount = money.micro;
        memcpy(limit.currency, money.currency, sizeof limit.currency);
    }
    if (to != NULL)
        *(struct budget_limit *)to = limit;
    return NULL;
}

#define BUDGET(want_, ...)                                                                         \
    {                                                                                              \
        VALUE_NUMBER, want_, .min = 1, .none = "none", .nothing = -1, __VA_ARGS__                  \
    }

const struct value_type budget_types[BUDGET_KIND_COUNT] = {
    [BUDGET_COST] = {VALUE_OTHER, .parse = parse_cost},
    [BUDGET_TOKENS] = BUDGET("a number of tokens, such as 200k or 5M, or none", .max = TOKENS_MAX,
                             VALUE_UNITS(token_units)),
    [BUDGET_TURNS] = BUDGET("a number of turns from 1 on, or none", .max = TURNS_MAX),
    [BUDGET_TIME] = BUDGET("a time such as 90m, 8h or 2d, up to a year, or none", .max = TIME_MAX,
                           VALUE_UNITS(time_units)),
};

const char *budget_kind_name(enum budget_kind kind)
{
    return names[kind];
}

bool budget_kind_parse(const char *text, enum budget_kind *ret)
{
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *ret = i;
        return true;
    }
    return false;
}

const char *budget_parse(enum budget_kind kind, const char *text, struct budget_limit *ret)
{
    struct budget_limit limit = {.amount = 0};
    const char *want = value_parse(&budget_types[kind], text, &limit, sizeof limit.amount);

    if (want == NULL)
        *ret = limit;
    return want;
}

/* Like budget_parse() for a key of a section, "cost"; *ret_known is false for any other key. */
static const char *budget_parse_key(const char *key, const char *text, struct budget *ret,
                                    bool *ret_known)
{
    enum budget_kind kind = BUDGET_COST;

    *ret_known = budget_kind_parse(key, &kind);
    return *ret_known ? budget_parse(kind, text, &ret->of[kind]) : NULL;
}

void budget_write(enum budget_kind kind, const struct budget_limit *limit, char buf[BUDGET_TEXT])
{
    char number[MONEY_TEXT];

    buf[0] = '\0';
    money_format_number(limit->amount > 0 ? limit->amount : 0, number);
    if (limit->amount == -1)
        (void)snprintf(buf, BUDGET_TEXT, "none");
    else if (limit->amount > 0 && kind == BUDGET_COST)
        (void)snprintf(buf, BUDGET_TEXT, "%s %s", number, limit->currency);
    else if (limit->amount > 0 && kind == BUDGET_TIME)
        (void)snprintf(buf, BUDGET_TEXT, "%llds", (long long)((limit->amount + 999) / SECOND));
    else if (limit->amount > 0)
        (void)snprintf(buf, BUDGET_TEXT, "%lld", (long long)limit->amount);
}

static void format_time(int64_t ms, char buf[BUDGET_TEXT])
{
    long long seconds = (ms + SECOND / 2) / SECOND;

    if (ms > 0 && ms < SECOND)
        (void)snprintf(buf, BUDGET_TEXT, "%lldms", (long long)ms);
    else if (ms < MINUTE)
        (void)snprintf(buf, BUDGET_TEXT, "%llds", seconds);
    else if (ms < HOUR)
        (void)snprintf(buf, BUDGET_TEXT, "%lldm%02llds", seconds / 60, seconds % 60);
    else
        (void)snprintf(buf, BUDGET_TEXT, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
}

void budget_format(enum budget_kind kind, const struct budget_limit *limit, char buf[BUDGET_TEXT])
{
    struct money money = {.micro = limit->amount};

    memcpy(money.currency, limit->currency, sizeof money.currency);
    if (kind == BUDGET_COST)
        money_format(&money, buf);
    else if (kind == BUDGET_TIME)
        format_time(limit->amount, buf);
    else
        (void)snprintf(buf, BUDGET_TEXT, "%lld %s", (long long)limit->amount, names[kind]);
}

void budget_put(const struct budget *budget, struct json_out *out)
{
    char text[BUDGET_TEXT];
    bool open = false;

    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        budget_write(i, &budget->of[i], text);
        if (text[0] == '\0')
            continue;
        if (!open)
            json_open(out, "budget", '{');
        open = true;
        json_put(out, names[i], text);
    }
    if (open)
        json_close(out, '}');
}

bool budget_read(const struct json *object, struct budget *ret)
{
    for (const struct json *it = json_first(object); it != NULL; it = json_next(it)) {
        bool known;
        if (json_text(it) == NULL || json_key(it) == NULL ||
            budget_parse_key(json_key(it), json_text(it), ret, &known) != NULL || !known)
            return false;
    }
    return object == NULL || json_is_object(object);
}

bool budget_held_any(const struct budget_held *held)
{
    bool any = false;

    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++)
        any = any || held->of[i].limit.amount > 0;
    return any;
}

/* Returns what is used, in the unit of the limit. */
static struct budget_limit used_of(const struct budget_share *share)
{
    struct budget_limit used = share->limit;

    used.amount = share->used;
    return used;
}

/* Writes what is used as budget_write() would, which has no 0. */
static void write_used(enum budget_kind kind, const struct budget_share *share,
                       char buf[BUDGET_TEXT])
{
    struct budget_limit used = used_of(share);

    if (used.amount > 0)
        budget_write(kind, &used, buf);
    else
        (void)snprintf(buf, BUDGET_TEXT, "0%s%s",
                       kind == BUDGET_COST   ? " "
                       : kind == BUDGET_TIME ? "s"
                                             : "",
                       used.currency);
}

void budget_held_put(const struct budget_held *held, struct json_out *out)
{
    char text[BUDGET_TEXT];

    if (!budget_held_any(held)) {
        json_put(out, "budget", NULL);
        return;
    }
    json_open(out, "budget", '{');
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        const struct budget_share *share = &held->of[i];
        if (share->limit.amount <= 0)
            continue;
        json_open(out, names[i], '{');
        budget_write(i, &share->limit, text);
        json_put(out, "amount", text);
        write_used(i, share, text);
        json_put(out, "used", share->used != -1 ? text : NULL);
        json_put(out, "from", share->from);
        json_close(out, '}');
    }
    json_close(out, '}');
}

void budget_held_describe(const struct budget_held *held, struct str *to)
{
    char text[BUDGET_TEXT];
    bool first = true;

    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        const struct budget_share *share = &held->of[i];
        struct budget_limit used = used_of(share);
        if (share->limit.amount <= 0)
            continue;
        str_addf(to, "%s%s", first ? "" : ", ", i == BUDGET_TIME ? "time " : "");
        if (share->used != -1) {
            budget_format(i, &used, text);
            str_addf(to, "%s of ", text);
        }
        budget_format(i, &share->limit, text);
        str_addf(to, "%s (%s%s)", text, share->from,
                 share->used == -1 ? "; its use is not told" : "");
        first = false;
    }
}
