/*
 * Budgets: how much an agent, or all agents of a session together, may use. At a limit an agent
 * finishes its turn and is paused until a person lets it go on.
 *
 * A limit comes from mas.ini, a preset, the template, or a person who sets it for one session; the
 * nearest one counts.
 */
#pragma once

#include "base/json.h"
#include "base/value.h"
#include "model/money.h"

enum budget_kind {
    BUDGET_COST,
    BUDGET_TOKENS,
    BUDGET_TURNS,
    BUDGET_TIME, /* in which agents work, without the time in which they wait for a person */
    BUDGET_KIND_COUNT
};

enum { BUDGET_TEXT = 80 };

struct budget_limit {
    int64_t amount; /* millionths, tokens, turns, ms; 0: not set; -1: there is no limit */
    char currency[MONEY_CURRENCY_MAX + 1]; /* of a cost */
};

struct budget {
    struct budget_limit of[BUDGET_KIND_COUNT];
};

enum { BUDGET_FROM_MAX = 160 };

/* What holds of each kind, how much of it is used, and where it comes from: "mas set". */
struct budget_held {
    struct budget_share {
        struct budget_limit limit; /* an amount of 0 or less: there is no limit */
        struct budget_limit base; /* without what a person has added to it */
        int64_t used; /* in the unit of the limit; -1: not told */
        char from[BUDGET_FROM_MAX];
    } of[BUDGET_KIND_COUNT];
};

/* Returns "cost", "tokens", "turns" or "time"; the reverse returns false for any other text. */
const char *budget_kind_name(enum budget_kind kind);
bool budget_kind_parse(const char *text, enum budget_kind *ret);

/* "5 USD", "200k", "10", "90m", or "none": of the amount, and of a cost the whole limit. */
extern const struct value_type budget_types[BUDGET_KIND_COUNT];
/* Parses one. Returns NULL, or a description of valid values.
 */
const char *budget_parse(enum budget_kind kind, const char *text, struct budget_limit *ret);
/* Writes a limit so that budget_parse() reads it back; "" if it is not set. */
void budget_write(enum budget_kind kind, const struct budget_limit *limit, char buf[BUDGET_TEXT]);
/* Writes an amount for people: "5.00 USD", "200000 tokens", "10 turns", "1h30m". */
void budget_format(enum budget_kind kind, const struct budget_limit *limit, char buf[BUDGET_TEXT]);

/* Writes the member "budget", an object of texts, if a limit is set. */
void budget_put(const struct budget *budget, struct json_out *out);
/* Reads such an object, which may be missing. Returns false if it is not valid. */
bool budget_read(const struct json *object, struct budget *ret);

/* Returns true if there is a limit. */
bool budget_held_any(const struct budget_held *held);
/* Writes the member "budget", an object with the amount, what is used of it and the origin of each
 * limit that holds; null if there is none. */
void budget_held_put(const struct budget_held *held, struct json_out *out);
/* Appends "1.20 USD of 5.00 USD (mas set), 3 turns of 10 turns (preset claude)"; nothing if there
 * is no limit. */
void budget_held_describe(const struct budget_held *held, struct str *to);
