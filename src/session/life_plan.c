/*
 * Everything that can be said and checked before a new session exists: options, then the team (the
 * template, changed by the options), its programs, the session itself, then the room in tmux and on
 * disk. Nothing of the session is on disk yet, and no lock is kept; life_settle() checks the names
 * again under the metadata lock. The look at what the machine can hold of walls goes on meanwhile
 * and is awaited last.
 */
#include "code/changes.h"
#include "code/land/carried.h"
#include "code/lfs_carry.h"
#include "code/placed.h"
#include "code/project.h"
#include "code/repo_make.h"
#include "code/setup.h"
#include "code/submodule/submodule.h"
#include "code/try.h"
#include "model/target.h"
#include "os/file.h"
#include "os/machine.h"
#include "session/launch.h"
#include "session/legacy.h"
#include "session/life_internal.h"
#include "session/prompts.h"
#include "session/sentence.h"
#include "store/index.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/team_file.h"
#include "store/template.h"
#include "store/usage.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* ---- the project */

/* Returns DIR[@REF] of the new session, or NULL. */
static const char *choose_project(const struct life_options *options, const struct team *team)
{
    const char *env = getenv("MAS_PROJECT");

    if (options->migrating)
        return NULL;
    if (options->project != NULL)
        return options->project;
    /* inside a team this variable describes that team and is not a request */
    if (env != NULL && env[0] != '\0' && getenv("MAS_SESSION_ID") == NULL)
        return env;
    return team->wants != NULL && team->wants[0] != '\0' ? team->wants : NULL;
}

/* Fails if an option needs a project. */
static int check_no_project(const struct life_options *options, struct err *err)
{
    const char *option = options->changes         ? "--with-changes"
                         : options->included      ? "--with-included"
                         : options->check != NULL ? "--check-with"
                         : options->sentence != NULL && options->sentence->tries > 0 ? "--tries"
                                                                                     : NULL;
    if (option == NULL)
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot use %s without a project", option);
    return err_hint(err, "name a git repository with --project DIR");
}

/* Opens the project of a new session; *ret stays as it is if it has none. */
static int life_find_project(const struct life *life, const struct life_options *options,
                             const struct team *team, struct project *ret, struct err *err)
{
    const char *spec = choose_project(options, team);

    if (spec == NULL)
        return check_no_project(options, err);
    if (placement_is_shared((enum mode)config_number(life->config, SETTING_MODE))) {
        (void)err_set(err, MAS_USAGE,
                      "cannot use project '%s' in legacy mode: a legacy session has no workspace "
                      "of its own",
                      spec);
        return err_hint(err, "use --mode isolated");
    }
    if (repo_check_team(team, err) == -1 || project_open(spec, ret, err) == -1 ||
        project_find_person(ret, err) == -1 || project_check_lfs(ret, err) == -1)
        return -1;
    if (!options->changes || ret->top != NULL)
        return options->changes ? try_refuse(ret->top, "use --with-changes", err) : 0;
    return err_set(err, MAS_USAGE, "cannot use --with-changes: project '%s' has no work tree",
                   ret->path);
}

/* Makes the team one that works on a project. Label: what tells its branches from other
 * sessions'. */
static void life_take_project(struct team *team, const struct project *project,
                              const struct session *session, const char *check)
{
    char *again = team->project.check; /* of the session whose team this is */

    team->project = (struct team_project){
        .path = mem_dup(project->path),
        .onto = mem_dup(project->onto),
        .base = mem_dup(project->base),
        .label = session->name[0] != '\0' ? mem_dup(session->name)
                                          : mem_dupn(session->id, session_name_digits[0]),
        .check = mem_dup(check != NULL   ? check
                         : again != NULL ? again
                                         : ""),
    };
    free(again);
}

/* Finds out whether the project's script may run. *ret is the answer that counts from now on. */
static int answer_script(const struct life *life, const char *project,
                         const struct setup_script *script, enum setup_answer *ret, struct err *err)
{
    const struct life_setup *setup = life->setup;
    enum setup_answer kept = SETUP_UNANSWERED;

    if (setup_answers_find(life->root, script->hash, &kept, err) == -1)
        return -1;
    *ret = kept;
    if (setup->wish == LIFE_SETUP_YES)
        *ret = SETUP_YES;
    else if (kept == SETUP_UNANSWERED && setup->wish == LIFE_SETUP_AS_ANSWERED &&
             setup->ask != NULL && setup->ask(project, script, ret, err) == -1)
        return -1;
    return *ret == kept ? 0 : setup_answers_keep(life->root, script->hash, *ret, err);
}

