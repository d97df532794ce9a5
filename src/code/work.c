/*
 * git runs on code.git alone, and sees the agent's objects and files from there. A fetch lists what
 * code.git lacks, refuses files that are too large, copies the objects by way of incoming/KEY, and
 * sets the ref last. A snapshot puts its objects into scratch/KEY, from where work_keep() takes
 * them. What a kill leaves in these two is removed by the next merge_lock(), and nothing else
 * refers to it. KEY is the stranger's, so threads may read different work trees beside each other.
 *
 * Most work trees that are looked at hold what their commit does, so a snapshot asks that first, in
 * two processes: `update-index --refresh` compares what is tracked, in the way of
 * `diff-files`, and `ls-files --others` finds the rest. Nothing of either: the files are those of
 * the commit, which stands for their tree. The index is filled anew only if stranger_index() does
 * not know that it is of that commit still.
 */

#include "code/work.h"

#include "base/json.h"
#include "base/time.h"
#include "code/sparse.h"
#include "code/submodule/module.h"
#include "git/index.h"
#include "git/pack.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define INCOMING "incoming" /* in code.git: packs that are not checked yet */
#define SCRATCH "scratch" /* in code.git: objects that no ref needs */
#define FIGURES ".figures"

enum {
    LOOK_WAIT_MS = 10000, /* for another process that looks */
    FIGURES_MAX = 8 * 1024, /* bytes */
    TRIES = 100,
};

static int damaged(const struct stranger *stranger, struct err *err)
{
    (void)git_blame(err);
    return err_wrap(err, "cannot fetch the work of agent '%s'", stranger->agent);
}

/* Opens an empty directory in one of code.git. Returns -1 with *err filled. */
static int open_empty(int git, const char *in, const char *name, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", in, name);
    int fd = -1;

    /* another thread may remove the outer one meanwhile */
    for (int tries = 0; fd == -1 && tries < TRIES && (tries == 0 || errno == ENOENT); tries++) {
        if (mkdirat(git, in, 0700) == -1 && errno != EEXIST)
            break;
        _cleanup_close_ int dir = path_open_dir(git, in);
        if (dir != -1 && tree_remove(dir, name, err) == -1)
            return -1;
        fd = dir != -1 ? path_make_dir(dir, name, 0700) : -1;
    }
    return fd == -1 ? err_errno(err, "cannot make '" CODE_GIT "/%s'", path) : fd;
}

/* Removes one of these, and with the last one the directory that they are in. */
static void remove_used(int git, const char *in, const char *name)
{
    _cleanup_close_ int dir = path_open_dir(git, in);
    struct err ignored = ERR_INIT;

    if (dir != -1 && tree_remove(dir, name, &ignored) == 0)
        (void)unlinkat(git, in, AT_REMOVEDIR);
}

static int copy_objects(const struct stranger *stranger, const struct str *list, struct err *err)
{
    const struct repo *repo = stranger->repo;
    const struct git theirs = stranger_git(stranger, NULL);
    const struct git ours = repo_git(repo);
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (git == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    _cleanup_close_ int incoming = open_empty(git, INCOMING, stranger->key, err);
    if (incoming == -1)
        return -1;
    _cleanup_free_ char *to = mem_printf(INCOMING "/%s/in", stranger->key);
    int rc = pack_copy_objects(&theirs, &ours, to, list, err);
    remove_used(git, INCOMING, stranger->key);
    return rc == 0 ? 0 : err_wrap(err, "cannot fetch the work of agent '%s'", stranger->agent);
}

/* Lists the objects that a commit brings. Fails if one is a file that is larger than mas takes: a
 * few kilobytes can hold one that fills the disk once it is checked out. */
static int list_objects(const struct stranger *stranger, const char *oid,
                        struct proc_result *result, struct err *err)
{
    const struct git git = stranger_git(stranger, NULL);
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);

    if (git_must(&git,
                 GIT_ARGS("rev-list", "--objects", "--filter=blob:limit=1g",
                          "--filter-print-omitted", commit, "--not", "--all"),
                 NULL, result, err) == -1)
        return damaged(stranger, err);
    const char *text = str_text(&result->out);
    return text[0] != '~' && strstr(text, "\n~") == NULL
               ? 0
               : err_set(err, MAS_FAILED,
                         "cannot fetch the work of agent '%s': a file in it is larger than 1 GiB",
                         stranger->agent);
}

/* Returns true if code.git keeps the commit whatever an agent has checked out. */
static bool is_kept(const struct repo *repo, const char *oid)
{
    const char *const refs[] = {CODE_REF_BASE, repo->main};
    struct err ignored = ERR_INIT;
    char kept[GIT_OID_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(refs); i++)
        if (repo_ref(repo, refs[i], kept, &ignored) == 0 && strcmp(kept, oid) == 0)
            return true;
    return false;
}

