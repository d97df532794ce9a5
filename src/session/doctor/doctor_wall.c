/*
 * The part of the doctor that looks at walls and limits: which sessions have no walls, what this
 * machine lacks for those that ask for them, and what killed hosts have left of them. Each session
 * adds what it asks for to doctor->wants; the machine is looked at once, after all of them, and
 * only for that.
 */

#include "base/number.h"
#include "session/doctor/doctor_internal.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/lease.h"
#include "store/lease_clock.h"
#include "store/limits/session_limits.h"
#include "store/team_file.h"
#include "wall/cgroup.h"
#include "wall/plan.h"
#include "wall/probe.h"
#include "wall/scope.h"

/* Notes what an agent with this preset wants. Returns true if it has no wall and nobody has said
 * so; a terminal for a person needs none. */
static bool note_agent(struct doctor *doctor, int dir, const struct team *team,
                       const struct agent *agent)
{
    struct doctor_wants *wants = &doctor->wants;
    const struct preset *preset =
        doctor->presets != NULL ? config_agent_preset(doctor->presets, team, agent) : NULL;
    const struct limits_held held = session_limits_look(dir, doctor->config, agent, preset);
    struct err ignored = ERR_INIT;

    const struct cgroup_limits limits = cgroup_limits_of(&held);

    wants->limits |= cgroup_asked(&limits);
    wants->asked = wants->asked || team->wall >= WALL_TRY ||
                   (team->wall == WALL_UNSET && agent->wall >= WALL_TRY);
    if (preset == NULL)
        return false;
    if (wall_level_of(doctor->config, team, agent, preset) < WALL_TRY)
        return wall_source_of(doctor->config, team, agent, preset) == WALL_BY_NOTHING &&
               !launch_is_operator(agent, preset);
    wants->walls = true;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, &ignored);
    if (enter != NULL && wants->network.code == MAS_OK)
        (void)wall_network_check(doctor->config, agent, preset, enter, environ, &wants->network);
    return false;
}

/* Tells if the agents of a team that does not run would find too little memory. */
static void check_memory(struct doctor *doctor, const char *subject, const struct team *team)
{
    char need[NUMBER_SIZE_TEXT], have[NUMBER_SIZE_TEXT];
    const uint64_t needed =
        doctor->presets != NULL ? launch_memory(doctor->presets, team, false) : 0;

    if (needed <= doctor->memory)
        return;
    number_format_size(needed, need);
    number_format_size(doctor->memory, have);
    doctor_add(doctor, FINDING_NOTE, subject,
               "its agents probably need %s of memory, and only %s is free; with start = "
               "demand, each starts with its first message",
               need, have);
}

void doctor_check_wall(struct doctor *doctor, int dir, const char *id, bool stopped)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err ignored = ERR_INIT; /* others report a damaged team */

    if (team_file_load(dir, &team, &ignored) == -1)
        return;
    if (stopped)
        check_memory(doctor, id, &team);
    bool none = false;
    for (size_t i = 0; i < team.agent_count; i++)
        none = note_agent(doctor, dir, &team, &team.agents[i]) || none;
    if (none)
        doctor_add(doctor, FINDING_NOTE, id,
                   "its agents have no walls, because nothing asks for them; stop it, then: mas "
                   "start --wall %s",
                   id);
    doctor->wants.none = doctor->wants.none || none;
}

static void check_walls(struct doctor *doctor)
{
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    enum finding_state state = doctor->wants.asked ? FINDING_HAND : FINDING_NOTE;
    struct err why = ERR_INIT;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, &why);

    if (enter != NULL)
        wall_probe_look(&probe, getenv("PATH"), enter);
    if (enter == NULL || wall_probe_lacks(&probe, &why) == -1)
        doctor_add(doctor, state, "walls", "this machine cannot hold them: %s; %s", why.text,
                   why.hint);
    if (doctor->wants.network.code != MAS_OK)
        doctor_add(doctor, state, "walls", "%s; %s", doctor->wants.network.text,
                   doctor->wants.network.hint);
}

static void check_groups(struct doctor *doctor)
{
    struct err why = ERR_INIT;

    const unsigned lacks = scope_foresee(config_text(doctor->config, SETTING_LIMIT_CGROUP),
                                         doctor->wants.limits, &why);
    if (lacks == 0)
        return;
    doctor_add(doctor, FINDING_NOTE, "limits",
               "resource limits of processes hold them, which hold less than a cgroup: limits.%s: "
               "%s; run mas "
               "in a unit of systemd with Delegate=yes, or name a cgroup in limits.cgroup",
               cgroup_limit_name(lacks), why.text);
}

