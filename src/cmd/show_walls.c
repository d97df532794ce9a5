#include "cmd/show_walls.h"

#include "base/env.h"
#include "base/str.h"
#include "session/env.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/owner.h"
#include "wall/plan.h"

#include <stdlib.h>

/* What the next start would rest on. */
struct next {
    bool loaded;
    struct config config; /* with the presets */
    struct err problem; /* why these cannot be read; MAS_OK: they can */
    char **env;
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
    wall_probe_look(&next->probe, env_get(next->env, "PATH"), enter);
    const struct wall_subject subject = {.root = team->root,
                                         .config = &next->config,
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
                     const struct preset *preset, struct str *to)
{
    enum wall_source source = wall_source_of(&next->config, &team->team, agent, preset);
    enum wall_level level = wall_level_of(&next->config, &team->team, agent, preset);
    struct err ignored = ERR_INIT;

    str_addf(to, "at the next start: %s (", wall_level_name(level));
    wall_source_describe(&next->config, source, preset, to);
    str_addc(to, ')');
    if (level != WALL_OFF && owner_check(team->root, team->dir, team->id, "start", &ignored) == 0)
        add_holders(next, team, agent, preset, to);
}

/* Returns true if the agent runs behind a wall: its host has told all there is to say. */
static bool is_walled(const struct roster_agent *agent)
{
    return agent->told && agent->status.wall.level != WALL_OFF;
}

/* Reads that once it is needed: for a team that runs behind walls it is not. */
static void load_next(const struct call *call, struct next *next)
{
    if (next->loaded)
        return;
    next->loaded = true;
    (void)config_load(&call->root, true, &next->config, NULL, &next->problem);
    next->env = env_handed_on(&call->config);
}

/* Appends what holds an agent that is not behind a wall now. */
static void describe(struct next *next, const struct roster_team *team,
                     const struct roster_agent *agent, struct str *to)
{
    const struct preset *preset =
        next->problem.code == MAS_OK ? config_agent_preset(&next->config, &team->team, agent->agent)
                                     : NULL;

    if (agent->told)
        wall_report_describe(&agent->status.wall, to);
    else if (preset != NULL)
        foretell(next, team, agent->agent, preset, to);
    else
        str_addf(to, "at the next start: unknown, because %s",
                 next->problem.code != MAS_OK ? next->problem.text : "there is no such preset");
    if (preset == NULL)
        return;
    enum wall_source source = wall_source_of(&next->config, &team->team, agent->agent, preset);
    if (source == WALL_BY_VERSION || source == WALL_BY_NOTHING)
        err_add_commands(to, "; put them up with: mas start --wall %s", team->id);
}

void show_walls(const struct call *call, const struct session_detail *detail, char **texts)
{
    const struct roster *roster = &detail->roster;
    struct next next = {.config = CONFIG_INIT, .probe = WALL_PROBE_INIT};

    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        struct str text = STR_INIT;
        if (is_walled(agent)) {
            wall_report_describe(&agent->status.wall, &text);
        } else {
            load_next(call, &next);
            describe(&next, &roster->teams[agent->team], agent, &text);
        }
        texts[i] = str_steal(&text);
    }
    wall_probe_free(&next.probe);
    strv_free(next.env);
    config_free(&next.config);
}
