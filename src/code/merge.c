/*
 * A candidate is made without moving anything: the agent's own commit if the integration branch is
 * behind it, else a tree by merge-tree and a commit of it. Then the check runs on it, and
 * update-ref moves the branch only from where it was; killed before, it leaves objects that nothing
 * needs. The view follows last, and its failure is told and no more. merge_lock() clears what
 * killed commands left.
 */

#include "code/merge.h"

#include "code/commits.h"
#include "code/lfs_carry.h"
#include "code/replay.h"
#include "code/stranger.h"
#include "code/submodule/submodule.h"
#include "code/view.h"
#include "code/work.h"
#include "git/merge_trees.h"
#include "os/path.h"
#include "os/tree.h"

enum {
    LOCK_MS = 60000,
    REFS_DEPTH = 4, /* directories below refs/ */
};

void merge_result_free(struct merge_result *result)
{
    strv_free(result->files);
    strv_free(result->others);
    check_result_free(&result->check);
    *result = (struct merge_result)MERGE_RESULT_INIT;
}

/* What commands keep in code.git while they run. A killed one leaves it. */
static const char *const temporary[] = {"incoming",       "scratch",      "check",
                                        "leftover.index", "finish.index", "unseen.index",
                                        "land.index",     "staged.index"};

/* Removes the locks that a killed git has left in a directory. Who has the lock of mas is the only
 * one who writes to code.git, and git ends with the mas that started it. */
static void drop_locks(int at, const char *path, int depth)
{
    _cleanup_close_ int dir = path_open_beneath(at, path, O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        if (str_ends(*name, ".lock"))
            (void)unlinkat(dir, *name, 0);
        else if (depth > 0)
            drop_locks(dir, *name, depth - 1);
    }
}

/* Takes the lock of code.git, which it opens; the caller closes *ret_dir, also after a failure. */
static int hold(const struct repo *repo, const char *who, int *ret_dir, int *ret_fd,
                struct err *err)
{
    *ret_dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    return repo_lock(repo, CODE_LOCK, LOCK_MS, who, ret_fd, err) == -1
               ? err_wrap(err, "cannot lock '%s'", repo->git)
               : 0;
}

int merge_hold(const struct repo *repo, const char *who, int *ret_fd, struct err *err)
{
    _cleanup_close_ int dir = -1;
    return hold(repo, who, &dir, ret_fd, err);
}

int merge_lock(const struct repo *repo, const char *who, int *ret_fd, struct err *err)
{
    _cleanup_close_ int dir = -1;

    if (hold(repo, who, &dir, ret_fd, err) == -1)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(temporary); i++) {
        struct err ignored = ERR_INIT; /* who needs the name fails */
        (void)tree_remove(dir, temporary[i], &ignored);
    }
    drop_locks(dir, ".", 0);
    drop_locks(dir, "indexes", 0);
    drop_locks(dir, CODE_VIEW_GIT, 0);
    drop_locks(dir, "refs", REFS_DEPTH);
    return 0;
}

/* Reads the integration branch and what the agent's commit adds to it. */
static int compare(const struct repo *repo, struct merge_result *result,
                   char ret_main[GIT_OID_TEXT], size_t *ret_missing, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *counts = NULL;

    if (repo_ref(repo, repo->main, ret_main, err) == -1)
        return -1;
    _cleanup_free_ char *range = mem_printf("%s...%s", ret_main, result->oid);
    if (git_text(&git, GIT_ARGS("rev-list", "--left-right", "--count", range), &counts, err) == -1)
        return -1;
    char *tab = NULL;
    *ret_missing = strtoul(counts, &tab, 10);
    result->commits = strtoul(tab, NULL, 10);
    return 0;
}

static int make_commit(const struct repo *repo, const char *name, const char *tree,
                       const char *ours, const char *theirs, char **ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *text = mem_printf("Merge %s", name);

    return git_text(&git, GIT_ARGS("commit-tree", tree, "-p", ours, "-p", theirs, "-m", text), ret,
                    err);
}

/* Moves the integration branch to a candidate unless the check refuses it. */
static int place(const struct repo *repo, const char *old, const char *new,
                 const struct check *check, struct merge_result *result, struct err *err)
{
    const struct git git = repo_git(repo);

    if (check != NULL && check->command[0] != '\0' &&
        check_run(repo, check, new, &result->check, err) == -1)
        return -1;
    if (result->check.why != NULL) {
        result->outcome = MERGE_REFUSED;
        return 0;
    }
    return git_must(&git, GIT_ARGS("update-ref", repo->main, new, old), NULL, NULL, err);
}

/* Moves the integration branch to the candidate, if there is one, and the view to the branch.
 * Says who is on the other side of a conflict. Gives the result to *ret. */
