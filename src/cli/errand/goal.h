/*
 * The steps of `mas goal`: an errand (session/errand/errand.h) that asks an agent again and again
 * until a check passes. A step, once the turn of the round before has ended:
 *
 * 1. Take a snapshot of the agent's files, and run the check on it as `mas compare` does, behind
 *    the wall of the agent, under the lock of code.git.
 * 2. It passes: the goal is reached. It fails, and there were as many rounds as there may be, or
 *    the budget is used, or the files have not changed in two rounds: it is over.
 * 3. Give the text, and what the check has printed last, as data. The entry gets the sum of the
 *    files together with the mark that a prompt is given (errand_give()).
 *
 * Killed before the prompt is given, the check runs again.
 */
#pragma once

#include "base/sha.h"
#include "session/errand/errand.h"

enum { GOAL_UNCHANGED = 2, GOAL_OUTPUT_MAX = 6 * 1024, GOAL_LINES = 40 };

/* What it keeps in the data of the entry. */
struct goal_data {
    char *files; /* the sum of the files at the last check; "": there was none */
    int64_t unchanged; /* rounds in a row */
    int64_t spent; /* of the budget, before the goal */
    bool no_wall; /* a person lets the check run without one */
};
void goal_free(struct goal_data *goal);
#define _cleanup_goal_ __attribute__((cleanup(goal_free)))
/* Writes it to the entry. */
void goal_put(const struct goal_data *goal, struct every_entry *entry);

/* Parses a budget: of tokens, or a cost. Returns NULL, or what a valid one is. */
const char *goal_budget(const char *text, enum budget_kind *ret_kind, struct budget_limit *ret);
/* Reads how much an agent has used of such a budget. Fails with MAS_CONFLICT if the agent has
 * worked, and did not tell it; *ret is 0 if it has not worked. */
int goal_spent(int dir, const char *id, const char *agent, enum budget_kind kind,
               const char *currency, int64_t *ret, struct err *err);

int goal_step(struct errand *errand, int *ret_wait_ms, struct err *err);
