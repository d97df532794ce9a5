/*
 * An agent's side is a tree that work_snapshot() makes of its files as they are; the integration
 * branch is a commit, without a work tree. The submodules of both sides are paired by path, and
 * those in them likewise, each wrapped into a tree that holds it alone, so that git prints paths as
 * in the work tree. A submodule that cannot be read becomes a sentence, and the rest is shown. What
 * is known to be equal is not asked of git: of an agent that has done nothing, only whether the
 * files are still those of the commit (see code/work.c).
 * comparison_look() moves the agent's ref last: a kill before it leaves the earlier look.
 */

#include "code/comparison.h"

#include "code/submodule/module.h"

void comparison_free(struct comparison *changes)
{
    work_free(&changes->tree);
    stranger_free(&changes->stranger);
    free(changes->agent);
    for (size_t i = 0; i < changes->module_count; i++)
        free(changes->modules[i].key);
    free(changes->modules);
    strv_free(changes->faults);
    *changes = (struct comparison)COMPARE_INIT;
}

static int resolve(const struct git *git, const char *name, char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_free_ char *text = NULL;

    if (git_text(git, GIT_ARGS("rev-parse", "--verify", "--quiet", name), &text, err) == -1)
        return -1;
    return git_parse_oid(text, ret) ? 0
                                    : err_set(err, MAS_FAILED, "git rev-parse printed '%s'", text);
}

/* Opens the integration branch, which has no work tree. */
static int open_main(const struct repo *repo, struct comparison *changes, struct err *err)
{
    _cleanup_free_ char *range = mem_printf(CODE_REF_BASE "..%s", repo->main);
    _cleanup_free_ char *count = NULL;

    changes->git = repo_git(repo);
    (void)snprintf(changes->state.branch, sizeof changes->state.branch, "%s",
                   repo->main + strlen("refs/heads/"));
    if (repo_ref(repo, CODE_REF_BASE, changes->from, err) == -1 ||
        repo_ref(repo, repo->main, changes->to, err) == -1 ||
        git_text(&changes->git, GIT_ARGS("rev-list", "--count", range), &count, err) == -1)
        return -1;
    changes->state.ahead = strtoul(count, NULL, 10);
    return 0;
}

static int find_from(const struct repo *repo, struct comparison *changes,
                     enum comparison_since since, struct err *err)
{
    _cleanup_free_ char *look = mem_printf(CODE_REF_LOOKS "%s", changes->agent);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;

    if (since == COMPARE_BASE)
        return repo_ref(repo, CODE_REF_BASE, changes->from, err);
    if (since == COMPARE_INTEGRATION)
        return repo_ref(repo, repo->main, changes->from, err);
    if (since == COMPARE_LOOK && repo_ref(repo, look, changes->from, &ignored) == 0)
        return 0;
    if (changes->state.ahead == 0)
        text = mem_dup(changes->stranger.head);
    else if (changes->state.behind == 0)
        return repo_ref(repo, repo->main, changes->from, err);
    if ((text == NULL &&
         git_text(&changes->git, GIT_ARGS("merge-base", repo->main, changes->stranger.head), &text,
                  err) == -1) ||
        !git_parse_oid(text, changes->from)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot compare the branch of agent '%s': it has no commit in common with "
                      "the team's",
                      changes->agent);
        return err_hint(err, "compare it as it is with: mas diff --integration");
    }
    return 0;
}

/* ---- submodules */

enum { DEPTH_MAX = 8 }; /* submodules in others */

/* The submodules of two trees. */
struct links {
    char **paths;
    char **from, **to; /* commits; "": none */
};

struct adding {
    struct links *links;
    bool to;
};

