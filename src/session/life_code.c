/* The part of session/life.h that gives a new session its project. */
#include "code/changes.h"
#include "code/placed.h"
#include "code/repo.h"
#include "code/submodule.h"
#include "session/life_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (strcmp(config_text(life->config, SETTING_MODE), "legacy") == 0) {
        (void)err_set(err, MAS_USAGE,
                      "cannot use project '%s' in legacy mode: a legacy session has no workspace "
                      "of its own",
                      spec);
        return err_hint(err, "use --mode isolated");
    }
    if (repo_check_team(team, err) == -1 || project_open(spec, ret, err) == -1 ||
        project_check_lfs(ret, err) == -1)
        return -1;
    if (!options->changes || ret->top != NULL)
        return 0;
    return err_set(err, MAS_USAGE, "cannot use --with-changes: project '%s' has no work tree",
                   ret->path);
}

void life_set_project(struct team *team, const struct project *project,
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
    if (repo_make_trees(&repo, stage->dir, &begun, team, life->tick, life->tick_arg, err) == -1 ||
        submodule_make(&repo, &begun, team, err) == -1 ||
        placed_make(&repo, project, team, err) == -1)
        return -1;
    return syncfs(stage->dir) == -1 ? err_errno(err, "cannot write the project's copy") : 0;
}
