/*
 * Copies commits of submodules: from a person's checkouts and from agents into code.git, and from
 * there into the project. git lists which ones the commits of a range name; each of these may name
 * others. What goes to the project is planned first and copied then, so that a conflict is told
 * before anything has changed. A ref is set after the objects are there: a kill leaves only objects
 * without a name.
 */

#include "code/submodule/submodule_internal.h"

#include "code/repo_make.h"
#include "code/work.h"
#include "git/pack.h"
#include "git/raw.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define COPIED "incoming" /* in code.git, while objects are copied */

enum { SHALLOW_MAX = 1 << 20 }; /* bytes */

/* Calls `each` for the submodules that a command prints, as git/raw.h says. */
static int for_raw(const struct git *git, const char *const *args, module_link *each, void *arg,
                   struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_must(git, args, NULL, &result, err);
    struct raw_row row;

    for (size_t at = 0; rc == 0 && raw_next(&result.out, &at, &row);)
        if (strcmp(row.new.mode, "160000") == 0)
            rc = each(row.path, row.new.oid, arg, err);
    return rc;
}

/* Calls `each` for the submodules that the commits of a range change. */
static int for_range(const struct git *git, const char *range, module_link *each, void *arg,
                     struct err *err)
{
    return for_raw(git,
                   GIT_ARGS("log", "-m", "--format=", "-r", "-z", "--raw", "--no-abbrev",
                            "--no-renames", "--diff-filter=AMT", range),
                   each, arg, err);
}

int submodule_has_commit(const char *dir, const char *oid, bool *ret, struct err *err)
{
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const struct git git = {.dir = dir};

    if (git_run(&git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, err) == -1)
        return -1;
    *ret = result.status == 0;
    return 0;
}

int submodule_is_known(const struct repo *repo, const char *oid, bool *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *under = mem_printf(CODE_REF_SUBMODULES "%s/", oid);
    _cleanup_free_ char *found = NULL;

    if (git_text(&git, GIT_ARGS("for-each-ref", "--count=1", "--format=%(refname)", under), &found,
                 err) == -1)
        return -1;
    *ret = found[0] != '\0';
    return 0;
}

/* ---- from a person's checkout */

