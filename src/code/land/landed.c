/*
 * From cheap to dear: what no branch of the project has (rev-list with "^ID" lines for all that is
 * known), then for each branch looked at a merge that changes nothing, equal patches, one patch for
 * all, and merges at earlier commits. How many merges and commits are tried is limited, and what
 * git fails at counts as "not there": an error can only make more of what would be lost, never
 * less.
 */

#include "code/land/landed.h"

#include "code/land/carried.h"
#include "code/merge.h"
#include "code/project.h"
#include "git/merge_trees.h"
#include "os/proc.h"

enum {
    MERGES_MAX = 64, /* merge commits that are made again to compare them */
    EARLIER_MAX = 64, /* commits of the project at which a squash is looked for */
    TIPS_MAX = 32, /* remote-tracking branches that are looked at */
    PATHS_MAX = 100, /* arguments of git */
};

void landed_free(struct landed *landed)
{
    free(landed->objects);
    strv_free(landed->lenders);
    free(landed->top);
    strv_free(landed->tips);
    str_free(&landed->known);
    *landed = (struct landed)LANDED_INIT;
}

void landed_copy(const struct landed *landed, struct landed *ret)
{
    *ret = *landed;
    ret->objects = landed->objects != NULL ? mem_dup(landed->objects) : NULL;
    ret->top = landed->top != NULL ? mem_dup(landed->top) : NULL;
    ret->lenders = NULL;
    ret->tips = NULL;
    ret->known = (struct str)STR_INIT;
    strv_push_all(&ret->lenders, landed->lenders);
    strv_push_all(&ret->tips, landed->tips);
    str_addn(&ret->known, str_text(&landed->known), landed->known.len);
}

/* Adds the directories that a directory of objects borrows from. */
static void add_lenders(const struct git *git, const char *objects, char ***to)
{
    static const char begins[] = "alternate: ";
    _cleanup_free_ char *list = mem_printf("%s/info/alternates", objects);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;

    if (access(list, F_OK) == -1 ||
        git_text(git, GIT_ARGS("count-objects", "-v"), &text, &ignored) == -1)
        return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (str_starts(line, begins))
            strv_push(to, line + strlen(begins));
}

/* What refs of a repository have needs no look. */
static int know_refs(const struct git *git, const char *const *args, struct landed *landed,
                     struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_must(git, args, NULL, &result, err);

    if (rc == 0)
        str_addn(&landed->known, str_text(&result.out), result.out.len);
    return rc;
}

/* Adds the commits of a branch, or of the newest ones below a name. */
static void add_tips(const struct git *git, const char *refs, struct landed *to)
{
    _cleanup_free_ char *max = mem_printf("--count=%d", TIPS_MAX);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;

    if (git_text(
            git,
            GIT_ARGS("for-each-ref", "--sort=-committerdate", max, "--format=%(objectname)", refs),
            &text, &ignored) == -1)
        return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        bool is_new = git_is_oid(line);
        for (char **tip = to->tips; is_new && tip != NULL && *tip != NULL; tip++)
            is_new = strcmp(*tip, line) != 0;
        if (is_new)
            strv_push(&to->tips, line);
    }
}

void landed_open(const struct repo *repo, const struct team_project *project, struct landed *ret)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    const struct git own = repo_git(repo);
    struct err ignored = ERR_INIT;
    char base[GIT_OID_TEXT];

    *ret = (struct landed){.repo = repo, .known = STR_INIT};
    str_add(&ret->known, "^" CODE_REF_BASE "\n");
    if (repo_ref(repo, CODE_REF_BASE, base, &ignored) == 0)
        landed_know(ret, base);
    /* the person's own changes are still in the project's work tree */
    (void)know_refs(&own,
                    GIT_ARGS("for-each-ref", "--format=^%(objectname)", CODE_REF_CHANGES,
                             CODE_REF_SUBMODULES "*/" CODE_FROM_PROJECT),
                    ret, &ignored);
    if (project_open(project->path, &opened, &ret->untold) == -1)
        return;
    const struct git git = {.dir = opened.dir};
    ret->objects = mem_printf("%s/objects", opened.dir);
    ret->top = TAKE_PTR(opened.top);
    add_lenders(&git, ret->objects, &ret->lenders);
    (void)know_refs(&git,
                    GIT_ARGS("for-each-ref", "--format=^%(objectname)", "refs/heads/",
                             "refs/remotes/", PROJECT_REF_LANDED, CARRIED_REFS),
                    ret, &ret->untold);
    if (project->onto[0] != '\0')
        add_tips(&git, project->onto, ret);
    add_tips(&git, "refs/remotes/", ret);
}