static int finish(const struct repo *repo, const char *main, const char *commit,
                  const struct check *check, struct merge_result *result, struct merge_result *ret,
                  struct err *err)
{
    if (commit != NULL && place(repo, main, commit, check, result, err) == -1)
        return -1;
    if (result->outcome == MERGE_CONFLICT) {
        const struct git git = repo_git(repo);
        result->others = conflict_others(repo, &git, result->oid, main, result->files);
    }
    bool moved = commit != NULL && result->outcome != MERGE_REFUSED;
    if (view_move(repo, moved ? commit : main, &result->view) == 0)
        (void)submodule_follow(repo, CODE_VIEW, moved ? commit : main, &result->view);
    *ret = *result;
    *result = (struct merge_result)MERGE_RESULT_INIT;
    return 0;
}

int merge_commit(const struct repo *repo, const char *oid, const char *name,
                 const struct check *check, struct merge_result *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
    _cleanup_free_ char *commit = NULL;
    char main[GIT_OID_TEXT];
    char tree[GIT_OID_TEXT];
    size_t missing = 0;

    if (!git_parse_oid(oid, result.oid))
        return err_set(err, MAS_FAILED, "cannot merge %s: '%s' is no commit", name, oid);
    if (compare(repo, &result, main, &missing, err) == -1)
        return -1;
    if (result.commits == 0) {
        result.outcome = MERGE_NOTHING;
    } else if (missing == 0) {
        result.outcome = MERGE_FORWARD;
        commit = mem_dup(result.oid);
    } else {
        if (merge_trees(&git, main, result.oid, tree, &result.files, err) == -1)
            return err_wrap(err, "cannot merge %s", name);
        result.outcome = tree[0] == '\0' ? MERGE_CONFLICT : MERGE_MADE;
        if (result.outcome == MERGE_MADE &&
            make_commit(repo, name, tree, main, result.oid, &commit, err) == -1)
            return -1;
    }
    return finish(repo, main, commit, check, &result, ret, err) == -1
               ? err_wrap(err, "cannot merge %s", name)
               : 0;
}

/* Brings a commit of the agent and all that it needs into code.git. */
static int fetch(const struct stranger *stranger, const char *oid, struct err *err)
{
    return work_fetch(stranger, oid, CODE_REF_AGENTS, err) == -1 ||
                   lfs_from_agent(stranger, oid, err) == -1 ||
                   submodule_bring(stranger, oid, err) == -1
               ? -1
               : 0;
}

int merge_agent(const struct repo *repo, const char *agent, const struct check *check,
                struct merge_result *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_free_ char *branch = repo_branch(repo, agent);
    const char *name = branch + strlen("refs/heads/");
    char oid[GIT_OID_TEXT];

    if (stranger_open(repo, agent, &stranger, err) == -1 ||
        stranger_ref(&stranger, branch, oid, err) == -1)
        return -1;
    if (oid[0] == '\0')
        return err_set(err, MAS_DAMAGED, "cannot merge agent '%s': its branch '%s' is gone", agent,
                       name);
    return fetch(&stranger, oid, err) == -1 ? -1 : merge_commit(repo, oid, name, check, ret, err);
}

/* Fails for a merge: what it changes depends on the side that one looks from. */
static int check_picked(const struct commits *commits, const bool *picked, struct err *err)
{
    for (size_t i = 0; i < commits->count; i++)
        if (picked[i] && commits->list[i].is_merge) {
            (void)err_set(err, MAS_USAGE, "cannot pick commit '%s': it is a merge",
                          commits->list[i].oid);
            return err_hint(err, "pick the commits that it brought, or merge the branch");
        }
    return 0;
}

/* Puts the commits that are picked onto the integration branch, the oldest first. */
static int pick(const struct git *git, const struct commits *commits, const bool *picked,
                struct merge_result *result, char ret[GIT_OID_TEXT], struct err *err)
{
    char next[GIT_OID_TEXT];

    memcpy(ret, commits->main, GIT_OID_TEXT);
    for (size_t i = commits->count; i-- > 0;) {
        if (!picked[i])
            continue;
        if (replay_one(git, ret, commits->list[i].oid, next, &result->files, err) == -1)
            return -1;
        memcpy(result->oid, commits->list[i].oid, GIT_OID_TEXT);
        if (next[0] == '\0') {
            result->outcome = MERGE_CONFLICT;
            return 0;
        }
        result->commits += strcmp(next, ret) != 0;
        memcpy(ret, next, GIT_OID_TEXT);
    }
    result->outcome = result->commits > 0 ? MERGE_MADE : MERGE_NOTHING;
    return 0;
}

int merge_picked(const struct repo *repo, const char *agent, char *const *names,
                 const struct check *check, struct merge_result *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_commits_ struct commits commits = COMMITS_INIT;
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
    bool picked[COMMITS_MAX] = {false};
    char commit[GIT_OID_TEXT];

    if (stranger_open(repo, agent, &stranger, err) == -1 ||
        commits_read(&stranger, &commits, err) == -1 ||
        commits_find(&commits, names, picked, err) == -1 ||
        check_picked(&commits, picked, err) == -1 || fetch(&stranger, commits.tip, err) == -1 ||
        pick(&git, &commits, picked, &result, commit, err) == -1)
        return -1;
    return finish(repo, commits.main, result.outcome == MERGE_MADE ? commit : NULL, check, &result,
                  ret, err);
}

