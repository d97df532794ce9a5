#include "code/changes.h"

#include "git/checkout.h"
#include "git/index.h"
#include "os/path.h"

#define INDEX "changes-index" /* in code.git, while the commit is made */

/* Refuses a beginning that the changes do not belong to. */
static int check_head(const struct project *project, const struct git *there, struct err *err)
{
    _cleanup_free_ char *head = NULL;

    if (git_text(there, GIT_ARGS("rev-parse", "HEAD"), &head, err) == -1)
        return err_wrap(err, "cannot take changes of project '%s'", project->path);
    return strcmp(head, project->base) == 0
               ? 0
               : err_set(err, MAS_USAGE,
                         "cannot take changes of project '%s': they belong to the commit that is "
                         "checked out there, which is another one",
                         project->path);
}

/* Copies the index with the times of the files, so only those that changed are read. A split index
 * has a second file. */
static int copy_index(const struct git *there, int to, char ***ret_made, struct err *err)
{
    _cleanup_free_ char *dir = NULL;
    _cleanup_strv_ char **names = NULL;

    if (git_text(there, GIT_ARGS("rev-parse", "--absolute-git-dir"), &dir, err) == -1)
        return -1;
    _cleanup_close_ int from = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from == -1)
        return err_errno(err, "cannot open '%s'", dir);
    strv_push(ret_made, INDEX);
    if (index_copy(from, "index", to, INDEX, err) == -1 || path_list(from, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        if (!str_starts(*name, "sharedindex."))
            continue;
        strv_push(ret_made, *name);
        if (index_copy(from, *name, to, *name, err) == -1)
            return -1;
    }
    return 0;
}

/* Enters the files that `filter` of git diff-files selects into the index. */
static int enter(const struct git *git, const char *filter, const char *how, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git,
                 GIT_ARGS("diff-files", "-z", "--name-only", "--ignore-submodules=all", filter),
                 NULL, &result, err) == -1)
        return -1;
    return git_must(git, GIT_ARGS("update-index", how, "-z", "--stdin"),
                    &(struct git_input){str_text(&result.out), result.out.len}, NULL, err);
}

/* Enters what changed in the work tree into the copied index. `git add` would look into submodules,
 * with their configuration. */
static int enter_changes(const struct project *project, const struct git *git, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, GIT_ARGS("ls-files", "--unmerged", "-z"), NULL, &result, err) == -1)
        return -1;
    bool unmerged = result.out.len > 0;
    if (unmerged) {
        (void)err_set(err, MAS_USAGE,
                      "cannot take changes of project '%s': it has files in conflict",
                      project->path);
        return err_hint(err, "see them with: git status");
    }
    return enter(git, "--diff-filter=D", "--force-remove", err) == -1 ||
                   enter(git, "--diff-filter=d", "--add", err) == -1
               ? -1
               : 0;
}

static int make_commit(const struct project *project, const struct git *git, char **ret,
                       struct err *err)
{
    _cleanup_free_ char *top = mem_printf("%s^{tree}", project->base);
    _cleanup_free_ char *was = NULL;
    _cleanup_free_ char *tree = NULL;
    _cleanup_free_ char *commit = NULL;
    _cleanup_str_ struct str message = STR_INIT;

    if (git_text(git, GIT_ARGS("rev-parse", "--verify", top), &was, err) == -1 ||
        git_text(git, GIT_ARGS("write-tree"), &tree, err) == -1)
        return -1;
    if (strcmp(was, tree) == 0) {
        *ret = mem_dup(project->base);
        return 0;
    }
    str_add(&message, "Uncommitted changes of ");
    str_add_visible(&message, project->top, strlen(project->top));
    if (git_text(git, GIT_ARGS("commit-tree", tree, "-p", project->base, "-m", message.data),
                 &commit, err) == -1 ||
        git_must(git, GIT_ARGS("update-ref", CODE_REF_CHANGES, commit), NULL, NULL, err) == -1)
        return -1;
    *ret = TAKE_PTR(commit);
    return 0;
}

int changes_commit(const struct repo *repo, const struct project *project, char **ret,
                   struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/" INDEX, repo->git);
    _cleanup_close_ int to = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int top = open(project->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_strv_ char **made = NULL;
    const struct git there = {.cwd = top};
    _cleanup_strv_ char **settings = NULL;
    struct git git = {.dir = repo->git, .tree = project->top, .index = index, .cwd = top};

    if (to == -1 || top == -1)
        return err_errno(err, "cannot open '%s'", to == -1 ? repo->git : project->top);
    if (checkout_settings(top, &settings, NULL, err) == -1)
        return err_wrap(err, "cannot take changes of project '%s'", project->path);
    git.settings = (const char *const *)settings;
    int rc = check_head(project, &there, err) == -1 || copy_index(&there, to, &made, err) == -1 ||
                     enter_changes(project, &git, err) == -1 ||
                     make_commit(project, &git, ret, err) == -1
                 ? -1
                 : 0;
    for (char **name = made; name != NULL && *name != NULL; name++)
        (void)unlinkat(to, *name, 0);
    return rc;
}
