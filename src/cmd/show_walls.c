#include "cmd/show_walls.h"

#include "base/env.h"
#include "session/env.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/owner.h"
#include "wall/plan.h"

/* What the next start would rest on, beside the settings. */
struct next {
    const struct call *call;
    const struct config *config; /* with the presets */
    char **env; /* NULL: not needed yet */
    struct wall_probe probe;
};

/* Appends what this machine would hold. */
static void add_holders(struct next *next, const struct roster_team *team,
                        const struct agent *agent, const struct preset *preset, struct str *to)
{
    struct wall_report report = {.level = WALL_UNSET};
    struct err why = ERR_INIT;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, &why);

    if (enter == NULL) {
        str_addf(to, "; %s", why.text);
        return;
    }
    if (next->env == NULL)
        next->env = env_handed_on(&next->call->config);
    wall_probe_look(&next->probe, env_get(next->env, "PATH"), enter);
    const struct wall_subject subject = {.root = team->root,
                                         .config = next->config,
                                         .id = team->id,
                                         .team = &team->team,
                                         .agent = agent,
                                         .preset = preset,
                                         .enter = enter,
                                         .env = next->env};
    wall_foresee(&subject, &next->probe, &report);
    if (report.level == WALL_REQUIRE && report.missing[0] != '\0') {
        str_addf(to, "; it would not start: %s", report.missing);
        return;
    }
    str_add(to, "; ");
    wall_report_foretell(&report, to);
}

/* Appends what would hold an agent whose host does not answer. */
static void foretell(struct next *next, const struct roster_team *team, const struct agent *agent,
                     const struct next_wall *wall, struct str *to)
{
    struct err ignored = ERR_INIT;

    str_addf(to, "at the next start: %s (", wall_level_name(wall->level));
    wall_source_describe(next->config, wall->source, wall->preset, to);
    str_addc(to, ')');
    if (wall->level != WALL_OFF &&
        owner_check(team->root, team->dir, team->id, "start", &ignored) == 0)
        add_holders(next, team, agent, wall->preset, to);
}

/* Appends what holds an agent. Of one behind a wall its host has told all there is to say. */
static void describe(struct next *next, const struct session_bounds *bounds,
                     const struct roster_team *team, const struct roster_agent *agent,
                     const struct next_wall *wall, struct str *to)
{
    if (agent->told)
        wall_report_describe(&agent->status.wall, to);
    else if (wall->preset != NULL)
        foretell(next, team, agent->agent, wall, to);
    else
        str_addf(to, "at the next start: unknown, because %s",
                 bounds->has_config ? "there is no such preset" : bounds->problem.text);
    bool is_walled = agent->told && agent->status.wall.level != WALL_OFF;
    _cleanup_free_ char *place = session_detail_mas_dir(agent);
    if (place != NULL)
        str_addf(to, "; mas: %s", place);
    if (!is_walled && wall->preset != NULL && wall->source == WALL_BY_NOTHING)
        err_add_commands(to, "; put them up with: mas start --wall %s", team->id);
}

void show_walls(const struct call *call, const struct session_detail *detail, char **texts)
{
    const struct roster *roster = &detail->roster;
    const struct session_bounds *bounds = &detail->bounds;
    struct next next = {.call = call, .config = &bounds->config, .probe = WALL_PROBE_INIT};

    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        struct str text = STR_INIT;
        describe(&next, bounds, &roster->teams[agent->team], agent, &bounds->walls[i], &text);
        texts[i] = str_steal(&text);
    }
    wall_probe_free(&next.probe);
    strv_free(next.env);
}
