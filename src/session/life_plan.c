/*
 * Everything that can be said and checked before a new session exists: options, then the team (the
 * template, changed by the options), its programs, the session itself, then the room in tmux and on
 * disk. Nothing of the session is on disk yet, and no lock is kept; life_settle() checks the names
 * again under the metadata lock. The look at what the machine can hold of walls goes on meanwhile
 * and is awaited last.
 */

#include "base/memory.h"
#include "code/project.h"
#include "session/launch.h"
#include "session/legacy.h"
#include "session/life_internal.h"
#include "session/prompts.h"
#include "store/owner.h"
#include "store/template.h"
#include "store/usage.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

static void apply_preset(struct team *team, const char *preset)
{
    for (size_t i = 0; preset != NULL && i < team->agent_count; i++) {
        free(team->agents[i].preset);
        free(team->agents[i].command);
        team->agents[i].preset = mem_dup(preset);
        team->agents[i].command = mem_dup("");
    }
}

static int check_preset(const struct life *life, const char *name, struct err *err)
{
    if (config_preset(life->config, name) != NULL)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot use preset '%s': there is no such preset", name);
    return config_hint_presets(life->config, err);
}

/* Stores the preset that the environment sets for agents without one: hosts do not see that
 * variable, and later starts may have another value. */
static int keep_preset(const struct life *life, struct team *team, struct err *err)
{
    const char *name = config_text(life->config, SETTING_PRESET);
    bool needed = false;

    for (size_t i = 0; i < team->agent_count; i++)
        needed = needed || team->agents[i].preset[0] == '\0';
    if (!needed || team->preset[0] != '\0' || !config_is_of_env(life->config, SETTING_PRESET))
        return 0;
    if (check_preset(life, name, err) == -1)
        return -1;
    free(team->preset);
    team->preset = mem_dup(name);
    return 0;
}

static int check_options(const struct life *life, const struct life_options *options,
                         struct err *err)
{
    const char *want = options->name != NULL ? session_check_name(options->name) : NULL;
    char lower[ID_TEXT];

    if (want != NULL)
        return err_set(err, MAS_USAGE, "cannot use name '%s': %s", options->name, want);
    if (options->preset != NULL && check_preset(life, options->preset, err) == -1)
        return -1;
    if (options->id != NULL && !id_is_valid(options->id)) {
        (void)err_set(err, MAS_USAGE, "cannot use id '%s': it is not a version 4 UUID",
                      options->id);
        return id_normalise(options->id, lower)
                   ? err_hint(err, "write it in lower case: --id %s", lower)
                   : err_hint(err, "create one with: uuidgen -r");
    }
    return 0;
}

static int fill_session(const struct life *life, const struct life_options *options,
                        const char *template, struct session *session, struct err *err)
{
    session->mode = (enum mode)config_number(life->config, SETTING_MODE);
    if (options->migrating) {
        session->mode = MODE_LEGACY;
        session->migrating = MIGRATING_STOPPED;
    }
    session->name = mem_dup(options->name != NULL ? options->name : "");
    session->template = mem_dup(template);
    session->error = mem_dup("");
    session->private = options->private;
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    session->created = now.tv_sec;
    session->created_nsec = now.tv_nsec;
    session->activity = session->created;
    session->status = options->start ? STATUS_ACTIVE : STATUS_STOPPED;
    session->stopped = options->start ? 0 : session->created;
    return owner_take(session, false, err);
}

int life_check_start(const struct life *life, const struct team *team,
                     const struct session_limits *limits, bool prompts, struct wall_probe *probe,
                     struct err *err)
{
    _cleanup_free_ char *program = NULL;
    const union setting_value *size = config_value(life->config, SETTING_SIZE);

    probe->cache = life->root->sessions;
    if (launch_check_begin(life->config, team, NULL, probe, err) == -1 ||
        launch_check_limits(life->config, team, NULL, limits, err) == -1 ||
        tmux_program(&program, err) == -1 ||
        tmux_check_size(team, size->size.columns, size->size.rows, err) == -1)
        return -1;
    if (life->memory == NULL)
        return 0;
    uint64_t needed = launch_memory(life->config, team, prompts);
    if (life->memory->needed == 0 && needed > 0)
        life->memory->available = memory_available();
    life->memory->needed += needed;
    return 0;
}