char *landed_lend(struct landed *landed, const char *path)
{
    _cleanup_free_ char *dir = NULL;
    struct err ignored = ERR_INIT;

    project_find_submodule(landed->top, path, &dir);
    if (dir == NULL)
        return NULL;
    const struct git git = {.dir = dir};
    _cleanup_free_ char *objects = mem_printf("%s/objects", dir);
    for (char **lender = landed->lenders; lender != NULL && *lender != NULL; lender++)
        if (strcmp(*lender, objects) == 0)
            return TAKE_PTR(dir);
    if (know_refs(&git,
                  GIT_ARGS("for-each-ref", "--format=^%(objectname)", "refs/heads/",
                           "refs/remotes/", PROJECT_REF_LANDED),
                  landed, &ignored) == 0) {
        strv_push(&landed->lenders, objects);
        add_lenders(&git, objects, &landed->lenders);
    }
    return TAKE_PTR(dir);
}

bool landed_knows(const struct landed *landed, const char *oid)
{
    _cleanup_free_ char *line = mem_printf("^%s\n", oid);

    return strstr(str_text(&landed->known), line) != NULL;
}

void landed_know(struct landed *landed, const char *oid)
{
    str_addf(&landed->known, "^%s\n", oid);
}

struct git landed_git(const struct landed *landed, const struct stranger *stranger)
{
    struct git git = {.dir = landed->repo->git,
                      .objects = {landed->objects},
                      .lenders = landed->lenders,
                      .confined = true};

    if (stranger != NULL) {
        git.tree = stranger->tree;
        git.readable = stranger->modules;
        git.objects[1] = stranger->objects;
        git.cwd = stranger->cwd;
    }
    return git;
}

/* Runs rev-list on commits and what is known. *ret is what it prints; the caller frees it. */
static int list(const struct landed *landed, const struct git *git, const char *const *args,
                const char *oids, char **ret, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    str_addf(&text, "%s\n", oids);
    str_addn(&text, landed->known.data, landed->known.len);
    if (git_must(git, args, &(struct git_input){text.data, text.len}, &result, err) == -1)
        return -1;
    *ret = mem_dup(str_text(&result.out));
    return 0;
}

int landed_count(const struct landed *landed, const struct git *git, const char *oids, size_t *ret,
                 struct err *err)
{
    _cleanup_free_ char *text = NULL;

    if (list(landed, git, GIT_ARGS("rev-list", "--count", "--stdin"), oids, &text, err) == -1)
        return -1;
    *ret = strtoul(text, NULL, 10);
    return 0;
}

/* Returns true if the merge of two commits is the tree of `commit`. */
static bool merge_is(const struct git *git, const char *ours, const char *theirs,
                     const char *commit)
{
    _cleanup_free_ char *top = mem_printf("%s^{tree}", commit);
    _cleanup_free_ char *tree = NULL;
    struct err ignored = ERR_INIT;
    char merged[GIT_OID_TEXT];

    return git_text(git, GIT_ARGS("rev-parse", "--verify", top), &tree, &ignored) == 0 &&
           merge_trees(git, ours, theirs, merged, NULL, &ignored) == 0 && strcmp(merged, tree) == 0;
}