/* Gives the session the setup of mas.ini or, without one, that of the project's commit. */
static int choose_setup(const struct life *life, const struct repo *repo,
                        const struct project *project, struct err *err)
{
    _cleanup_setup_script_ struct setup_script script = {.text = NULL};
    struct life_setup none = {.wish = LIFE_SETUP_AS_ANSWERED};
    struct life own = *life;
    struct setup setup = {.exists = true};
    enum setup_answer answer = SETUP_YES;

    if (own.setup == NULL)
        own.setup = &none;
    setup.declined = own.setup->wish == LIFE_SETUP_NO;
    if (config_text(life->config, SETTING_CODE_SETUP)[0] == '\0') {
        if (setup_find(repo, project->base, &script, err) == -1)
            return -1;
        own.setup->fault = script.fault;
        if (script.text == NULL)
            return 0;
        if (answer_script(&own, project->path, &script, &answer, err) == -1)
            return -1;
        setup.from_project = true;
        memcpy(setup.hash, script.hash, SHA256_TEXT);
    }
    own.setup->state = setup.declined || answer == SETUP_NO ? SETUP_DECLINED
                       : answer == SETUP_YES                ? SETUP_DUE
                                                            : SETUP_WAITS;
    return setup_save(repo, &setup, err);
}

/* Gives the agents what .worktreeinclude names. */
static int place_files(const struct life *life, const struct life_options *options,
                       const struct repo *repo, const struct project *project,
                       const struct team *team, const char *id, struct err *err)
{
    _cleanup_parcel_ struct parcel parcel = {.files = NULL};
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (!options->included || project->top != NULL)
        return placed_make(repo, project, NULL, team, life->notes, err);
    int rc = carried_read(life->root, id, &text, &len, err);
    carried_drop(life->root, id);
    return rc == -1 || parcel_parse(text, len, &parcel, err) == -1
               ? err_wrap(err, "cannot use --with-included")
               : placed_make(repo, project, &parcel, team, life->notes, err);
}

int life_make_code(const struct life *life, const struct life_options *options,
                   const struct project *project, const struct team *team,
                   const struct stage *stage, struct err *err)
{
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_free_ char *path = NULL;

    if (project->path == NULL)
        return 0;
    path = workspace_stage_path(life->root, stage);
    repo_open(path, team->project.label, &repo);
    struct project begun = *project; /* borrows from it */
    _cleanup_free_ char *commit = NULL;
    if (repo_make(&repo, stage->dir, project, life->tick, life->tick_arg, err) == -1 ||
        (options->changes && changes_commit(&repo, project, &commit, err) == -1))
        return -1;
    if (commit != NULL)
        begun.base = commit;
    if (project->lfs && lfs_from_project(&repo, project, begun.base, err) == -1)
        return -1;
    if (choose_setup(life, &repo, &begun, err) == -1 ||
        repo_make_trees(&repo, stage->dir, &begun, team, life->tick, life->tick_arg, err) == -1 ||
        submodule_make(&repo, &begun, team, life->notes, err) == -1 ||
        place_files(life, options, &repo, project, team, stage->id, err) == -1)
        return -1;
    return file_sync_all(stage->dir) == -1 ? err_errno(err, "cannot write the project's copy") : 0;
}

int life_set_project(const struct life *life, const char *id, const char *dir, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_close_ int workspace = -1;
    _cleanup_close_ int lock = -1;

    if (life_hold(life, id, LOCK_TRY, "set", &workspace, &lock, err) == -1 ||
        repo_load(life->root, id, &team, &repo, err) == -1)
        return -1;
    const struct git own = repo_git(&repo);
    if (project_reopen_same(&own, dir, team.project.base, &project, err) == -1)
        return -1;
    free(team.project.path);
    team.project.path = mem_dup(project.path);
    if (team_file_change(workspace, &team, err) == -1)
        return -1;
    workspace_log(workspace, config_log_limits(life->config), "set project=%s", project.path);
    return 0;
}

/* ---- names */

enum { FIXED_NAME_TRIES = 3 }; /* for a tmux name that was taken and is free again */

static bool has_fixed_name(const struct session *session)
{
    return placement_is_shared(session->mode);
}

int life_set_tmux_name(const struct life *life, struct session *session, size_t digits,
                       struct err *err)
{
    char *name = NULL;
    char *socket = NULL;