/* Adds the commits whose parents the checkout lacks to those whose parents code.git lacks. */
static int add_shallow(const struct repo *repo, const char *checkout, struct err *err)
{
    _cleanup_close_ int from = open(checkout, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int to = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_str_ struct str all = STR_INIT;
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ char *old = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (from == -1 || to == -1)
        return err_errno(err, "cannot open '%s'", from == -1 ? checkout : repo->git);
    int there = file_read_if_there(from, "shallow", SHALLOW_MAX, &text, &len, err);
    if (there != 1)
        return there;
    if (file_read(to, "shallow", SHALLOW_MAX, &old, &len, &why) == 0)
        str_add(&all, old);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (git_is_oid(line) && (all.len == 0 || strstr(all.data, line) == NULL))
            str_addf(&all, "%s\n", line);
    return all.len == 0 ? 0 : file_replace(to, "shallow", all.data, all.len, 0644, err);
}

/* Copies all objects of a checkout. */
static int copy_all(const struct repo *repo, const char *checkout, struct err *err)
{
    _cleanup_free_ char *dir = mem_dup(checkout);
    const struct project project = {.path = dir, .dir = dir};
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int objects = git != -1 ? path_open_dir(git, "objects") : -1;
    struct err ignored = ERR_INIT;

    if (objects == -1)
        return err_errno(err, "cannot open '" CODE_GIT "/objects'");
    if (tree_remove(git, COPIED, err) == -1)
        return -1;
    _cleanup_close_ int to = path_make_dir(git, COPIED, 0700);
    if (to == -1)
        return err_errno(err, "cannot make '" CODE_GIT "/" COPIED "'");
    int rc = repo_copy_objects(to, &project, NULL, NULL, err);
    _cleanup_close_ int copied = rc == 0 ? path_open_dir(to, "objects") : -1;
    if (rc == 0)
        rc = copied == -1 ? err_errno(err, "cannot open '" CODE_GIT "/" COPIED "'")
                          : work_keep_objects(copied, objects, err);
    (void)tree_remove(git, COPIED, &ignored);
    return rc;
}

int submodule_bring_checkout(const struct repo *repo, const char *checkout, const char *oid,
                             struct err *err)
{
    _cleanup_free_ char *alternates = mem_printf("%s/objects/info/alternates", checkout);
    _cleanup_free_ char *objects = mem_printf("%s/objects", checkout);
    _cleanup_free_ char *ref = mem_printf(CODE_REF_SUBMODULES "%s/" CODE_FROM_PROJECT, oid);
    _cleanup_free_ char *wanted = mem_printf("%s\n", oid);
    const struct git to = repo_git(repo);
    const struct git from = {.dir = repo->git, .objects = {objects}};

    if (add_shallow(repo, checkout, err) == -1)
        return -1;
    bool there = false;
    if (submodule_has_commit(repo->git, oid, &there, err) == -1)
        return -1;
    /* an older commit came with one before; what the checkout borrows has to be copied, too */
    int rc = there                           ? 0
             : access(alternates, F_OK) == 0 ? pack_copy(&from, &to, PACK_TMP, wanted, err)
                                             : copy_all(repo, checkout, err);
    return rc == -1 || git_must(&to, GIT_ARGS("update-ref", ref, oid), NULL, NULL, err) == -1
               ? err_wrap(err, "cannot copy the objects of '%s'", checkout)
               : 0;
}

/* ---- from an agent */

struct bring_links {
    const struct stranger *outer;
    const char *below; /* "" or the path of a submodule and a slash */
    int depth;
};

/* Brings one commit, and those that it names, if the agent has it. */
static int bring_link(const char *link, const char *oid, void *arg, struct err *err)
{
    const struct bring_links *in = arg;
    const struct repo *repo = in->outer->repo;
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_free_ char *path = mem_printf("%s%s", in->below, link);
    _cleanup_free_ char *below = mem_printf("%s/", path);
    _cleanup_free_ char *under = mem_printf(CODE_REF_SUBMODULES "%s/", oid);
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);
    const struct bring_links inner = {.outer = in->outer, .below = below, .depth = in->depth + 1};
    const struct git own = repo_git(repo);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    bool there = false;

    if (submodule_is_known(repo, oid, &there, err) == -1)
        return -1;
    if (there || in->depth >= SUBMODULE_DEPTH_MAX)
        return 0;
    if (module_open(in->outer, path, oid, &module, &there, err) == -1)
        return err_wrap(err, "cannot fetch '%s'", path);
    if (!there)
        return 0;
    const struct git git = stranger_git(&module, NULL);
    if (git_run(&git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, err) == -1)
        return -1;
    there = result.status == 0;
    if (!there)
        return 0;
    return work_fetch(&module, oid, under, err) == -1
               ? -1
               : module_links(&own, oid, bring_link, (void *)(uintptr_t)&inner, err);
}

int submodule_bring(const struct stranger *stranger, const char *oid, struct err *err)
{
    const struct git git = repo_git(stranger->repo);
    _cleanup_free_ char *range = mem_printf("%s..%s", stranger->repo->main, oid);
    struct bring_links bringing = {.outer = stranger, .below = ""};

    return for_range(&git, range, bring_link, &bringing, err);
}

/* ---- into the project */

struct landing_links {
    const struct repo *repo;
    const struct project *project;
    const char *below;
    int depth;
    bool must; /* fails for a commit that is nowhere */
    bool moved; /* a checkout is to follow */
    char **dirs; /* where commits are to be brought */
    char **oids;
};