/* Returns true if each commit that is not a merge has the same changes as one of the project. */
static bool has_patches(const char *tip, const struct git *git, const char *oid)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    bool all = git_run(git, GIT_ARGS("cherry", tip, oid), NULL, &result, &ignored) == 0 &&
               result.status == 0 && result.out.len > 0 &&
               strchr(str_text(&result.out), '+') == NULL;

    return all;
}

/* `git cherry` skips merges. Returns true if none of them holds changes of its own. */
static bool merges_are_plain(const struct landed *landed, const struct git *git, const char *oid)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 0;

    if (list(landed, git, GIT_ARGS("rev-list", "--merges", "--parents", "--stdin"), oid, &text,
             &ignored) == -1)
        return false;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *words[3];
        size_t n = 0;
        for (char *word; (word = strsep(&line, " ")) != NULL && n < ARRAY_LEN(words);)
            words[n++] = word;
        if (n < ARRAY_LEN(words))
            continue; /* the empty end */
        if (line != NULL || ++count > MERGES_MAX || !merge_is(git, words[1], words[2], words[0]))
            return false;
    }
    return true;
}

/* Returns true if one commit of the project has the changes of all commits together. */
static bool is_one_patch(const char *tip, const struct git *git, const char *oid, const char *base)
{
    _cleanup_free_ char *tree = mem_printf("%s^{tree}", oid);
    _cleanup_free_ char *commit = NULL;
    struct err ignored = ERR_INIT;

    return git_text(git, GIT_ARGS("commit-tree", tree, "-p", base, "-m", "squash"), &commit,
                    &ignored) == 0 &&
           has_patches(tip, git, commit);
}

/* Returns true if merging the commit would have changed nothing at an earlier commit of the project
 * that changed the same files. */
static bool was_in(const char *tip, const struct git *git, const char *oid, const char *base)
{
    _cleanup_result_ struct proc_result paths = PROC_RESULT_INIT;
    _cleanup_free_ char *without = mem_printf("^%s", oid);
    _cleanup_free_ char *max = mem_printf("--max-count=%d", EARLIER_MAX);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    const char *args[PATHS_MAX + 8] = {"rev-list", max, tip, without, "--"};
    size_t count = 5;
    bool found = false;

    if (git_must(git, GIT_ARGS("diff-tree", "-r", "-z", "--name-only", base, oid), NULL, &paths,
                 &ignored) == -1)
        return false;
    const char *names = str_text(&paths.out);
    for (const char *name = names; name < names + paths.out.len && count < PATHS_MAX + 5;
         name += strlen(name) + 1)
        args[count++] = name;
    if (git_text(git, args, &text, &ignored) == 0)
        for (char *rest = text, *line; !found && (line = strsep(&rest, "\n")) != NULL;)
            found = line[0] != '\0' && merge_is(git, line, oid, line);
    return found;
}

/* Returns true if a branch has what the commits change. */
static bool has_changes(const struct landed *landed, const struct git *git, const char *tip,
                        const char *oid)
{
    _cleanup_free_ char *base = NULL;
    struct err ignored = ERR_INIT;

    return merge_is(git, tip, oid, tip) ||
           (has_patches(tip, git, oid) && merges_are_plain(landed, git, oid)) ||
           (git_text(git, GIT_ARGS("merge-base", tip, oid), &base, &ignored) == 0 &&
            (is_one_patch(tip, git, oid, base) || was_in(tip, git, oid, base)));
}

int landed_missing(const struct landed *landed, const struct git *git, const char *oid, size_t *ret,
                   struct err *err)
{
    size_t count = 0;

    if (landed_count(landed, git, oid, &count, err) == -1)
        return -1;
    for (char **tip = landed->tips; count > 0 && tip != NULL && *tip != NULL; tip++)
        if (has_changes(landed, git, *tip, oid))
            count = 0;
    *ret = count;
    return 0;
}
