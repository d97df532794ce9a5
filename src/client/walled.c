#include "client/walled.h"

#include "client/roster.h"
#include "store/config.h"
#include "wall/plan.h"

static int fail(const char *agent, const char *why, struct err *err)
{
    return err_set(err, MAS_CONFLICT,
                   "cannot let a guest prompt the team: agent '%s' %s; who can prompt an agent "
                   "without a required wall is its owner",
                   agent, why);
}

/* A host has read its settings when it started. */
static int check(const struct config *config, const struct roster *roster, size_t i,
                 struct err *err)
{
    const struct team *team = &roster->teams[0].team;
    const struct roster_agent *one = &roster->agents[i];
    const struct agent *agent = one->agent;
    const struct preset *preset = config_agent_preset(config, team, agent);

    if (preset == NULL || wall_level_of(config, team, agent, preset) != WALL_REQUIRE)
        return fail(agent->id, "has none at its next start", err);
    if (!one->told && roster->calls[i].answer != HOST_ABSENT &&
        roster->calls[i].answer != HOST_ENDED)
        return fail(agent->id, "does not say whether it has one", err);
    if (one->told && one->status.wall.level != WALL_REQUIRE)
        return fail(agent->id, "has none now", err);
    return 0;
}

int walled_check(const struct root *root, const char *id, struct err *err)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;

    if (config_load(root, true, &config, NULL, err) == -1 ||
        roster_open(root, id, &team, err) == -1 || roster_add(&roster, &team, NULL, err) == -1)
        return -1;
    roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
    roster_finish(&roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster.count; i++)
        if (check(&config, &roster, i, err) == -1)
            return -1;
    return 0;
}
