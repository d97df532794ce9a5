/*
 * What changed is read twice, against the old commit and the new one, with an index of mas's own,
 * so the person's index is not touched before all is checked. Then the index moves, then the files
 * that lag are written, and those that are gone are removed. Killed in between, it is called again,
 * and finds the files that it has already moved as they are in the new commit.
 */

#include "code/leftover.h"

#include "code/sparse.h"
#include "git/in_way.h"
#include "git/raw.h"
#include "os/file.h"

/* Lists the files of the work tree that are not as in `commit`, with an index of our own. */
static int list_changed(const struct leftover *leftover, const char *commit, char ***ret,
                        struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/leftover.index", leftover->repo->git);
    struct git git = leftover->git;

    git.index = index;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_must(&git, GIT_ARGS("read-tree", "--reset", commit), NULL, NULL, err);
    if (rc == 0)
        rc = sparse_mark(&git, leftover->repo->git, commit, err);
    if (rc == 0) /* it compares contents; diff-files alone compares what it knows of the files */
        rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err);
    if (rc == 0)
        rc = git_names(&git,
                       GIT_ARGS("diff-files", "--name-only", "-z", "--ignore-submodules=dirty"),
                       ret, err);
    (void)unlink(index);
    return rc;
}

/* Lists the files that the index has otherwise than the commit. */
static int list_staged(const struct leftover *leftover, const char *commit, char ***ret,
                       struct err *err)
{
    return git_names(&leftover->git,
                     GIT_ARGS("diff-index", "--cached", "--name-only", "-z", commit), ret, err);
}

/* Returns true if git was killed while it wrote this file: it is missing, or the beginning of what
 * it is in the new commit. */
static bool is_unfinished(const struct leftover *leftover, const char *path)
{
    _cleanup_free_ char *object = mem_printf("%s:%s", leftover->new, path);
    struct git git = leftover->git;
    _cleanup_result_ struct proc_result blob = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    if (faccessat(git.cwd, path, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT;
    git.index = NULL;
    bool is = git_must(&git, GIT_ARGS("cat-file", "blob", object), NULL, &blob, &ignored) == 0 &&
              file_read(git.cwd, path, blob.out.len, &text, &len, &ignored) == 0 &&
              len < blob.out.len && memcmp(text, str_text(&blob.out), len) == 0;
    free(text);
    return is;
}

static int fail_changed(const struct leftover *leftover, const char *path, struct err *err)
{
    return err_set(err, MAS_CONFLICT, "cannot finish updating '%s': '%s' was changed meanwhile",
                   leftover->git.tree, path);
}

/* Fails if something stands where the new commit has a file and the old one has none, and it is not
 * that file. */
static int check_new(const struct leftover *leftover, char *const *changes, char *const *not_new,
                     struct err *err)
{
    _cleanup_strv_ char **taken = NULL;

    if (in_way_find(&leftover->git, leftover->old, leftover->new, &taken, err) == -1)
        return -1;
    for (char *const *path = taken; path != NULL && *path != NULL; path++)
        if ((!strv_has(changes, *path) || strv_has(not_new, *path)) &&
            !is_unfinished(leftover, *path))
            return fail_changed(leftover, *path, err);
    return 0;
}

/* Fails if a file that landing changes is neither as before nor as after it, or if one of these was
 * staged since. */
static int check_leftover(const struct leftover *leftover, char *const *changes,
                          char *const *not_old, char *const *not_new, struct err *err)
{
    _cleanup_strv_ char **staged_old = NULL;
    _cleanup_strv_ char **staged_new = NULL;

    for (char *const *path = changes; path != NULL && *path != NULL; path++)
        if (strv_has(not_old, *path) && strv_has(not_new, *path) && !is_unfinished(leftover, *path))
            return fail_changed(leftover, *path, err);
    if (check_new(leftover, changes, not_new, err) == -1)
        return -1;
    if (leftover->git.index != NULL)
        return 0;
    if (list_staged(leftover, leftover->old, &staged_old, err) == -1 ||
        list_staged(leftover, leftover->new, &staged_new, err) == -1)
        return -1;
    for (char *const *path = changes; path != NULL && *path != NULL; path++)
        if (strv_has(staged_old, *path) && strv_has(staged_new, *path))
            return err_set(err, MAS_CONFLICT,
                           "cannot finish updating '%s': '%s' was staged there meanwhile",
                           leftover->git.tree, *path);
    return 0;
}

/* Brings the index to the new commit. What a person has staged of other files stays. */
static int update_index(const struct leftover *leftover, struct err *err)
{
    const struct git git = leftover->git;
    _cleanup_result_ struct proc_result raw = PROC_RESULT_INIT;
    _cleanup_str_ struct str entries = STR_INIT;
    struct raw_row row;

    if (git.index != NULL)
        return git_must(&git, GIT_ARGS("read-tree", "--reset", leftover->new), NULL, NULL, err);
    if (git_must(&git,
                 GIT_ARGS("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev",
                          leftover->old, leftover->new),
                 NULL, &raw, err) == -1)
        return -1;
    for (size_t at = 0; raw_next(&raw.out, &at, &row);) {
        /* mode 000000 removes it */
        str_addf(&entries, "%s %s\t%s", row.new.mode, row.new.oid, row.path);
        str_addc(&entries, '\0');
    }
    return git_must(&git, GIT_ARGS("update-index", "-z", "--index-info"),
                    &(struct git_input){str_text(&entries), entries.len}, NULL, err);
}

/* Brings the files that lag to the new commit. */
static int update_files(const struct leftover *leftover, char *const *changes, char *const *not_old,
                        char *const *not_new, struct err *err)
{
    const struct git git = leftover->git;
    _cleanup_str_ struct str paths = STR_INIT;
    _cleanup_strv_ char **gone = NULL;

    if (update_index(leftover, err) == -1 ||
        sparse_mark(&git, leftover->repo->git, leftover->new, err) == -1 ||
        git_names(&git,
                  GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--diff-filter=D", leftover->old,
                           leftover->new),
                  &gone, err) == -1)
        return -1;
    for (char *const *path = changes; path != NULL && *path != NULL; path++) {
        if (!strv_has(not_new, *path) || strv_has(gone, *path))
            continue;
        str_addn(&paths, *path, strlen(*path) + 1);
    }
    if (git_must(&git, GIT_ARGS("checkout-index", "--force", "-z", "--stdin"),
                 &(struct git_input){str_text(&paths), paths.len}, NULL, err) == -1)
        return -1;
    for (char *const *path = gone; path != NULL && *path != NULL; path++)
        if (!strv_has(not_old, *path)) /* a file that somebody has made there since stays */
            (void)unlinkat(leftover->git.cwd, *path, 0);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    return git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err);
}

int leftover_finish(const struct leftover *leftover, struct err *err)
{
    _cleanup_strv_ char **changes = NULL;
    _cleanup_strv_ char **not_old = NULL;
    _cleanup_strv_ char **not_new = NULL;
    const struct git git = leftover->git;

    return git_names(&git,
                     GIT_ARGS("diff-tree", "-r", "-z", "--name-only", leftover->old, leftover->new),
                     &changes, err) == -1 ||
                   list_changed(leftover, leftover->old, &not_old, err) == -1 ||
                   list_changed(leftover, leftover->new, &not_new, err) == -1 ||
                   check_leftover(leftover, changes, not_old, not_new, err) == -1 ||
                   update_files(leftover, changes, not_old, not_new, err) == -1
               ? -1
               : 0;
}
