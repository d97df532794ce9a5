#include "client/session_bounds.h"

#include "memory/budgets.h"
#include "store/session_limits.h"

void session_bounds_free(struct session_bounds *bounds)
{
    free(bounds->walls);
    free(bounds->agents);
    config_free(&bounds->config);
}

/* Sets how much an agent uses of its limits, as far as its host knows. */
static void count(struct agent_status *status, const struct usage *usage)
{
    struct limit_held *of = status->limits.of;

    of[LIMIT_SESSION].used = (int64_t)usage->all.real;
    of[LIMIT_AGENT].used = status->disk.known ? status->disk.used : 0;
    of[LIMIT_MEMORY].used = status->resources.memory;
    of[LIMIT_PROCESSES].used = status->resources.processes;
}

static void look_at_walls(const struct roster *roster, struct session_bounds *bounds)
{
    const struct team *team = &roster->teams[0].team;
    const struct config *config = &bounds->config;

    for (size_t i = 0; i < roster->count; i++) {
        const struct agent *agent = roster->agents[i].agent;
        const struct preset *preset = config_agent_preset(config, team, agent);
        if (preset != NULL)
            bounds->walls[i] =
                (struct next_wall){.preset = preset,
                                   .level = wall_level_of(config, team, agent, preset),
                                   .source = wall_source_of(config, team, agent, preset)};
    }
}

/* Reads the limits as the hosts do when they start. */
static void look_at_limits(struct roster *roster, const struct usage *usage,
                           struct session_bounds *bounds)
{
    const struct config *config = &bounds->config;
    const struct roster_team *team = &roster->teams[0];
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    struct err ignored = ERR_INIT;

    (void)session_limits_read(team->dir, &limits, &ignored);
    bounds->limits = session_limits_hold(&limits, config, NULL, NULL);
    bounds->limits.of[LIMIT_SESSION].used = (int64_t)usage->all.real;
    for (size_t i = 0; i < roster->count; i++) {
        struct roster_agent *one = &roster->agents[i];
        if (!one->told) {
            one->status.resources = (struct agent_resources){-1, -1, -1};
            one->status.limits =
                session_limits_hold(&limits, config, one->agent, bounds->walls[i].preset);
        }
        count(&one->status, usage);
    }
}

static int look_at_budget(struct store *store, const struct budgets_subject *of,
                          struct budget_held *ret, struct err *err)
{
    if (budgets_read(store, of, ret, err) == -1)
        return -1;
    return budgets_count(store, of, ret, err);
}

static int look_at_budgets(const struct roster *roster, struct session_bounds *bounds,
                           struct err *err)
{
    const struct roster_team *team = &roster->teams[0];
    struct budgets_subject of = {.config = &bounds->config, .team = &team->team};
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;

    if (store_open(team->dir, team->id, NULL, false, &store, &why) == -1 &&
        why.code != MAS_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (look_at_budget(store, &of, &bounds->budget, err) == -1)
        return -1;
    for (size_t i = 0; i < roster->count; i++) {
        of.agent = roster->agents[i].agent;
        of.preset = bounds->walls[i].preset;
        if (look_at_budget(store, &of, &bounds->agents[i], err) == -1)
            return -1;
    }
    return 0;
}

void session_bounds_look(struct roster *roster, const struct usage *usage,
                         struct session_bounds *ret)
{
    if (roster->team_count == 0)
        return;
    ret->agents = mem_alloc((roster->count + 1) * sizeof *ret->agents);
    ret->walls = mem_alloc((roster->count + 1) * sizeof *ret->walls);
    if (config_load(roster->teams[0].root, true, &ret->config, NULL, &ret->problem) == -1)
        return;
    ret->has_config = true;
    look_at_walls(roster, ret);
    look_at_limits(roster, usage, ret);
    (void)look_at_budgets(roster, ret, &ret->problem);
}
