/*
 * What leaves the machine: it is pushed with the person's own git and configuration.
 */
#include "code/land/forge.h"
#include "code/land/land.h"
#include "code/lfs_carry.h"
#include "code/project.h"
#include "git/pack.h"

enum { UNSEEN_MS = 1800000 }; /* with the hooks: the lock of code.git is held meanwhile */

/* Finds the remote that `git push` would use for a branch. The caller frees *ret. */
static int find_remote(const struct project *project, const char *branch, char **ret,
                       struct err *err)
{
    _cleanup_free_ char *push = mem_printf("branch.%s.pushRemote", branch);
    _cleanup_free_ char *own = mem_printf("branch.%s.remote", branch);
    const char *const keys[] = {push, "remote.pushDefault", own};
    const struct git git = {.dir = project->dir};
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *remotes = NULL;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        _cleanup_free_ char *value = NULL;
        if (git_text(&git, GIT_ARGS("config", "--get", keys[i]), &value, &ignored) == 0 &&
            value[0] != '\0' && value[0] != '-' && strcmp(value, ".") != 0) {
            *ret = value;
            value = NULL;
            return 0;
        }
    }
    if (git_text(&git, GIT_ARGS("remote"), &remotes, err) == -1)
        return -1;
    if (remotes[0] == '\0') {
        (void)err_set(err, MAS_CONFLICT, "cannot push: project '%s' has no remote", project->path);
        return err_hint(err, "add one with: git remote add origin URL");
    }
    bool is_one = strchr(remotes, '\n') == NULL;
    *ret = mem_dup(is_one ? remotes : "origin");
    return 0;
}

/* Returns the URL of a remote, which may be one itself. The caller frees it. */
static char *find_url(const struct project *project, const char *remote, bool is_push)
{
    const struct git git = {.dir = project->dir};
    const char *const *args = GIT_ARGS("remote", "get-url", is_push ? "--push" : "--", remote);
    struct err ignored = ERR_INIT;
    char *url = NULL;

    return git_text(&git, args, &url, &ignored) == 0 ? url : mem_dup(remote);
}

const char *land_base(const struct team_project *project, const char *onto)
{
    return onto != NULL               ? onto
           : project->onto[0] != '\0' ? project->onto + strlen("refs/heads/")
                                      : NULL;
}

char *land_url(const struct team_project *project, const char *onto)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    _cleanup_free_ char *remote = NULL;
    const char *base = land_base(project, onto);
    struct err ignored = ERR_INIT;

    return base == NULL || project_reopen(project->path, &opened, &ignored) == -1 ||
                   find_remote(&opened, base, &remote, &ignored) == -1
               ? mem_dup("")
               : find_url(&opened, remote, false);
}

static int push(const struct project *project, const char *remote, const char *spec, bool unseen,
                struct err *err)
{
    int status = 0;

    if (unseen)
        return git_unseen(project->path, GIT_ARGS("push", "--", remote, spec), UNSEEN_MS, err);
    if (git_as_person(project->path, GIT_ARGS("push", "--", remote, spec), &status, err) == -1)
        return -1;
    return status == 0 ? 0
                       : err_set(err, MAS_FAILED,
                                 "cannot push to '%s': git push ended with exit "
                                 "code %d",
                                 remote, status);
}

int land_push(const struct team_project *project, const char *onto, struct err *err)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    _cleanup_free_ char *remote = NULL;
    _cleanup_free_ char *spec = mem_printf("%s:%s", onto, onto);

    return project_reopen(project->path, &opened, err) == -1 ||
                   find_remote(&opened, onto + strlen("refs/heads/"), &remote, err) == -1
               ? -1
               : push(&opened, remote, spec, false, err);
}

/* Opens a pull request for a branch that was pushed, unless it has one. */
static int request(const struct pr_forge *forge, const char *base, const char *message,
                   struct land_asking *ret, struct err *err)
{
    _cleanup_pr_ struct pr pr = PR_INIT;
    struct err ignored = ERR_INIT; /* there is none */

    if (pr_ask(forge, ret->head, &pr, &ignored) == 0 && pr.state == PR_OPEN) {
        ret->page = TAKE_PTR(pr.url);
        return 0;
    }
    if (pr_open(forge, ret->head, base, message, &ret->page, err) == 0)
        return 0;
    return err_hint(err, "the branch '%s' was pushed; open it on the web", ret->head);
}

/* Says how a person does what a program would, with the objects that the project has by now. */
static void tell_request(const struct project *project, const char *remote, const char *spec,
                         const char *base, const char *head, struct land_asking *ret)
{
    _cleanup_free_ char *dir = mem_name(project->path);
    _cleanup_free_ char *to = mem_name(remote);
    _cleanup_free_ char *what = mem_name(spec);
    _cleanup_free_ char *url = find_url(project, remote, true);

    ret->push = mem_printf("git -C %s push -- %s %s", dir, to, what);
    ret->page = forge_request_url(url, base, head);
}

void land_asking_free(struct land_asking *asking)
{
    free(asking->push);
    free(asking->head);
    free(asking->page);
}

int land_request(const struct repo *repo, const struct team_project *project,
                 const struct land_options *options, const struct pr_forge *forge,
                 struct land_asking *ret, struct err *err)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    _cleanup_free_ char *head = mem_printf("mas/%s", repo->label);
    _cleanup_free_ char *remote = NULL;
    _cleanup_free_ char *main = NULL;
    const struct git git = repo_git(repo);
    const char *base = land_base(project, options->onto);

    if (base == NULL || !git_is_branch(base)) {
        (void)err_set(err, MAS_USAGE, "cannot open a pull request: the session began at no branch");
        return err_hint(err, "name the branch that it is for with --onto BRANCH");
    }
    if (project_reopen_same(&git, project->path, project->base, &opened, err) == -1 ||
        find_remote(&opened, base, &remote, err) == -1 ||
        git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &main, err) == -1)
        return -1;
    _cleanup_free_ char *objects = mem_printf("%s/objects", opened.dir);
    _cleanup_free_ char *wanted = mem_printf("%s\n", main);
    _cleanup_free_ char *spec = mem_printf("%s:refs/heads/%s", main, head);
    const struct git from = {.dir = repo->git, .objects = {objects}};
    const struct git to = {.dir = opened.dir};
    const struct lfs_sources lfs = {.dirs = {repo->git}, .tree = -1};
    if (pack_copy(&from, &to, "objects/pack/tmp_mas", wanted, err) == -1 ||
        lfs_to_project(&from, wanted, &lfs, &opened, err) == -1)
        return -1;
    if (forge == NULL)
        return push(&opened, remote, spec, true, err);
    if (forge->file == NULL) {
        tell_request(&opened, remote, spec, base, head, ret);
        return 0;
    }
    if (push(&opened, remote, spec, false, err) == -1)
        return -1;
    _cleanup_free_ char *url = find_url(&opened, remote, false); /* no program looks at --push */
    ret->head = pr_branch_name(forge, url, head);
    return request(forge, base, options->message, ret, err);
}
