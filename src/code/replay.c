#include "code/replay.h"

#include "git/merge_trees.h"

static int tree_of(const struct git *git, const char *commit, char ret[GIT_OID_TEXT],
                   struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s^{tree}", commit);
    _cleanup_free_ char *text = NULL;

    if (git_text(git, GIT_ARGS("rev-parse", "--verify", name), &text, err) == -1)
        return -1;
    return git_parse_oid(text, ret) ? 0
                                    : err_set(err, MAS_FAILED, "git rev-parse printed '%s'", text);
}

/* Makes a commit of a tree; `parent` may be NULL. The caller frees *ret. */
static int stand_in(const struct git *git, const char *tree, const char *parent, char **ret,
                    struct err *err)
{
    return git_text(git,
                    parent == NULL ? GIT_ARGS("commit-tree", tree, "-m", "base")
                                   : GIT_ARGS("commit-tree", tree, "-p", parent, "-m", "side"),
                    ret, err);
}

/* Merges what a commit changes into `onto`. merge-tree finds the base by itself in git 2.38, so it
 * gets two commits that have the commit's parent as their base. */
static int pick(const struct git *git, const char *onto, const char *commit,
                char ret_tree[GIT_OID_TEXT], char ***ret_files, struct err *err)
{
    _cleanup_free_ char *parent = mem_printf("%s^", commit);
    _cleanup_free_ char *base = NULL;
    _cleanup_free_ char *ours = NULL;
    _cleanup_free_ char *theirs = NULL;
    char before[GIT_OID_TEXT];
    char after[GIT_OID_TEXT];
    char now[GIT_OID_TEXT];

    return tree_of(git, parent, before, err) == -1 || tree_of(git, commit, after, err) == -1 ||
                   tree_of(git, onto, now, err) == -1 ||
                   stand_in(git, before, NULL, &base, err) == -1 ||
                   stand_in(git, now, base, &ours, err) == -1 ||
                   stand_in(git, after, base, &theirs, err) == -1
               ? -1
               : merge_trees(git, ours, theirs, ret_tree, ret_files, err);
}

/* Writes a commit like `commit`, with another tree, parent and committer, and without a signature.
 */
static int write_commit(const struct git *git, const char *commit, const char *tree,
                        const char *parent, char **ret, struct err *err)
{
    _cleanup_result_ struct proc_result old = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result made = PROC_RESULT_INIT;
    _cleanup_free_ char *committer = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    bool skips = false;

    if (git_text(git, GIT_ARGS("var", "GIT_COMMITTER_IDENT"), &committer, err) == -1 ||
        git_must(git, GIT_ARGS("cat-file", "commit", commit), NULL, &old, err) == -1)
        return -1;
    str_addf(&text, "tree %s\nparent %s\n", tree, parent);
    const char *at = str_text(&old.out);
    const char *end = at + old.out.len;
    while (at < end && *at != '\n') { /* the headers */
        size_t len = strcspn(at, "\n") + 1;
        if (at[0] != ' ')
            skips = !str_starts(at, "author ") && !str_starts(at, "encoding ");
        if (str_starts(at, "committer "))
            str_addf(&text, "committer %s\n", committer);
        else if (!skips)
            str_addn(&text, at, len);
        at += len;
    }
    str_addn(&text, at, (size_t)(end - at));
    if (git_must(git, GIT_ARGS("hash-object", "-t", "commit", "-w", "--stdin"),
                 &(struct git_input){text.data, text.len}, &made, err) == -1)
        return -1;
    *ret = mem_dupn(str_text(&made.out), strcspn(str_text(&made.out), "\n"));
    return 0;
}

/* Fails if the result is not what a merge would give. */
static int check_whole(const struct git *git, const char *onto, const char *from, const char *last,
                       struct err *err)
{
    char merged[GIT_OID_TEXT];
    char tree[GIT_OID_TEXT];

    if (merge_trees(git, onto, from, merged, NULL, err) == -1 ||
        tree_of(git, last, tree, err) == -1)
        return -1;
    if (merged[0] == '\0' || strcmp(merged, tree) == 0)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot replay the commits: a merge among them has changes of its own");
    return err_hint(err, "land with --merge or --squash");
}

int replay_one(const struct git *git, const char *onto, const char *commit, char ret[GIT_OID_TEXT],
               char ***ret_files, struct err *err)
{
    _cleanup_strv_ char **files = NULL;
    _cleanup_free_ char *made = NULL;
    char tree[GIT_OID_TEXT];
    char now[GIT_OID_TEXT];

    if (pick(git, onto, commit, tree, &files, err) == -1 || tree_of(git, onto, now, err) == -1)
        return -1;
    if (tree[0] == '\0') {
        ret[0] = '\0';
        *ret_files = TAKE_PTR(files);
        return 0;
    }
    if (strcmp(now, tree) != 0 && write_commit(git, commit, tree, onto, &made, err) == -1)
        return -1;
    return git_parse_oid(made != NULL ? made : onto, ret)
               ? 0
               : err_set(err, MAS_FAILED, "git hash-object printed '%s'", made);
}

int replay(const struct git *git, const char *onto, const char *from, char ret[GIT_OID_TEXT],
           char ret_at[GIT_OID_TEXT], char ***ret_files, struct err *err)
{
    _cleanup_free_ char *range = mem_printf("%s...%s", onto, from);
    _cleanup_free_ char *list = NULL;
    char next[GIT_OID_TEXT];

    if (!git_parse_oid(onto, ret))
        return err_set(err, MAS_FAILED, "'%s' is no commit", onto);
    if (git_text(git,
                 GIT_ARGS("rev-list", "--reverse", "--topo-order", "--no-merges", "--right-only",
                          "--cherry-pick", range),
                 &list, err) == -1)
        return -1;
    for (char *rest = list, *commit; (commit = strsep(&rest, "\n")) != NULL;) {
        if (!git_is_oid(commit))
            continue;
        if (replay_one(git, ret, commit, next, ret_files, err) == -1)
            return -1;
        memcpy(ret, next, GIT_OID_TEXT);
        if (ret[0] == '\0') {
            (void)git_parse_oid(commit, ret_at);
            return 0;
        }
    }
    return check_whole(git, onto, from, ret, err);
}