static int add_link(const char *path, const char *oid, void *arg, struct err *err)
{
    const struct adding *adding = arg;
    struct links *links = adding->links;
    size_t count = strv_len(links->paths);
    size_t i = 0;

    (void)err;
    while (i < count && strcmp(links->paths[i], path) != 0)
        i++;
    if (i == count) {
        strv_push(&links->paths, path);
        strv_push(&links->from, "");
        strv_push(&links->to, "");
    }
    char **at = adding->to ? &links->to[i] : &links->from[i];
    free(*at);
    *at = mem_dup(oid);
    return 0;
}

/* Finds the tree of a commit. *ret is "" if code.git does not have it. */
static void find_tree(const struct git *git, const char *commit, char ret[GIT_OID_TEXT])
{
    _cleanup_free_ char *name = mem_printf("%s^{tree}", commit);
    struct err ignored = ERR_INIT;

    if (commit[0] == '\0' || resolve(git, name, ret, &ignored) == -1)
        ret[0] = '\0';
}

/* Makes the tree that has nothing but `tree` at a path; "" is an empty one. */
static int wrap(const struct git *git, const char *path, const char *tree, char ret[GIT_OID_TEXT],
                struct err *err)
{
    _cleanup_free_ char *rest = mem_dup(path);
    _cleanup_free_ char *oid = tree[0] != '\0' ? mem_dup(tree) : NULL;

    for (bool more = true; more;) {
        char *slash = strrchr(rest, '/');
        _cleanup_free_ char *entry = mem_printf("040000 tree %s\t%s", oid != NULL ? oid : "",
                                                slash != NULL ? slash + 1 : rest);
        struct proc_result result = PROC_RESULT_INIT;
        if (git_must(git, GIT_ARGS("mktree", "-z"),
                     &(struct git_input){entry, oid != NULL ? strlen(entry) + 1 : 0}, &result,
                     err) == -1)
            return -1;
        more = oid != NULL && slash != NULL;
        free(oid);
        oid = mem_dupn(str_text(&result.out), strcspn(str_text(&result.out), "\n"));
        proc_result_free(&result);
        if (slash != NULL)
            *slash = '\0';
    }
    return git_parse_oid(oid, ret) ? 0 : err_set(err, MAS_FAILED, "git mktree printed '%s'", oid);
}

/* Reads the files of a submodule as they are now: those of the agent, or of the commit. */
static int read_module(struct comparison *changes, const char *path, const char *commit, char **key,
                       char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    bool there = false;

    find_tree(&changes->git, commit, ret);
    if (changes->tree.dir == -1)
        return 0;
    if (module_open(&changes->stranger, path, ret[0] != '\0' ? commit : NULL, &module, &there,
                    err) == -1)
        return -1;
    *key = mem_dup(module.key);
    if (!there)
        return 0;
    if (work_snapshot_module(&changes->tree, &module, ret, err) == -1)
        return -1;
    if (strcmp(ret, module.head) == 0)
        find_tree(&changes->git, module.head, ret);
    return 0;
}

static int add_modules(struct comparison *changes, enum comparison_since since, const char *below,
                       const char *from, const char *to, int depth, struct err *err);

static int add_module(struct comparison *changes, enum comparison_since since, const char *path,
                      const char *was, const char *is, int depth, struct err *err)
{
    struct comparison_module module = {.key = NULL};
    char from[GIT_OID_TEXT] = "";
    struct err why = ERR_INIT;

    if (is[0] != '\0' && read_module(changes, path, is, &module.key, module.files, &why) == -1) {
        _cleanup_str_ struct str line = STR_INIT;
        str_add(&line, "cannot show submodule '");
        str_add_visible(&line, path, strlen(path));
        str_addf(&line, "': %s", why.text);
        strv_push(&changes->faults, line.data);
        free(module.key);
        return 0;
    }
    find_tree(&changes->git, was, from);
    _cleanup_free_ char *look =
        mem_printf(CODE_REF_LOOKS "%s", module.key != NULL ? module.key : "");
    if (since == COMPARE_LOOK && module.key != NULL)
        (void)resolve(&changes->git, look, from, &why);
    if (strcmp(from, module.files) != 0 &&
        (wrap(&changes->git, path, from, module.from, err) == -1 ||
         wrap(&changes->git, path, module.files, module.to, err) == -1)) {
        free(module.key);
        return -1;
    }
    changes->modules = mem_room(changes->modules, changes->module_count, sizeof module);
    changes->modules[changes->module_count++] = module;
    return add_modules(changes, since, path, from, module.files, depth + 1, err);
}

