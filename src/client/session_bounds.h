/*
 * The budgets, limits and walls that hold for a session and each of its agents, and how much of the
 * budgets and limits is used. They are read from where they are kept: a stopped session has them,
 * too.
 */
#pragma once

#include "client/roster.h"
#include "model/budget.h"
#include "model/limits.h"
#include "model/wall.h"
#include "store/config.h"
#include "store/usage.h"
#include "wall/plan.h"

/* The wall that an agent has at its next start. */
struct next_wall {
    const struct preset *preset; /* NULL: unknown, as there is no such preset, or no settings */
    enum wall_level level; /* WALL_UNSET: unknown */
    enum wall_source source;
};

struct session_bounds {
    struct config config; /* with the presets */
    bool has_config; /* it could be read */
    struct limits_held limits; /* set for the session, or in mas.ini; agents may have nearer ones */
    struct budget_held budget; /* of all agents together */
    struct budget_held *agents; /* one for each agent of the roster */
    struct next_wall *walls; /* likewise */
    struct err problem; /* why they cannot be read; MAS_OK: they can */
};

/* Fills *ret for a roster of one team whose hosts have answered. Sets the limits of the agents that
 * told none, and of all agents how much they use of their limits. Release it with
 * session_bounds_free(). */
void session_bounds_look(struct roster *roster, const struct usage *usage,
                         struct session_bounds *ret);
void session_bounds_free(struct session_bounds *bounds);
