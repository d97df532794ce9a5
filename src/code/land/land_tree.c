/*
 * The work tree of the branch that `mas land` moves. All checks come before the journal is written
 * and change nothing in the project: a merge or the like in progress, filters, files in the way,
 * the move itself (read-tree -n, with a copy of the index in code.git), and changes that git does
 * not see yet. land_move_tree() then does the same to the real index; if it is killed,
 * land_finish() goes on.
 */

#include "code/land/land_internal.h"

#include "code/try.h"
#include "git/checkout.h"
#include "git/drivers.h"
#include "git/in_way.h"
#include "git/index.h"
#include "git/unseen.h"
#include "os/file.h"

#define INDEX "land.index" /* in code.git, while the move is tried */

static int fail_move(const char *tree, struct err *err)
{
    err->code = MAS_CONFLICT;
    return err_wrap(err, "cannot update the work tree '%s'", tree);
}

static int fail_files(const struct landing *landing, const char *what, char *const *names,
                      struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    git_show_names(names, &list);
    return err_set(err, MAS_CONFLICT, "cannot land onto '%s': in its work tree '%s' %s: %s",
                   landing->onto + strlen("refs/heads/"), landing->tree, what, str_text(&list));
}

/* Fails if files of the person's are where new ones go, also those that git ignores. */
static int check_free(const struct landing *landing, const struct checkout *checkout,
                      struct err *err)
{
    _cleanup_strv_ char **taken = NULL;

    if (in_way_find(&checkout->git, landing->old, landing->new, &taken, err) == -1)
        return -1;
    if (taken == NULL)
        return 0;
    (void)fail_files(landing, "these are in the way, and the branch does not have them", taken,
                     err);
    return err_hint(err, "move them away first");
}

/* Fails if landing replaces a file that is nothing without a filter of the project. */
static int check_drivers(const struct landing *landing, const struct checkout *checkout,
                         struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/unseen.index", landing->aside);
    _cleanup_free_ char *file = NULL;

    if (drivers_find(&checkout->git, checkout->off, index, landing->old, landing->new, &file,
                     err) == -1)
        return -1;
    if (file == NULL)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot land onto '%s': '%s' needs a filter of the project, and mas runs none",
                  landing->onto + strlen("refs/heads/"), file);
    return err_hint(err, "land onto a branch that is not checked out, with --onto, and merge that");
}

/* Fails if a file that landing replaces was changed, and git does not see it. */
static int check_unseen(const struct landing *landing, const struct checkout *checkout,
                        struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/unseen.index", landing->aside);
    _cleanup_strv_ char **names = NULL;

    if (unseen_find(&checkout->git, index, landing->old, landing->new, &names, err) == -1)
        return -1;
    if (names == NULL)
        return 0;
    (void)fail_files(landing, "these have changes, which git does not see yet", names, err);
    return err_hint(err, "touch them, then commit or restore them");
}

/* Fails if the person has changed files that landing changes, staged or not. `git` has an index
 * that knows the files as they are. */
static int check_changes(const struct landing *landing, const struct git *git, struct err *err)
{
    _cleanup_strv_ char **changed = NULL;
    _cleanup_strv_ char **lands = NULL;
    _cleanup_strv_ char **both = NULL;

    if (git_names(
            git,
            GIT_ARGS("diff-index", "-z", "--name-only", "--ignore-submodules=all", landing->old),
            &changed, err) == -1)
        return -1;
    if (changed == NULL)
        return 0;
    if (git_names(git,
                  GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--no-renames", landing->old,
                           landing->new),
                  &lands, err) == -1)
        return -1;
    /* git prints both in the same order */
    for (char **one = changed, **two = lands; *one != NULL && two != NULL && *two != NULL;) {
        int order = strcmp(*one, *two);
        if (order == 0)
            strv_push(&both, *one);
        one += order <= 0;
        two += order >= 0;
    }
    if (both == NULL)
        return 0;
    (void)fail_files(landing, "it would overwrite changes of these", both, err);
    return err_hint(err, "commit them, or put them away with: git stash");
}

/* Tries the move with a copy of the index, which is removed at the end. */
static int try_move(const struct landing *landing, const struct checkout *checkout, struct err *err)
{
    _cleanup_close_ int from = open(checkout->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int to = open(landing->aside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *index = mem_printf("%s/" INDEX, landing->aside);
    _cleanup_result_ struct proc_result refreshed = PROC_RESULT_INIT;
    struct git git = checkout->git;

    if (from == -1 || to == -1)
        return err_errno(err, "cannot open '%s'", from == -1 ? checkout->dir : landing->aside);
    git.index = index;
    int rc = index_copy(from, "index", to, INDEX, err);
    if (rc == 0)
        rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
    if (rc == 0)
        rc = check_changes(landing, &git, err);
    if (rc == 0 &&
        git_must(&git, GIT_ARGS("read-tree", "-n", "-u", "-m", landing->old, landing->new), NULL,
                 NULL, err) == -1)
        rc = fail_move(landing->tree, err);
    (void)unlink(index);
    return rc;
}

int land_check_tree(const struct landing *landing, struct err *err)
{
    _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
    _cleanup_free_ char *what = mem_printf("land onto '%s'", landing->onto + strlen("refs/heads/"));

    if (try_refuse(landing->tree, what, err) == -1 ||
        checkout_open(landing->tree, &checkout, err) == -1)
        return -1;
    if (landing->written != NULL) { /* the project does not have the commit */
        checkout.git.objects[0] = landing->written;
        checkout.git.objects[1] = landing->own;
    }
    _cleanup_close_ int dir = open(checkout.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *progress = dir == -1 ? NULL : git_progress(dir);
    if (progress != NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot land onto '%s': %s is in progress in '%s'",
                      landing->onto + strlen("refs/heads/"), progress, landing->tree);
        return err_hint(err, "finish it there, or give it up");
    }
    return check_drivers(landing, &checkout, err) == -1 ||
                   check_free(landing, &checkout, err) == -1 ||
                   try_move(landing, &checkout, err) == -1 ||
                   check_unseen(landing, &checkout, err) == -1
               ? -1
               : 0;
}

int land_move_tree(const char *tree, const char *old, const char *new, struct err *err)
{
    _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
    _cleanup_result_ struct proc_result refreshed = PROC_RESULT_INIT;

    if (checkout_open(tree, &checkout, err) == -1 ||
        git_run(&checkout.git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed,
                err) == -1)
        return -1;
    if (git_must(&checkout.git, GIT_ARGS("read-tree", "-u", "-m", old, new), NULL, NULL, err) == -1)
        return fail_move(tree, err);
    return 0;
}