/* Looks what systemd would do with a new tmux server when memory is short. */
static void check_scope(struct doctor *doctor)
{
    _cleanup_free_ char *said = NULL;

    if (!tmux_scope_goes_on(&said))
        doctor_add(
            doctor, FINDING_NOTE, "systemd",
            "it gives a new tmux server no scope with OOMPolicy=continue (%s); before version "
            "253 it needs none, later it ends a server and its teams if the kernel ends one "
            "process in it for memory",
            said);
}

/* The next `mas new` would start it. */
static void check_next(struct doctor *doctor)
{
    const char *name = config_text(doctor->config, SETTING_TEMPLATE);
    _cleanup_free_ char *subject = mem_printf("%s/%s", ROOT_TEMPLATES, name);
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct err ignored = ERR_INIT;

    if (template_open(doctor->root, name, &tmpl, &ignored) == 0)
        check_memory(doctor, name[0] == '/' ? name : subject, &tmpl.team);
}

static void check_tmux(struct doctor *doctor)
{
    char version[TMUX_VERSION_MAX];
    struct err ignored = ERR_INIT; /* without tmux, sessions are not checked, and say why */

    if (tmux_version(version, &ignored) == 0 && tmux_version_is_old(version))
        doctor_add(doctor, FINDING_HAND, "tmux",
                   "version %s is too old: " TMUX_FIRST " is the first that will do", version);
}

void doctor_check_machine(struct doctor *doctor)
{
    check_tmux(doctor);
    check_scope(doctor);
    check_next(doctor);
    doctor->wants.asked =
        doctor->wants.asked || config_number(doctor->config, SETTING_WALL_LEVEL) >= WALL_TRY;
    if (doctor->wants.walls || doctor->wants.asked || doctor->wants.none)
        check_walls(doctor);
    if (doctor->wants.limits != 0)
        check_groups(doctor);
}

/* ---- what was killed has left outside of the root: hosts cgroups, and pages of leases in shared
 * memory; commands that make a session its lease */

static bool is_live(const struct survey *survey, const char *id)
{
    bool live = false;

    for (size_t i = 0; i < survey->count && !live; i++)
        live = survey->views[i].live != NULL && strcmp(survey->views[i].row.id, id) == 0;
    return live;
}

static void check_left_groups(struct doctor *doctor, const struct survey *survey)
{
    const char *setting = config_text(doctor->config, SETTING_LIMIT_CGROUP);
    _cleanup_strv_ char **ids = cgroup_left(setting);

    for (char **id = ids; id != NULL && *id != NULL; id++) {
        if (is_live(survey, *id))
            continue;
        _cleanup_strv_ char **left = NULL;
        struct err why = ERR_INIT;
        int rc = 0;
        if (doctor->fix) {
            cgroup_forget(setting, *id);
            left = cgroup_left(setting);
        }
        for (char **still = left; still != NULL && *still != NULL; still++)
            if (strcmp(*still, *id) == 0)
                rc = err_set(&why, MAS_FAILED, "the kernel does not remove it");
        doctor_mend(doctor, *id, "it does not run, but its cgroup is left", rc, &why);
    }
}

static void check_pages(struct doctor *doctor)
{
    _cleanup_strv_ char **tokens = lease_clock_left(doctor->root->sessions);

    for (char **token = tokens; token != NULL && *token != NULL; token++) {
        _cleanup_free_ char *subject = mem_printf("/dev/shm/mas-lease-%s", *token);
        struct err why = ERR_INIT;
        if (doctor->fix)
            lease_clock_remove(*token);
        doctor_mend(doctor, subject, "the lease is over, but its page is left", 0, &why);
    }
}

static bool is_here(const struct survey *survey, const char *id)
{
    bool here = false;

    for (size_t i = 0; i < survey->count && !here; i++)
        here = strcmp(survey->views[i].row.id, id) == 0;
    return here;
}

static void check_leases(struct doctor *doctor, const struct survey *survey)
{
    const char *store = config_text(doctor->config, SETTING_FLEET_STORE);
    _cleanup_strv_ char **ids = store[0] != '\0' ? lease_left(store) : NULL;

    for (char **id = ids; id != NULL && *id != NULL; id++) {
        _cleanup_free_ char *subject = mem_printf("%s/%s", store, *id);
        struct err why = ERR_INIT;
        if (is_here(survey, *id))
            continue;
        int rc = doctor->fix ? lease_forget(store, *id, 1, NULL, &why) : 0;
        doctor_mend(doctor, subject, "a killed command left the lease of no session", rc, &why);
    }
}

void doctor_check_remains(struct doctor *doctor, const struct survey *survey)
{
    check_left_groups(doctor, survey);
    check_pages(doctor);
    check_leases(doctor, survey);
}