/* Compares the submodules of two trees, "" being none, and those in them. */
static int add_modules(struct comparison *changes, enum comparison_since since, const char *below,
                       const char *from, const char *to, int depth, struct err *err)
{
    struct links links = {.paths = NULL};
    int rc =
        depth > DEPTH_MAX || from[0] == '\0'
            ? 0
            : module_links(&changes->git, from, add_link, &(struct adding){&links, false}, err);

    if (rc == 0 && depth <= DEPTH_MAX && to[0] != '\0')
        rc = module_links(&changes->git, to, add_link, &(struct adding){&links, true}, err);
    for (size_t i = 0; rc == 0 && i < strv_len(links.paths); i++) {
        _cleanup_free_ char *path =
            mem_printf("%s%s%s", below, below[0] != '\0' ? "/" : "", links.paths[i]);
        rc = add_module(changes, since, path, links.from[i], links.to[i], depth, err);
    }
    strv_free(links.paths);
    strv_free(links.from);
    strv_free(links.to);
    return rc;
}

/* ---- */

int comparison_open(const struct repo *repo, const char *agent, enum comparison_since since,
                    struct comparison *ret, struct err *err)
{
    ret->agent = mem_dup(agent);
    if (strcmp(agent, COMPARE_MAIN) == 0)
        return open_main(repo, ret, err) == -1
                   ? -1
                   : add_modules(ret, since, "", ret->from, ret->to, 0, err);
    if (stranger_open(repo, agent, &ret->stranger, err) == -1 ||
        work_snapshot(&ret->stranger, &ret->tree, err) == -1 ||
        work_state(&ret->stranger, &ret->tree, &ret->state, err) == -1)
        return -1;
    ret->git = work_git(&ret->stranger, &ret->tree);
    memcpy(ret->to, ret->tree.oid, sizeof ret->to);
    if (find_from(repo, ret, since, err) == -1)
        return -1;
    if (strcmp(ret->from, ret->stranger.head) == 0 && strcmp(ret->from, ret->to) == 0 &&
        stranger_index(&ret->stranger) == INDEX_PLAIN)
        return 0;
    return add_modules(ret, since, "", ret->from, ret->to, 0, err);
}

static int diff_trees(const struct comparison *changes, const char *from, const char *to,
                      enum comparison_form form, struct str *ret, struct err *err)
{
    const char *const *args =
        form == COMPARE_RAW
            ? GIT_ARGS("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
                       "--raw", "-z", "--patch", from, to)
            : GIT_ARGS("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
                       form == COMPARE_STAT ? "--stat=80" : "--patch", from, to);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (strcmp(from, to) == 0)
        return 0;
    if (git_must(&changes->git, args, NULL, &result, err) == -1)
        return -1;
    str_addn(ret, str_text(&result.out), result.out.len);
    return 0;
}

int comparison_diff(const struct comparison *changes, enum comparison_form form, struct str *ret,
                    struct err *err)
{
    int rc = diff_trees(changes, changes->from, changes->to, form, ret, err);

    for (size_t i = 0; rc == 0 && i < changes->module_count; i++)
        if (changes->modules[i].from[0] != '\0')
            rc = diff_trees(changes, changes->modules[i].from, changes->modules[i].to, form, ret,
                            err);
    return rc;
}