int work_fetch(const struct stranger *stranger, const char *oid, const char *under, struct err *err)
{
    const struct git git = repo_git(stranger->repo);
    _cleanup_free_ char *ref = mem_printf("%s%s", under, stranger->key);
    _cleanup_result_ struct proc_result objects = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    char was[GIT_OID_TEXT];

    if (repo_ref(stranger->repo, ref, was, &ignored) == 0 && strcmp(was, oid) == 0)
        return 0;
    int rc = list_objects(stranger, oid, &objects, err);
    if (rc == 0)
        rc = copy_objects(stranger, &objects.out, err);
    if (rc == -1)
        return -1;
    /* it refuses a commit that did not arrive under its name */
    return git_must(&git, GIT_ARGS("update-ref", ref, oid), NULL, NULL, err) == -1
               ? damaged(stranger, err)
               : 0;
}

void work_free(struct snapshot_tree *tree)
{
    if (tree->dir != -1)
        remove_used(tree->dir, SCRATCH, strrchr(tree->scratch, '/') + 1);
    fd_closep(&tree->dir);
    free(tree->scratch);
    free(tree->index);
    *tree = (struct snapshot_tree)SNAPSHOT_TREE_INIT;
}

void work_forget(const struct stranger *stranger)
{
    _cleanup_free_ char *index =
        mem_printf("%s/" CODE_INDEXES "/%s", stranger->repo->git, stranger->key);

    (void)unlink(index);
}

struct git work_git(const struct stranger *stranger, const struct snapshot_tree *tree)
{
    struct git git = stranger_git(stranger, tree->index);

    git.objects[0] = NULL;
    git.write = tree->scratch;
    return git;
}

/* Marks what the project's sparse checkout leaves out; a submodule is whole. */
static int mark(const struct git *git, const struct stranger *stranger, struct err *err)
{
    return stranger->path != NULL ? 0 : sparse_mark(git, stranger->repo->git, stranger->head, err);
}

/* Fills the index with the commit that is checked out, unless it is of that, and compares the files
 * with it. The caller releases *ret_others. */
static int find_changes(const struct git *git, const struct stranger *stranger, bool *ret,
                        struct proc_result *ret_others, struct err *err)
{
    _cleanup_result_ struct proc_result refreshed = PROC_RESULT_INIT;

    if (stranger_index(stranger) == INDEX_OTHER &&
        (git_must(git, GIT_ARGS("read-tree", "--reset", stranger->head), NULL, NULL, err) == -1 ||
         mark(git, stranger, err) == -1))
        return -1;
    if (git_run(git, GIT_ARGS("update-index", "--refresh"), NULL, &refreshed, err) == -1 ||
        git_list_others(git, ret_others, err) == -1)
        return -1;
    *ret = refreshed.status != 0 || ret_others->out.len > 0; /* -q would hide the former */
    return 0;
}

/* Reads a work tree into tree->index and tree->oid; the new objects go to tree->scratch. */
static int read_tree(const struct stranger *stranger, struct snapshot_tree *tree, struct err *err)
{
    const struct repo *repo = stranger->repo;
    _cleanup_result_ struct proc_result others = PROC_RESULT_INIT;
    _cleanup_free_ char *text = NULL;
    bool changed = true;
    bool plain = false;

    tree->index = mem_printf("%s/" CODE_INDEXES "/%s", repo->git, stranger->key);
    if (!is_kept(repo, stranger->head) &&
        work_fetch(stranger, stranger->head, CODE_REF_HEADS, err) == -1)
        return -1;
    const struct git git = work_git(stranger, tree);
    time_t begun = time(NULL);
    if (find_changes(&git, stranger, &changed, &others, err) == -1 ||
        (changed && (git_add_all(&git, &others.out, err) == -1 ||
                     git_text(&git, GIT_ARGS("write-tree"), &text, err) == -1)))
        return err_wrap(err, "cannot read the files of %s", stranger->subject);
    if (index_distrust(tree->index, strlen(stranger->head) == GIT_OID_MAX, begun, &plain, err) ==
        -1)
        return -1;
    if (!changed)
        stranger_note_index(stranger, plain ? INDEX_PLAIN : INDEX_OF_HEAD);
    return git_parse_oid(changed ? text : stranger->head, tree->oid)
               ? 0
               : err_set(err, MAS_FAILED, "git write-tree printed '%s'", text);
}

