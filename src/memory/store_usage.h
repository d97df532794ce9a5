/*
 * What agents use, in the store of their session: a row for each turn, and for what an agent tells
 * before its first turn. Numbers that an agent does not tell are -1 here and NULL on disk, never 0.
 *
 *     store_usage_begin()     a turn begins
 *     store_usage_tell()      the agent tells the context and the cost of its agent session
 *     store_usage_tokens()    ... and the tokens of the turn
 *     store_usage_end()       the turn has ended
 *
 * Agents count costs cumulatively, for as long as an agent session lasts. The store keeps the
 * newest value of each agent session and adds only what has come since, so that nothing is counted
 * twice after a clear, a resume, a load or a kill:
 *
 *   - a value that is lower than the one before adds nothing, until it is exceeded;
 *   - except once after the agent session was resumed or loaded (store_usage_join()): then the new
 *     process of the agent counts from zero;
 *   - the first value in another currency adds nothing, because it may contain what was counted in
 *     the one before.
 *
 * What is told outside of a turn belongs to the last turn of that agent session. A turn that a kill
 * cut off is ended by the next writer.
 */
#pragma once

#include "memory/store.h"
#include "model/budget.h"
#include "model/money.h"
#include "model/token_counts.h"

/* ---- writing, by the host of the agent */

struct store_usage_turn {
    int64_t query, prompt;
    const char *agent_session;
    const char *model; /* "": unknown */
    const char *account; /* that pays, as are those below; "": none, or it is not known */
    int64_t team_turns, agent_turns; /* how many there may be; 0: any number */
};
/* Records that a turn begins. *ret_begun is false, and nothing is recorded, if the team or the
 * agent has had as many turns as it may. The turn of a prompt that is asked once more is the same
 * one. */
int store_usage_begin(struct store *store, const struct store_usage_turn *turn, bool *ret_begun,
                      struct err *err);
/* Records how long the turn has worked so far, in ms; store_usage_end() also that it has ended. */
int store_usage_worked(struct store *store, int64_t prompt, int64_t worked_ms, struct err *err);
int store_usage_end(struct store *store, int64_t prompt, int64_t worked_ms, struct err *err);

struct store_usage_report {
    int64_t query; /* for a new row */
    const char *agent_session, *model, *account;
    int64_t used, size; /* of the context; -1: not told */
    struct money cost; /* cumulative */
};
int store_usage_tell(struct store *store, const struct store_usage_report *report, struct err *err);
/* Records the tokens of the last turn of that agent session. */
int store_usage_tokens(struct store *store, int64_t query, const char *agent_session,
                       const struct token_counts *tokens, struct err *err);
/* Records that the agent has opened an agent session: a new one, or an earlier one again. */
int store_usage_join(struct store *store, const char *agent_session, bool is_new, struct err *err);

/* ---- reading */

struct store_usage {
    int64_t number;
    const char *agent;
    int64_t query; /* unique in the session */
    int64_t prompt; /* 0: outside of a turn */
    const char *session; /* in which it was recorded: another one than the store's in a copy */
    const char *agent_session, *model, *account;
    int64_t started_ms, ended_ms; /* 0: the turn is on */
    int64_t worked_ms;
    struct token_counts tokens;
    int64_t used, size;
    const struct money *costs; /* one for each currency */
    size_t cost_count;
};
/* Called for each row, the oldest first; return false to stop. */
typedef bool store_each_usage(const struct store_usage *usage, void *arg);
/* `agent` NULL: all. */
int store_usages(struct store *store, const char *agent, store_each_usage *each, void *arg,
                 struct err *err);

/* Sums; -1: not told. */
struct store_spent {
    int64_t turns; /* that have begun */
    int64_t worked_ms;
    int64_t tokens; /* totals, or the sum of the parts */
    int64_t cost; /* in the currency that was asked for */
    char currency[MONEY_CURRENCY_MAX + 1]; /* in which costs were told last; "": none were */
};
/* Sums up what one agent, or with NULL all agents, have used. `currency` "": the one told last. */
int store_spent(struct store *store, const char *agent, const char *currency,
                struct store_spent *ret, struct err *err);
/* Returns the context as it was told last of an agent session; -1: it was not. */
int store_context(struct store *store, const char *agent, const char *agent_session,
                  int64_t *ret_used, int64_t *ret_size, struct err *err);

/* ---- budgets that a person has set for the session while it exists */

/* Sets a limit of one agent, or with `agent` "" of all agents together. An amount of 0 removes it.
 * FULL, as is the next function. */
int store_set_limit(struct store *store, const char *agent, enum budget_kind kind,
                    const struct budget_limit *limit, struct err *err);
/* Lets an agent, or all, go on up to this amount, until the limit is set anew. */
int store_extend_limit(struct store *store, const char *agent, enum budget_kind kind,
                       const struct budget_limit *limit, struct err *err);
/* Reads the limits that are set, and those up to which they were extended. */
int store_limits(struct store *store, const char *agent, struct budget *ret_set,
                 struct budget *ret_extended, struct err *err);
/* Returns a number that changes when another process has written to the store; -1 on failure. */
int64_t store_changes(struct store *store);
