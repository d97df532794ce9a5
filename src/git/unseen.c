#include "git/unseen.h"

#include "git/raw.h"

/* Turns the output of diff-tree into entries of the old side: "<mode> <id>\t<path>" and a NUL. */
static void list_old(const struct str *raw, struct str *to)
{
    struct raw_row row;

    for (size_t at = 0; raw_next(raw, &at, &row);)
        if (str_starts(row.old.mode, "10")) {
            str_addf(to, "%s %s\t%s", row.old.mode, row.old.oid, row.path);
            str_addc(to, '\0');
        }
}

int unseen_find(const struct git *git, const char *index, const char *old, const char *new,
                char ***ret, struct err *err)
{
    struct git own = *git;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result refreshed = PROC_RESULT_INIT;
    _cleanup_str_ struct str entries = STR_INIT;

    if (git_must(git, GIT_ARGS("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new), NULL,
                 &result, err) == -1)
        return -1;
    list_old(&result.out, &entries);
    if (entries.len == 0)
        return 0;
    own.index = index;
    (void)unlink(index);
    int rc = git_must(&own, GIT_ARGS("update-index", "-z", "--index-info"),
                      &(struct git_input){entries.data, entries.len}, NULL, err);
    if (rc == 0) /* its exit code tells that files differ, which is asked next */
        rc = git_run(&own, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
    if (rc == 0)
        rc = git_names(&own, GIT_ARGS("diff-files", "-z", "--name-only", "--diff-filter=d"), ret,
                       err);
    (void)unlink(index);
    return rc;
}
