/*
 * The part of session/grow.h that says what an agent may add. A person has listed the presets, but
 * perhaps not with the wall of each manager in mind: so a new agent's is compared with that of who
 * adds it. What stands in mas.ini holds for both.
 */

#include "model/network.h"
#include "session/grow_internal.h"
#include "session/launch.h"
#include "wall/plan.h"

static int fail(const struct grow_wish *wish, const char *why, struct err *err)
{
    (void)err_set(err, MAS_FAILED, "agent '%s' may not add an agent: %s", wish->by, why);
    return err_hint(err, "ask a person to do it: mas add");
}

int grow_check_rank(const struct growing *growing, const struct grow_wish *wish, struct err *err)
{
    const struct team *team = &growing->team;
    const struct agent *by = team_agent(team, wish->by);
    int grown = 0;

    for (size_t i = 0; i < team->agent_count; i++)
        grown += team->agents[i].grown_by[0] != '\0';
    if (by == NULL || by->rank == RANK_WORKER)
        return fail(wish, "only managers may", err);
    if (by->rank == RANK_MANAGER && wish->unit != NULL && strcmp(wish->unit, by->group) != 0)
        return fail(wish, "a manager may do that only in its own unit", err);
    if (grown < team->grow)
        return 0;
    _cleanup_free_ char *why =
        team->grow == 0
            ? mem_dup("the template of the team does not let it grow (grow = 0)")
            : mem_printf("the team has grown by %d, and its template allows no more (grow = %d)",
                         grown, team->grow);
    return fail(wish, why, err);
}

/* Returns true if each path is among the others. */
static bool are_among(char *const *paths, char *const *others)
{
    for (char *const *path = paths; path != NULL && *path != NULL; path++)
        if (!strv_has(others, *path))
            return false;
    return true;
}

static const char *network_of(const struct config *config, const struct preset *preset)
{
    const char *network = preset->wall.network;

    return network != NULL && network[0] != '\0' ? network
                                                 : config_text(config, SETTING_WALL_NETWORK);
}

/* Returns true if the one reaches nothing that the other does not: nothing at all, or the same. */
static bool reaches_no_more(const struct config *config, const struct preset *preset,
                            const struct preset *other)
{
    const char *network = network_of(config, preset);
    const char *most = network_of(config, other);

    return strcmp(network, "none") == 0 || strcmp(most, "open") == 0 || most[0] == '\0' ||
           strcmp(network, most) == 0;
}

/* Returns what is weaker in the wall of the preset than in that of the other one; NULL: nothing. */
static const char *weakness(const struct config *config, const struct preset *preset,
                            const struct preset *other)
{
    const struct wall_options *wall = &preset->wall;
    const struct wall_options *own = &other->wall;

    if (!reaches_no_more(config, preset, other))
        return "wall.network";
    if (!are_among(wall->write, own->write))
        return "wall.write";
    if (!are_among(wall->read, own->read) && !are_among(wall->read, own->write))
        return "wall.read";
    return wall->nested && !own->nested ? "wall.nested" : NULL;
}

int grow_check_rights(struct growing *growing, const struct grow_wish *wish, struct err *err)
{
    const struct config *config = growing->life->config;
    const struct team *team = &growing->team;
    const struct agent *by = team_agent(team, wish->by);
    const struct preset *preset = config_preset(config, wish->preset);
    const struct preset *own = config_agent_preset(config, team, by);
    _cleanup_strv_ char **listed = str_split_list(team->grow_presets);

    if (!strv_has(listed, wish->preset)) {
        (void)err_set(err, MAS_FAILED, "agent '%s' may not add an agent of preset '%s'", by->id,
                      wish->preset);
        return err_hint(err, "the template of the team allows: %s",
                        team->grow_presets[0] != '\0' ? team->grow_presets : "none (grow.presets)");
    }
    if (launch_is_operator(growing->agent, preset))
        return fail(wish, "it would act as a person", err);
    if (own == NULL)
        return fail(wish, "its own preset is unknown", err);
    enum wall_level level = wall_level_of(config, team, by, own);
    if (wall_level_of(config, team, growing->agent, preset) < level)
        growing->agent->wall = level;
    const char *weak = level != WALL_OFF ? weakness(config, preset, own) : NULL;
    if (weak == NULL)
        return 0;
    _cleanup_free_ char *why = mem_printf("its wall would be weaker (%s)", weak);
    return fail(wish, why, err);
}
