#include "git/merge_trees.h"

int merge_trees(const struct git *git, const char *ours, const char *theirs,
                char ret_tree[GIT_OID_TEXT], char ***ret_files, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    char **files = NULL;

    if (git_run(git,
                GIT_ARGS("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours,
                         theirs),
                NULL, &result, err) == -1)
        return -1;
    /* the tree, then the names of files in conflict; each ends with a NUL */
    const char *tree = str_text(&result.out);
    char oid[GIT_OID_TEXT];
    if (result.status > 1 || !git_parse_oid(tree, oid)) {
        (void)git_fail(&result, "merge-tree", err);
        return -1;
    }
    ret_tree[0] = '\0';
    if (result.status == 0)
        memcpy(ret_tree, oid, sizeof oid);
    const char *end = tree + result.out.len;
    for (const char *name = tree + strlen(tree) + 1; name < end && name[0] != '\0';
         name += strlen(name) + 1)
        strv_push(&files, name);
    if (ret_files != NULL)
        *ret_files = files;
    else
        strv_free(files);
    return 0;
}
