/*
 * The budgets that hold for an agent, or for all agents of a session together (model/budget.h).
 *
 * The nearest place counts: set by a person (which the store has), said in the template, then the
 * preset of the agent, or [budget] of mas.ini for all together. What a person has added to a limit
 * that was reached counts until the limit is set anew.
 */
#pragma once

#include "memory/store.h"
#include "model/budget.h"
#include "model/team/team.h"
#include "store/config.h"

struct budgets_subject {
    const struct config *config;
    const struct team *team;
    const struct agent *agent; /* NULL: all agents together */
    const struct preset *preset; /* of the agent; NULL: it says nothing */
};

/* Reads what holds; nothing of it counts as used yet. `store` NULL: nobody has set anything. */
int budgets_read(struct store *store, const struct budgets_subject *of, struct budget_held *ret,
                 struct err *err);
/* Reads what is used of the limits in *held; with no store nothing is. */
int budgets_count(struct store *store, const struct budgets_subject *of, struct budget_held *held,
                  struct err *err);