/* Checks for obstacles to a new session before anything is copied; life_settle() checks again. */
static int check_free(const struct life *life, struct session *session, struct err *err)
{
    _cleanup_close_ int there = workspace_open(life->root, session->id);

    if (there != -1 || errno == ENOTDIR || errno == ELOOP)
        return err_set(err, MAS_CONFLICT, "cannot create session '%s': it exists", session->id);
    if (errno != ENOENT)
        return err_errno(err, "cannot create session '%s'", session->id);
    return life_check_names(life, session, err);
}

/* Fails if a limit is for an agent that the team does not have. */
static int check_limits(const struct session_limits *limits, const struct team *team,
                        struct err *err)
{
    for (size_t i = 0; limits != NULL && i < limits->count; i++)
        if (team_agent(team, limits->each[i].agent) == NULL)
            return err_set(err, MAS_USAGE, "cannot limit agent '%s': the team has no such agent",
                           limits->each[i].agent);
    return 0;
}

/* The team: what the template says, then what the options say. */
static int plan_team(const struct life *life, const struct life_options *options,
                     struct life_plan *plan, struct err *err)
{
    struct team *team = &plan->template.team;
    const char *wanted =
        options->template != NULL ? options->template : config_text(life->config, SETTING_TEMPLATE);

    if (template_resolve(life->root, wanted, &plan->name, err) == -1 ||
        template_open(life->root, plan->name, &plan->template, err) == -1)
        return -1;
    apply_preset(team, options->preset);
    if (life->wall != NULL)
        team->wall = *life->wall;
    if (options->config != NULL &&
        prompts_from_file(options->config, life->config, team, err) == -1)
        return -1;
    if (prompts_from_words(options->prompts, team, err) == -1 ||
        check_limits(options->limits, team, err) == -1 || keep_preset(life, team, err) == -1)
        return -1;
    return life_find_project(life, options, team, &plan->project, err);
}

/* Its programs: those that will be started, or of a preset that was named. */
static int plan_programs(const struct life *life, const struct life_options *options,
                         struct life_plan *plan, struct err *err)
{
    const struct team *team = &plan->template.team;

    plan->session.prompted = options->start && team_has_prompts(team);
    if (options->start)
        return life_check_start(life, team, options->limits, plan->session.prompted, &plan->probe,
                                err);
    if (options->preset == NULL || options->elsewhere)
        return 0;
    return launch_check(life->config, team, NULL, err);
}

static int plan_session(const struct life *life, const struct life_options *options,
                        struct life_plan *plan, struct err *err)
{
    struct session *session = &plan->session;

    if (options->id != NULL)
        memcpy(session->id, options->id, ID_TEXT);
    else if (id_make(session->id, err) == -1)
        return -1;
    if (fill_session(life, options, plan->name, session, err) == -1)
        return -1;
    if (plan->project.path != NULL)
        life_take_project(&plan->template.team, &plan->project, session);
    if (life_set_tmux_name(life, session, session_name_digits[0], err) == -1)
        return -1;
    return check_free(life, session, err);
}

int life_plan(const struct life *life, const struct life_options *options, struct life_plan *plan,
              struct err *err)
{
    const struct team *team = &plan->template.team;
    const struct session *session = &plan->session;

    if (check_options(life, options, err) == -1 || plan_team(life, options, plan, err) == -1 ||
        plan_programs(life, options, plan, err) == -1 ||
        plan_session(life, options, plan, err) == -1)
        return -1;
    if (options->start && (tmux_check_room(session->tmux_socket, team->agent_count, err) == -1 ||
                           legacy_check_tmux(life->root, session, "create", err) == -1))
        return -1;
    if (usage_check_new(life->root, life->config, &plan->template, session->mode, options->limits,
                        err) == -1)
        return -1;
    return options->start ? launch_check_walls(life->config, team, NULL, &plan->probe, err) : 0;
}

void life_plan_free(struct life_plan *plan)
{
    project_free(&plan->project);
    template_free(&plan->template);
    session_free(&plan->session);
    wall_probe_free(&plan->probe);
    free(plan->name);
    *plan = (struct life_plan)LIFE_PLAN_INIT;
}
