#include "cli/errand/pr_guard.h"

/* Returns true for a file by which CI, git or mas runs something by itself, or that says where code
 * comes from. */
static bool is_guarded(const char *path)
{
    static const char *const begins[] = {".git",
                                         ".forgejo",
                                         ".woodpecker",
                                         ".circleci",
                                         ".travis",
                                         ".drone",
                                         ".cirrus",
                                         ".build",
                                         ".azure",
                                         "azure-pipelines",
                                         ".appveyor",
                                         "appveyor",
                                         "bitbucket-pipelines",
                                         ".pre-commit",
                                         ".husky",
                                         ".lefthook",
                                         "lefthook",
                                         ".mas"};
    const char *slash = strrchr(path, '/');

    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (strncasecmp(path, begins[i], strlen(begins[i])) == 0)
            return strcmp(path, ".gitignore") != 0;
    return strncasecmp(slash != NULL ? slash + 1 : path, "Jenkinsfile", 11) == 0;
}

/* Copies to *ret the first line of a list that another one has, or has not. "": there is none. */
static void find_line(const char *list, const char *other, bool has, char **ret)
{
    size_t len = 0;

    for (; *list != '\0'; list += len + (list[len] == '\n')) {
        len = strcspn(list, "\n");
        _cleanup_free_ char *line = mem_dupn(list, len);
        if ((strstr(other, line) != NULL) == has) {
            *ret = TAKE_PTR(line);
            return;
        }
    }
    *ret = mem_dup("");
}

/* Sets *ret to a commit of the range that the agent lacks, or that another one has, too: the agent
 * may have taken it into its branch. "": there is none. */
static int find_other(const struct pr_guard *guard, const char *range, const char *all, char **ret,
                      struct err *err)
{
    const struct git git = repo_git(guard->repo);
    _cleanup_free_ char *own = mem_printf(CODE_REF_AGENTS "%s", guard->agent);
    _cleanup_free_ char *without = mem_printf("^%s", own);
    _cleanup_free_ char *but = mem_printf("--exclude=%s", own);
    _cleanup_free_ char *alone = NULL;

    if (git_text(&git, GIT_ARGS("rev-list", "--no-merges", "--max-count=1", range, without), ret,
                 err) == -1)
        return -1;
    if ((*ret)[0] != '\0')
        return 0;
    free(*ret);
    *ret = NULL;
    if (git_text(
            &git,
            GIT_ARGS("rev-list", "--no-merges", range, "--not", but, "--glob=" CODE_REF_AGENTS "*"),
            &alone, err) == -1)
        return -1;
    find_line(all, alone, false, ret);
    return 0;
}

/* Likewise, to one of the project's branches that none of its remotes has: `sync --project` may
 * have brought it. */
static int find_unpushed(const struct pr_guard *guard, const char *all, char **ret, struct err *err)
{
    const struct git git = repo_git(guard->repo);
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_free_ char *without = mem_printf("^%s", guard->head);
    _cleanup_free_ char *unpushed = NULL;

    if (project_reopen_same(&git, guard->project->path, guard->project->base, &project, err) == -1)
        return -1;
    const struct git there = {.dir = project.dir};
    if (git_text(&there,
                 GIT_ARGS("rev-list", "--no-merges", "--ignore-missing", "--branches", without,
                          "--not", "--remotes"),
                 &unpushed, err) == -1)
        return -1;
    find_line(all, unpushed, true, ret);
    return 0;
}

/* Finds a file that is guarded and differs. A merge with an older commit may bring back what stands
 * in none of the commits. */
static int find_guarded(const struct pr_guard *guard, const char *range, char **ret_why,
                        struct err *err)
{
    const struct git git = repo_git(guard->repo);
    _cleanup_strv_ char **names = NULL;

    if (git_names(&git,
                  GIT_ARGS("log", "-c", "--no-renames", "--format=", "--name-only", "-z", range),
                  &names, err) == -1 ||
        git_names(&git, GIT_ARGS("diff", "--no-renames", "--name-only", "-z", range), &names,
                  err) == -1)
        return -1;
    for (char **name = names; name != NULL && *name != NULL && *ret_why == NULL; name++)
        if (is_guarded(*name)) {
            _cleanup_free_ char *shown = mem_name(*name);
            *ret_why = mem_printf("asks: agent '%s' has changed %s", guard->agent, shown);
        }
    return 0;
}

int pr_guard_look(const struct pr_guard *guard, char **ret_why, struct err *err)
{
    const struct git git = repo_git(guard->repo);
    _cleanup_free_ char *range = mem_printf("%s..%s", guard->head, guard->main);
    _cleanup_free_ char *all = NULL;
    _cleanup_free_ char *unpushed = NULL;
    _cleanup_free_ char *others = NULL;

    if (strcmp(guard->main, guard->head) == 0)
        return 1;
    if (git_text(&git, GIT_ARGS("rev-list", "--no-merges", range), &all, err) == -1 ||
        find_unpushed(guard, all, &unpushed, err) == -1 ||
        find_other(guard, range, all, &others, err) == -1)
        return -1;
    if (unpushed[0] != '\0')
        *ret_why =
            mem_printf("has commits of the project that no remote has, such as %.12s", unpushed);
    else if (others[0] != '\0')
        *ret_why = mem_printf("has commits of others beside it to push, such as %.12s", others);
    else if (find_guarded(guard, range, ret_why, err) == -1)
        return -1;
    return *ret_why != NULL ? 2 : 0;
}