    if (!has_fixed_name(session))
        name = session_tmux_name(session->id, digits);
    else if (legacy_tmux_name(&name, err) == -1)
        return -1;
    /* in a job of Slurm that matters when it starts, see leave_shared_server() */
    if ((session->status == STATUS_STOPPED
             ? tmux_configured_socket(life->config, name, &socket, err)
             : tmux_socket(life->config, name, &socket, err)) == -1) {
        free(name);
        return -1;
    }
    free(session->tmux_name);
    free(session->tmux_socket);
    session->tmux_name = name;
    session->tmux_socket = socket;
    return 0;
}

int life_choose_name(const struct life *life, struct session *session, size_t from, size_t staged,
                     struct index_facts *facts, struct err *err)
{
    const char *name = session->name[0] != '\0' ? session->name : NULL;

    if (has_fixed_name(session)) {
        if (index_ask(life->root, session->tmux_name, name, staged, facts, err) == -1 ||
            legacy_check_free(life->root, err) == -1)
            return -1;
        if (!facts->tmux_name_taken)
            return 0;
        (void)err_set(err, MAS_CONFLICT,
                      "cannot create a legacy session: another session is called '%s' in tmux",
                      session->tmux_name);
        return err_hint(err, "see which with: mas list --all, or set SESSION_NAME");
    }
    for (size_t i = from; i < NAME_LENGTHS; i++) {
        if (life_set_tmux_name(life, session, session_name_digits[i], err) == -1 ||
            index_ask(life->root, session->tmux_name, name, staged, facts, err) == -1)
            return -1;
        if (!facts->tmux_name_taken)
            return 0;
    }
    return err_set(err, MAS_CONFLICT, "cannot name session '%s' in tmux: all its names are in use",
                   session->id);
}

int life_name_conflict(const char *name, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot name a session '%s': another session has that name",
                  name);
    return err_hint(err, "see it with: mas show %s", name);
}

int life_give_name(const struct life *life, struct session *session, const char *name,
                   struct err *err)
{
    struct index_facts facts = {.name_taken = false};

    if (strcmp(session->name, name) == 0)
        return 0;
    if (name[0] != '\0' && index_ask(life->root, NULL, name, 0, &facts, err) == -1)
        return -1;
    if (facts.name_taken)
        return life_name_conflict(name, err);
    free(session->name);
    session->name = mem_dup(name);
    return 0;
}

/* Fails with MAS_CONFLICT if another session has a name that this new one must have. */
static int life_check_names(const struct life *life, struct session *session, struct err *err)
{
    struct index_facts facts;
    _cleanup_close_ int lock = -1;

    if (session->name[0] == '\0' && !has_fixed_name(session))
        return 0;
    if (root_lock(life->root, &lock, err) == -1 ||
        (has_fixed_name(session)
             ? life_choose_name(life, session, 0, 0, &facts, err)
             : index_ask(life->root, NULL, session->name, 0, &facts, err)) == -1)
        return -1;
    return facts.name_taken ? life_name_conflict(session->name, err) : 0;
}

int life_rename(const struct life *life, int dir, struct session *session, size_t from,
                struct err *err)
{
    struct index_facts facts;
    _cleanup_close_ int lock = -1;

    if (has_fixed_name(session)) {
        if (legacy_check_tmux(life->root, session, "start", err) == -1)
            return -1;
        return from < FIXED_NAME_TRIES ? 0
                                       : err_set(err, MAS_CONFLICT,
                                                 "cannot start the legacy session: other tmux "
                                                 "sessions keep taking its name");
    }
    if (root_lock(life->root, &lock, err) == -1 ||
        life_choose_name(life, session, from, 0, &facts, err) == -1)
        return -1;
    fd_closep(&lock);
    return life_record(life, dir, session, err);
}

void life_normalise_name(struct session *session)
{
    if (str_is_word(session->tmux_name, TMUX_NAME_MAX))
        return;
    free(session->tmux_name);
    session->tmux_name = has_fixed_name(session)
                             ? mem_dup(LEGACY_TMUX_NAME)
                             : session_tmux_name(session->id, session_name_digits[0]);
}

/* ---- the plan */

static void apply_preset(struct team *team, const char *preset)
{
    for (size_t i = 0; preset != NULL && i < team->agent_count; i++) {
        free(team->agents[i].preset);
        free(team->agents[i].command);
        team->agents[i].preset = mem_dup(preset);
        team->agents[i].command = mem_dup("");
    }
}

