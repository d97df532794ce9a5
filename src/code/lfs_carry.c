#include "code/lfs_carry.h"

#include "os/path.h"

/* Names the first gap, and how many more there are. The caller frees it. */
static char *name_gaps(char *const *gaps)
{
    size_t more = strv_len(gaps) - 1;

    return more == 0 ? mem_printf("'%s'", gaps[0]) : mem_printf("'%s' and %zu more", gaps[0], more);
}

int lfs_from_project(const struct repo *repo, const struct project *project, const char *commit,
                     struct err *err)
{
    _cleanup_gaps_ struct lfs_gaps gaps = LFS_GAPS_INIT;
    _cleanup_close_ int top =
        project->top != NULL ? open(project->top, PATH_PLACE | O_CLOEXEC) : -1;
    const struct lfs_sources from = {.dirs = {project->dir}, .tree = top};
    const struct git git = repo_git(repo);
    _cleanup_free_ char *revs = mem_printf("%s\n", commit);

    if (lfs_bring(&git, revs, LFS_TREES, &from, repo->git, &gaps, err) == -1)
        return -1;
    char *const *bad = gaps.damaged != NULL ? gaps.damaged : gaps.missing;
    if (bad == NULL)
        return 0;
    _cleanup_free_ char *names = name_gaps(bad);
    (void)err_set(err, MAS_USAGE, "cannot use project '%s': git-lfs has %s for %s", project->path,
                  bad == gaps.damaged ? "a damaged object" : "no object", names);
    return err_hint(err, bad == gaps.damaged
                             ? "get it anew there with: git lfs fsck && git lfs pull"
                             : "get it there with: git lfs pull");
}

int lfs_from_agent(const struct stranger *stranger, const char *commit, struct err *err)
{
    const struct repo *repo = stranger->repo;
    _cleanup_gaps_ struct lfs_gaps gaps = LFS_GAPS_INIT;
    _cleanup_free_ char *own = mem_printf("%s/.git", stranger->tree);
    const struct lfs_sources from = {.dirs = {own}, .tree = stranger->cwd};
    const struct git git = repo_git(repo);
    _cleanup_free_ char *revs = mem_printf("%s\n^%s\n", commit, repo->main);

    if (!lfs_is_used(repo->git) && !lfs_is_used(own))
        return 0;
    if (lfs_bring(&git, revs, LFS_HISTORY, &from, repo->git, &gaps, err) == -1)
        return -1;
    char *const *bad = gaps.damaged != NULL ? gaps.damaged : gaps.missing;
    if (bad == NULL)
        return 0;
    _cleanup_free_ char *names = name_gaps(bad);
    (void)err_set(err, bad == gaps.damaged ? MAS_DAMAGED : MAS_CONFLICT,
                  "cannot fetch the work of agent '%s': its git-lfs has %s for %s", stranger->agent,
                  bad == gaps.damaged ? "a damaged object" : "no object", names);
    return err_hint(err, "commit the file again, with git-lfs, in the agent's repository");
}

int lfs_to_project(const struct git *git, const char *oids, const struct lfs_sources *from,
                   const struct project *project, struct err *err)
{
    _cleanup_gaps_ struct lfs_gaps gaps = LFS_GAPS_INIT;
    const struct git theirs = {.dir = project->dir};
    _cleanup_str_ struct str revs = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    bool used = false;

    for (size_t i = 0; i < LFS_SOURCES_MAX && from->dirs[i] != NULL; i++)
        used = used || lfs_is_used(from->dirs[i]);
    if (!used)
        return 0;
    if (git_must(&theirs, GIT_ARGS("for-each-ref", "--format=^%(objectname)"), NULL, &result,
                 err) == -1)
        return -1;
    str_add(&revs, oids);
    str_addn(&revs, str_text(&result.out), result.out.len);
    if (lfs_bring(git, revs.data, LFS_HISTORY, from, project->dir, &gaps, err) == -1)
        return -1;
    if (gaps.damaged == NULL)
        return 0;
    _cleanup_free_ char *names = name_gaps(gaps.damaged);
    return err_set(err, MAS_DAMAGED,
                   "cannot bring files of git-lfs to project '%s': a damaged object for %s",
                   project->path, names);
}
