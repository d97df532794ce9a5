#include "git/unseen.h"

/* Turns the output of diff-tree, ":<mode> <mode> <id> <id> <letter>", a NUL, a path and a NUL, into
 * entries of the old side: "<mode> <id>\t<path>" and a NUL. */
static void list_old(const struct str *raw, struct str *to)
{
    const char *end = str_text(raw) + raw->len;

    for (const char *at = str_text(raw); at < end;) {
        const char *path = at + strlen(at) + 1;
        char mode[8] = "";
        char oid[GIT_OID_TEXT] = "";
        if (path >= end)
            return;
        if (sscanf(at, ":%7s %*s %64s", mode, oid) == 2 && git_is_oid(oid) &&
            str_starts(mode, "10")) {
            str_addf(to, "%s %s\t%s", mode, oid, path);
            str_addc(to, '\0');
        }
        at = path + strlen(path) + 1;
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