static int apply_accounts(struct team *team, const char *accounts, struct err *err)
{
    bool names_none = accounts != NULL && accounts[strspn(accounts, " \t")] == '\0';
    const char *want = names_none ? accounts_type.want : NULL;

    for (size_t i = 0; accounts != NULL && want == NULL && i < team->agent_count; i++)
        want = VALUE_PARSE(&accounts_type, accounts, &team->agents[i].accounts);
    return want == NULL
               ? 0
               : err_set(err, MAS_USAGE, "cannot use --account '%s': it is not %s", accounts, want);
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
    if (config_need_preset(life->config, name, err) == -1)
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
    if (options->preset != NULL && config_need_preset(life->config, options->preset, err) == -1)
        return -1;
    char *const *tries = options->sentence != NULL ? options->sentence->presets : NULL;
    for (; tries != NULL && *tries != NULL; tries++)
        if (config_need_preset(life->config, *tries, err) == -1)
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
    if (options->name != NULL || options->sentence == NULL)
        session->name = mem_dup(options->name != NULL ? options->name : "");
    else if (sentence_free_name(life->root, options->sentence->text, &session->name, err) == -1)
        return -1;
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
        if (team_agent(team, limits->each[i].agent) == NULL) {
            (void)err_set(err, MAS_USAGE, "cannot limit agent '%s': the team has no such agent",
                          limits->each[i].agent);
            return target_hint(team, limits->each[i].agent, false, err);
        }
    return 0;
}

/* Takes the whole team of a session that was, whose config.json this is. Each agent gets the
 * directory that the template has for it, or, if it is of one agent, that one: a session of tries
 * is one of those. */
static int take_team(const struct life *life, const struct json *json, const char *file,
                     struct life_plan *plan, struct err *err)
{
    struct template *tmpl = &plan->template;
    struct team team = TEAM_INIT;
    const struct agent *only = tmpl->team.agent_count == 1 ? &tmpl->team.agents[0] : NULL;

    if (team_from_json(json, &team, err) == -1) {
        err->code = MAS_FAILED;
        return err_wrap(err, "cannot use '%s'", file);
    }
    if (only != NULL && (team.agent_count > 1 || strcmp(team.agents[0].id, only->id) != 0))
        tmpl->unit = mem_dup(only->id);
    team_want_again(&team);
    team_free(&tmpl->team);
    tmpl->team = team;
    for (size_t i = 0; i < team.agent_count; i++) {
        const char *preset = team.agents[i].preset;
        team.agents[i].accounts[0] = '\0'; /* who may choose them says so with --account */
        if (preset[0] == '\0' || config_preset(life->config, preset) != NULL)
            continue;
        (void)err_set(err, MAS_NOT_FOUND, "cannot use '%s': agent %s has an unknown preset '%s'",
                      file, team.agents[i].id, preset);
        return config_hint_presets(life->config, err);
    }
    return template_check_units(tmpl, err) == -1 ? err_wrap(err, "cannot use '%s'", file) : 0;
}

/* The team: what the template says, then what the options say. */
static int plan_team(const struct life *life, const struct life_options *options,
                     struct life_plan *plan, struct err *err)
{
    struct team *team = &plan->template.team;
    const char *wanted =
        options->template != NULL ? options->template : config_text(life->config, SETTING_TEMPLATE);
    _cleanup_json_ struct json *json = NULL;

    if (options->config != NULL && prompts_read(options->config, &json, err) == -1)
        return -1;
    const char *file =
        json != NULL && strcmp(options->config, "-") == 0 ? "standard input" : options->config;
    bool is_whole = json_get(json, "team") != NULL;
    if (is_whole && options->template == NULL && json_get_text(json, "template") != NULL)
        wanted = json_get_text(json, "template");
    if (template_resolve(life->root, wanted, &plan->name, err) == -1 ||
        template_open(life->root, plan->name, &plan->template, err) == -1 ||
        (is_whole && take_team(life, json, file, plan, err) == -1))
        return -1;
    apply_preset(team, options->preset);
    if (apply_accounts(team, options->accounts, err) == -1)
        return -1;
    if (life->wall != NULL)
        team->wall = *life->wall;
    if (json != NULL && !is_whole && prompts_from_json(json, file, life->config, team, err) == -1)
        return -1;
    if (options->sentence != NULL && options->sentence->tries > 0)
        plan->template.unit = mem_dup(team->agents[0].id);
    if ((options->sentence != NULL
             ? sentence_give(life->config, options->sentence, options->prompts, team, err)
             : prompts_from_words(options->prompts, team, err)) == -1 ||
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
    bool named = options->preset != NULL || options->accounts != NULL ||
                 (options->sentence != NULL && options->sentence->presets != NULL);
    if (!named || options->elsewhere)
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
        life_take_project(&plan->template.team, &plan->project, session, options->check);
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