/* Finds out what the project lacks of one submodule, and of those in it. */
static int plan_link(const char *link, const char *oid, void *arg, struct err *err)
{
    struct landing_links *links = arg;
    struct landing_links inner = *links;
    const struct git own = repo_git(links->repo);
    _cleanup_free_ char *path = mem_printf("%s%s", links->below, link);
    _cleanup_free_ char *below = mem_printf("%s/", path);
    _cleanup_free_ char *dir = NULL;
    _cleanup_str_ struct str shown = STR_INIT;
    bool has = false;
    bool known = false;

    project_find_submodule(links->project->top, path, &dir);
    links->moved = links->moved || dir != NULL;
    if (submodule_has_commit(dir != NULL ? dir : links->project->dir, oid, &has, err) == -1 ||
        submodule_is_known(links->repo, oid, &known, err) == -1)
        return -1;
    if (has || links->depth >= SUBMODULE_DEPTH_MAX)
        return 0;
    if (!known && (dir == NULL || !links->must)) /* not checked out: git gets it where it is from */
        return 0;
    if (!known) {
        str_add_visible(&shown, path, strlen(path));
        (void)err_set(err, MAS_CONFLICT,
                      "submodule '%s' is at commit %.10s, which its checkout in the project does "
                      "not have",
                      shown.data, oid);
        return err_hint(err, "fetch it there first, from where it was made");
    }
    strv_push(&inner.dirs, dir != NULL ? dir : links->project->dir);
    strv_push(&inner.oids, oid);
    inner.below = below;
    inner.depth++;
    int rc = module_links(&own, oid, plan_link, &inner, err);
    links->dirs = inner.dirs;
    links->oids = inner.oids;
    return rc;
}

static int copy_links(const struct landing_links *links, const char *under, struct err *err)
{
    for (size_t i = 0; i < strv_len(links->dirs); i++) {
        const struct git to = {.dir = links->dirs[i]};
        _cleanup_free_ char *objects = mem_printf("%s/objects", links->dirs[i]);
        const struct git from = {.dir = links->repo->git, .objects = {objects}};
        _cleanup_free_ char *wanted = mem_printf("%s\n", links->oids[i]);
        _cleanup_free_ char *ref = mem_printf("%s%s", under, links->oids[i]);
        if (pack_copy(&from, &to, PACK_TMP, wanted, err) == -1 ||
            git_must(&to, GIT_ARGS("update-ref", ref, links->oids[i]), NULL, NULL, err) == -1)
            return -1;
    }
    return 0;
}

int submodule_land(const struct repo *repo, const struct project *project, const struct git *git,
                   const char *old, const char *new, bool *ret_moved, struct err *err)
{
    struct landing_links links = {.repo = repo, .project = project, .below = "", .must = true};
    _cleanup_free_ char *range = mem_printf("%s..%s", old, new);
    int rc = for_raw(git,
                     GIT_ARGS("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
                              "--diff-filter=AMT", old, new),
                     plan_link, &links, err);

    links.must = false;
    *ret_moved = links.moved;
    if (rc == 0)
        rc = for_range(git, range, plan_link, &links, err);
    if (rc == 0)
        rc = copy_links(&links, PROJECT_REF_LANDED, err);
    strv_free(links.dirs);
    strv_free(links.oids);
    return rc;
}

int submodule_save(const struct repo *repo, const struct project *project, const char *id,
                   struct err *err)
{
    struct landing_links links = {.repo = repo, .project = project, .below = ""};
    const struct git git = repo_git(repo);
    _cleanup_free_ char *range = mem_printf(CODE_REF_BASE "..%s", repo->main);
    _cleanup_free_ char *under = mem_printf("refs/mas/lost/%s/submodules/", id);
    int rc = for_range(&git, range, plan_link, &links, err);

    if (rc == 0)
        rc = copy_links(&links, under, err);
    strv_free(links.dirs);
    strv_free(links.oids);
    return rc;
}
