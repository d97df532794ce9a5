/* The part of session/life.h that gives a new session its project. */
#include "base/file.h"
#include "code/changes.h"
#include "code/lfs_carry.h"
#include "code/placed.h"
#include "code/repo_make.h"
#include "code/setup.h"
#include "code/submodule.h"
#include "session/life_internal.h"
#include "store/placement.h"
#include "store/team_file.h"

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

int life_find_project(const struct life *life, const struct life_options *options,
                      const struct team *team, struct project *ret, struct err *err)
{
    const char *spec = choose_project(options, team);

    if (spec == NULL)
        return options->changes
                   ? err_set(err, MAS_USAGE, "cannot use --with-changes without a project")
                   : 0;
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
        return 0;
    return err_set(err, MAS_USAGE, "cannot use --with-changes: project '%s' has no work tree",
                   ret->path);
}

void life_take_project(struct team *team, const struct project *project,
                       const struct session *session)
{
    team->project = (struct team_project){
        .path = mem_dup(project->path),
        .onto = mem_dup(project->onto),
        .base = mem_dup(project->base),
        .label = session->name[0] != '\0' ? mem_dup(session->name)
                                          : mem_dupn(session->id, session_name_digits[0]),
    };
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
        placed_make(&repo, project, team, life->notes, err) == -1)
        return -1;
    return syncfs(stage->dir) == -1 ? err_errno(err, "cannot write the project's copy") : 0;
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