/* ---- who is on the other side of a conflict */

enum {
    OTHERS_MAX = 5,
    FILES_MAX = 100, /* arguments of git */
    NAME_LEN = 12, /* of a commit, as it is shown */
    SUBJECT_MAX = 100, /* bytes */
};

/* Returns the first commit after `commit`, along the first parents of `other`, if it is a merge
 * that brought that commit, and its subject: "<commit> <subject>". NULL: there is none. */
static char *find_merge(const struct git *git, const char *commit, const char *other)
{
    _cleanup_free_ char *range = mem_printf("%s..%s", commit, other);
    _cleanup_free_ char *text = NULL;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    if (git_text(git,
                 GIT_ARGS("rev-list", "--first-parent", "--ancestry-path", "--reverse",
                          "--no-commit-header", "--format=%H %s", range),
                 &text, &ignored) == -1 ||
        strchr(text, ' ') == NULL)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    _cleanup_free_ char *before = mem_printf("%.*s^1", (int)strcspn(text, " "), text);
    bool had = git_run(git, GIT_ARGS("merge-base", "--is-ancestor", commit, before), NULL, &result,
                       &ignored) == -1 ||
               result.status != 1;
    return had ? NULL : TAKE_PTR(text);
}

/* Returns the agent whose branch brought a commit; "" if that cannot be told. The caller frees it.
 */
static char *find_agent(const struct repo *repo, const struct git *git, const char *commit,
                        const char *other)
{
    _cleanup_free_ char *merge = find_merge(git, commit, other);
    _cleanup_free_ char *begins = mem_printf(" Merge mas/%s/", repo->label);
    _cleanup_free_ char *refs = NULL;
    struct err ignored = ERR_INIT;

    if (merge != NULL) {
        const char *subject = strchr(merge, ' ');
        return mem_dup(str_starts(subject, begins) ? subject + strlen(begins) : "");
    }
    if (git_text(
            git,
            GIT_ARGS("for-each-ref", "--contains", commit, "--format=%(refname)", CODE_REF_AGENTS),
            &refs, &ignored) == -1 ||
        !str_starts(refs, CODE_REF_AGENTS) || strchr(refs, '\n') != NULL)
        return mem_dup("");
    return mem_dup(refs + strlen(CODE_REF_AGENTS));
}

char **conflict_others(const struct repo *repo, const struct git *git, const char *mine,
                       const char *other, char *const *files)
{
    _cleanup_free_ char *without = mem_printf("^%s", mine);
    _cleanup_free_ char *max = mem_printf("--max-count=%d", OTHERS_MAX);
    const char *args[FILES_MAX + 16] = {"rev-list",       "--no-merges", "--no-commit-header",
                                        "--format=%H %s", max,           other,
                                        without,          "--"};
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char **others = NULL;
    size_t count = 8;

    for (size_t i = 0; i < FILES_MAX && files != NULL && files[i] != NULL; i++)
        args[count++] = files[i];
    if (git_text(git, args, &text, &ignored) == -1)
        return NULL;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *subject = strchr(line, ' ');
        if (subject == NULL)
            continue;
        *subject++ = '\0';
        subject[str_fit(subject, SUBJECT_MAX)] = '\0';
        _cleanup_free_ char *agent = find_agent(repo, git, line, other);
        _cleanup_str_ struct str shown = STR_INIT;
        str_addf(&shown, "%.*s ", NAME_LEN, line);
        if (agent[0] != '\0') {
            str_add(&shown, "(agent ");
            str_add_name(&shown, agent);
            str_add(&shown, ") ");
        }
        str_add_name(&shown, subject);
        strv_push(&others, str_text(&shown));
    }
    return others;
}

char *merge_author(const struct repo *repo, const char *base, const char *main, char *const *files)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *without = mem_printf("^%s", base);
    const char *args[FILES_MAX + 8] = {"rev-list", "--no-merges", "--max-count=1",
                                       main,       without,       "--"};
    _cleanup_free_ char *commit = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 6;

    for (size_t i = 0; i < FILES_MAX && files[i] != NULL; i++)
        args[count++] = files[i];
    return git_text(&git, args, &commit, &ignored) == -1 || commit[0] == '\0'
               ? NULL
               : find_agent(repo, &git, commit, main);
}

void conflict_show_others(char *const *others, struct str *to)
{
    for (size_t i = 0; others != NULL && others[i] != NULL; i++) {
        str_add(to, i == 0 ? "; there it was changed by: " : "; ");
        str_add(to, others[i]);
    }
}