char *comparison_read(const struct comparison *changes, const char *path, size_t *ret_len)
{
    for (size_t i = 0; i <= changes->module_count; i++) {
        const char *tree = i == 0 ? changes->to : changes->modules[i - 1].to;
        _cleanup_free_ char *name = mem_printf("%s:%s", tree, path);
        struct proc_result result = PROC_RESULT_INIT;
        struct err ignored = ERR_INIT;
        char *text = NULL;
        if (tree[0] != '\0' && git_must(&changes->git, GIT_ARGS("cat-file", "blob", name), NULL,
                                        &result, &ignored) == 0) {
            *ret_len = result.out.len;
            text = mem_dupn(str_text(&result.out), result.out.len);
        }
        proc_result_free(&result);
        if (text != NULL)
            return text;
    }
    return NULL;
}

int comparison_look(const struct comparison *changes, struct err *err)
{
    const struct git git = {.dir = changes->git.dir};
    _cleanup_free_ char *ref = mem_printf(CODE_REF_LOOKS "%s", changes->agent);

    if (changes->tree.dir == -1)
        return 0;
    if (work_keep(&changes->tree, err) == -1)
        return -1;
    for (size_t i = 0; i < changes->module_count; i++) {
        const struct comparison_module *module = &changes->modules[i];
        _cleanup_free_ char *inner = mem_printf(CODE_REF_LOOKS "%s", module->key);
        if (module->key != NULL && module->files[0] != '\0' &&
            git_must(&git, GIT_ARGS("update-ref", inner, module->files), NULL, NULL, err) == -1)
            return -1;
    }
    return git_must(&git, GIT_ARGS("update-ref", ref, changes->to), NULL, NULL, err);
}

/* Adds up the lines that differ between two trees. "-" of a binary file counts nothing. */
static int count_lines(const struct git *git, const char *from, const char *to,
                       struct comparison_lines *ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (strcmp(from, to) == 0)
        return 0;
    if (git_must(git, GIT_ARGS("diff-tree", "-r", "--numstat", "--no-renames", from, to), NULL,
                 &result, err) == -1)
        return -1;
    for (const char *line = str_text(&result.out); *line != '\0';) {
        /* "<added>\t<removed>\t<path>" */
        ret->added += strtoul(line, NULL, 10);
        ret->removed += strtoul(line + strcspn(line, "\t"), NULL, 10);
        ret->files++;
        line += strcspn(line, "\n");
        line += *line != '\0';
    }
    return 0;
}

int comparison_count(const struct comparison *changes, struct comparison_lines *ret,
                     struct err *err)
{
    struct comparison_lines lines = {.files = 0};
    int rc = count_lines(&changes->git, changes->from, changes->to, &lines, err);

    for (size_t i = 0; rc == 0 && i < changes->module_count; i++)
        if (changes->modules[i].from[0] != '\0')
            rc = count_lines(&changes->git, changes->modules[i].from, changes->modules[i].to,
                             &lines, err);
    if (rc == 0)
        *ret = lines;
    return rc;
}

int comparison_against(struct comparison *changes, const struct comparison *other, struct err *err)
{
    if (work_keep(&other->tree, err) == -1)
        return -1;
    for (size_t i = 0; i < changes->module_count; i++)
        free(changes->modules[i].key);
    changes->module_count = 0;
    memcpy(changes->from, other->to, sizeof changes->from);
    return 0;
}

int comparison_landing(const struct repo *repo, struct comparison_landing *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    struct comparison_landing landing = {.commits = 0};
    struct err ignored = ERR_INIT;
    char from[GIT_OID_TEXT];

    if (repo_count_unlanded(repo, &landing.commits, err) == -1)
        return -1;
    if (landing.commits > 0) {
        if (repo_ref(repo, CODE_REF_LANDED, from, &ignored) == -1 &&
            repo_ref(repo, CODE_REF_BASE, from, err) == -1)
            return -1;
        if (count_lines(&git, from, repo->main, &landing.lines, err) == -1)
            return -1;
    }
    *ret = landing;
    return 0;
}