int work_snapshot(const struct stranger *stranger, struct snapshot_tree *ret, struct err *err)
{
    const struct repo *repo = stranger->repo;
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;

    tree.dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree.dir == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    tree.scratch = mem_printf("%s/" SCRATCH "/%s", repo->git, stranger->key);
    _cleanup_close_ int scratch = open_empty(tree.dir, SCRATCH, stranger->key, err);
    if (scratch == -1)
        return -1;
    if (mkdirat(tree.dir, CODE_INDEXES, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '" CODE_GIT "/" CODE_INDEXES "'");
    if (read_tree(stranger, &tree, err) == -1)
        return -1;
    *ret = tree;
    tree = (struct snapshot_tree)SNAPSHOT_TREE_INIT;
    return 0;
}

int work_snapshot_module(const struct snapshot_tree *outer, const struct stranger *module,
                         char ret[GIT_OID_TEXT], struct err *err)
{
    struct snapshot_tree tree = {.dir = -1, .scratch = outer->scratch};
    int rc = read_tree(module, &tree, err);

    if (rc == 0)
        memcpy(ret, tree.oid, sizeof tree.oid);
    free(tree.index);
    return rc;
}

/* Moves the files of a directory with objects; a pack comes before its index, which is what makes
 * git see it. */
static int move_objects(int from, int to, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(from, &names, err) == -1)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (char **name = names; *name != NULL; name++)
            if (str_ends(*name, ".idx") == (pass == 1) && renameat(from, *name, to, *name) == -1)
                return err_errno(err, "cannot keep '%s'", *name);
    return 0;
}

int work_keep_objects(int scratch, int objects, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(scratch, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        if (strcmp(*name, "info") == 0)
            continue;
        if (mkdirat(objects, *name, 0755) == -1 && errno != EEXIST)
            return err_errno(err, "cannot make '" CODE_GIT "/objects/%s'", *name);
        _cleanup_close_ int from = path_open_dir(scratch, *name);
        _cleanup_close_ int to = path_open_dir(objects, *name);
        if (from == -1 || to == -1)
            return err_errno(err, "cannot open '" CODE_GIT "/objects/%s'", *name);
        if (move_objects(from, to, err) == -1)
            return -1;
    }
    return 0;
}

int work_keep(const struct snapshot_tree *tree, struct err *err)
{
    _cleanup_close_ int scratch = open(tree->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int objects = path_open_dir(tree->dir, "objects");

    return scratch == -1 || objects == -1 ? err_errno(err, "cannot open '" CODE_GIT "/objects'")
                                          : work_keep_objects(scratch, objects, err);
}

/* Parses "<ahead>\t<behind>". */
static bool parse_counts(const char *text, struct work_state *ret)
{
    char *end = NULL;

    ret->behind = strtoul(text, &end, 10);
    if (end == text || *end != '\t')
        return false;
    text = end + 1;
    ret->ahead = strtoul(text, &end, 10);
    return end != text && *end == '\0';
}

/* Counts names that end with NUL. */
static size_t count_names(const struct str *names)
{
    size_t count = 0;

    for (size_t i = 0; i < names->len; i++)
        count += names->data[i] == '\0';
    return count;
}

/* Makes the directory of the indexes if it is missing, takes the lock of an index there, which has
 * its name, and removes the lock that a killed git left. */
static int lock_index(const struct repo *repo, const char *index, int *ret_lock, struct err *err)
{
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *left = mem_printf("%s.lock", index);

    if (git == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    if (mkdirat(git, CODE_INDEXES, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '" CODE_GIT "/" CODE_INDEXES "'");
    _cleanup_close_ int dir = path_open_dir(git, CODE_INDEXES);
    if (dir == -1)
        return err_errno(err, "cannot open '" CODE_GIT "/" CODE_INDEXES "'");
    if (repo_lock(repo, index, LOOK_WAIT_MS, "look", ret_lock, err) == -1)
        return err_wrap(err, "cannot look at the work tree");
    (void)unlinkat(dir, left, 0);
    return 0;
}

int work_changed(const struct stranger *stranger, bool ignored, struct str *ret, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s.look", stranger->key);
    _cleanup_free_ char *index = mem_printf("%s/" CODE_INDEXES "/%s", stranger->repo->git, name);
    const struct git git = stranger_git(stranger, index);
    _cleanup_close_ int lock = -1;
    struct proc_result refreshed = PROC_RESULT_INIT;
    struct proc_result result = PROC_RESULT_INIT;

    if (lock_index(stranger->repo, name, &lock, err) == -1)
        return -1;
    int rc = git_must(&git, GIT_ARGS("read-tree", "--reset", stranger->head), NULL, NULL, err);
    if (rc == 0)
        rc = mark(&git, stranger, err);
    if (rc == 0)
        rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
    proc_result_free(&refreshed); /* its exit code is 1 if a file has changed */
    if (rc == 0)
        rc = git_must(&git,
                      GIT_ARGS("ls-files", "-z", "--modified", "--others", "--deduplicate",
                               ignored ? NULL : "--exclude-standard"),
                      NULL, &result, err);
    if (rc == 0)
        str_addn(ret, str_text(&result.out), result.out.len);
    proc_result_free(&result);
    return rc == 0 ? 0 : err_wrap(err, "cannot read the files of %s", stranger->subject);
}

/* Adds what was changed in the submodules that mas has filled. */
static int count_inside(const struct stranger *stranger, size_t *count, struct err *err)
{
    _cleanup_module_list_ struct module_list list = {.items = NULL};

    if (module_list_read(stranger->repo, stranger->agent, &list, err) == -1)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        _cleanup_stranger_ struct stranger module = STRANGER_INIT;
        _cleanup_str_ struct str names = STR_INIT;
        bool there = false;
        if (module_open(stranger, list.items[i].path, list.items[i].oid, &module, &there, err) ==
                -1 ||
            (there && work_changed(&module, false, &names, err) == -1))
            return -1;
        *count += count_names(&names);
    }
    return 0;
}

int work_state(const struct stranger *stranger, const struct snapshot_tree *tree,
               struct work_state *ret, struct err *err)
{
    const struct git git = stranger_git(stranger, NULL);
    _cleanup_free_ char *range = mem_printf("%s...%s", stranger->repo->main, stranger->head);
    _cleanup_free_ char *counts = NULL;
    struct proc_result result = PROC_RESULT_INIT;
    struct work_state state = {.branch = ""};
    struct err ignored = ERR_INIT;
    char main[GIT_OID_TEXT];

    if (repo_ref(stranger->repo, stranger->repo->main, main, &ignored) == 0 &&
        strcmp(main, stranger->head) == 0)
        counts = mem_dup("0\t0");
    else if (git_text(&git, GIT_ARGS("rev-list", "--left-right", "--count", range), &counts, err) ==
             -1)
        return err_wrap(err, "cannot read the commits of agent '%s'", stranger->agent);
    if (!parse_counts(counts, &state))
        return err_set(err, MAS_FAILED, "git rev-list printed '%s'", counts);
    if (stranger->branch[0] != '\0')
        (void)snprintf(state.branch, sizeof state.branch, "%s",
                       stranger->branch + strlen("refs/heads/"));
    if (tree != NULL) {
        const struct git files = work_git(stranger, tree);
        if (strcmp(stranger->head, tree->oid) != 0 &&
            git_must(&files,
                     GIT_ARGS("diff-tree", "-r", "-z", "--name-only", stranger->head, tree->oid),
                     NULL, &result, err) == -1)
            return -1;
        state.changed = count_names(&result.out);
        proc_result_free(&result);
        if (count_inside(stranger, &state.changed, err) == -1)
            return -1;
    }
    *ret = state;
    return 0;
}

static int to_int(size_t n)
{
    return n < INT_MAX ? (int)n : INT_MAX;
}

static int count(const struct repo *repo, const char *agent, struct work_state *ret,
                 struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_str_ struct str names = STR_INIT;
    struct work_state state;

    if (stranger_open(repo, agent, &stranger, err) == -1 ||
        work_state(&stranger, NULL, &state, err) == -1 ||
        work_changed(&stranger, false, &names, err) == -1)
        return -1;
    state.changed = count_names(&names);
    if (count_inside(&stranger, &state.changed, err) == -1)
        return -1;
    *ret = state;
    return 0;
}

static void keep_figures(const struct repo *repo, const char *agent,
                         const struct code_figures *figures)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_INDEXES, repo->git);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *name = mem_printf("%s" FIGURES, agent);
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    code_figures_tell(figures, &out);
    json_close(&out, '}');
    if (dir != -1)
        repo_keep_note(dir, name, text.data, text.len);
}

void work_looked(int workspace, struct code_figures **ret, size_t *ret_count)
{
    _cleanup_close_ int dir =
        path_open_beneath(workspace, CODE_GIT "/" CODE_INDEXES, O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    *ret_count = 0;
    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ struct json *object = NULL;
        size_t len = 0;
        if (!str_ends(*name, FIGURES) ||
            file_read(dir, *name, FIGURES_MAX, &text, &len, &ignored) == -1 ||
            json_parse(text, len, FIGURES_MAX, &object, &ignored) == -1)
            continue;
        *ret = mem_room(*ret, *ret_count, sizeof **ret);
        code_figures_parse(object, &(*ret)[(*ret_count)++]);
    }
}

void work_look(const struct repo *repo, const char *agent, struct code_figures *ret)
{
    struct work_state state = {.branch = ""};
    struct err err = ERR_INIT;

    *ret = (struct code_figures){.problem = ""};
    if (count(repo, agent, &state, &err) == -1)
        memcpy(ret->problem, err.text, str_fit(err.text, sizeof ret->problem - 1));
    memcpy(ret->branch, state.branch, sizeof ret->branch);
    ret->ahead = to_int(state.ahead);
    ret->behind = to_int(state.behind);
    ret->changed = to_int(state.changed);
    ret->looked_ms = time_epoch_ms();
    keep_figures(repo, agent, ret);
}
