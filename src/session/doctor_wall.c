/* The part of the doctor that looks at walls: which sessions have none, and what is missing for
 * those that ask for them. */
#include "base/str.h"
#include "session/doctor_internal.h"
#include "session/helper.h"
#include "store/team_file.h"
#include "wall/probe.h"

#include <stdlib.h>

/* Returns true if the team asks for a wall, as far as its own files say. */
static bool asks_for_walls(const struct team *team)
{
    bool asks = team->wall >= WALL_TRY;

    for (size_t i = 0; !asks && team->wall == WALL_UNSET && i < team->agent_count; i++)
        asks = team->agents[i].wall >= WALL_TRY;
    return asks;
}

void doctor_check_wall(struct doctor *doctor, int dir, const char *id)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err ignored = ERR_INIT; /* others report a damaged team */

    if (team_file_load(dir, &team, &ignored) == -1)
        return;
    if (!team.has_walls)
        doctor_add(doctor, FINDING_NOTE, id,
                   "its agents have no walls, because an earlier version of mas made it; stop it, "
                   "then: mas start --wall %s",
                   id);
    doctor->asks_for_walls = doctor->asks_for_walls || asks_for_walls(&team);
}

void doctor_check_machine(struct doctor *doctor)
{
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    enum wall_level level = WALL_UNSET;
    struct err why = ERR_INIT;

    (void)wall_level_parse(config_text(doctor->config, SETTING_WALL_LEVEL), &level);
    if (!doctor->asks_for_walls && level < WALL_TRY)
        return;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, &why);
    if (enter != NULL)
        wall_probe_look(&probe, getenv("PATH"), enter);
    if (enter == NULL || wall_probe_lacks(&probe, &why) == -1)
        doctor_add(doctor, FINDING_HAND, "walls", "this machine cannot hold them: %s; %s", why.text,
                   why.hint);
}
