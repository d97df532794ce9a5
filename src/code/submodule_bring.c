#include "code/submodule_internal.h"

#include "base/file.h"
#include "base/path.h"
#include "base/tree.h"
#include "code/pack.h"
#include "code/repo_make.h"
#include "code/stranger.h"
#include "code/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFS "refs/mas/submodules/"
#define REF_LANDED "refs/mas/landed/"
#define COPIED "incoming" /* in code.git, while objects are copied */

enum { SHALLOW_MAX = 1 << 20 }; /* bytes */

/* Calls `each` for each submodule that a tree of code.git names, until it fails. */
typedef int each_link(const char *path, const char *oid, void *arg, struct err *err);

static int for_links(const struct git *git, const char *const *args, each_link *each, void *arg,
                     struct err *err)
{
    static const char link[] = "160000 commit ";
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    int rc = 0;
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *line = str_text(&result.out); rc == 0 && line < end;
         line += strlen(line) + 1) {
        const char *tab = strchr(line, '\t');
        if (!str_starts(line, link) || tab == NULL)
            continue;
        _cleanup_free_ char *oid =
            mem_dupn(line + strlen(link), (size_t)(tab - line) - strlen(link));
        if (git_is_oid(oid))
            rc = each(tab + 1, oid, arg, err);
    }
    proc_result_free(&result);
    return rc;
}

int submodule_is_known(const struct repo *repo, const char *oid, bool *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *under = mem_printf(REFS "%s/", oid);
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
    if (file_read(from, "shallow", SHALLOW_MAX, &text, &len, &why) == -1) {
        if (why.number == ENOENT)
            return 0;
        *err = why;
        return -1;
    }
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
    _cleanup_free_ char *ref = mem_printf(REFS "%s/project", oid);
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
    const struct stranger *stranger;
    const char *below; /* "" or the path of a submodule and a slash */
    int depth;
};

static int bring_tree(const struct bring_links *bringing, const char *oid, struct err *err);

/* Brings one commit, and those that it names, if the agent has it. */
static int bring_link(const char *link, const char *oid, void *arg, struct err *err)
{
    const struct bring_links *bringing = arg;
    const struct repo *repo = bringing->stranger->repo;
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_free_ char *path = mem_printf("%s%s", bringing->below, link);
    _cleanup_free_ char *under = mem_printf(REFS "%s/", oid);
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);
    struct proc_result result = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    bool there = false;

    if (submodule_is_known(repo, oid, &there, err) == -1)
        return -1;
    if (there || bringing->depth >= SUBMODULE_DEPTH_MAX ||
        submodule_repo_open(repo, bringing->stranger->agent, path, &module, &there, &why) == -1 ||
        !there)
        return why.code == MAS_OK ? 0 : err_wrap((*err = why, err), "cannot fetch '%s'", path);
    const struct git git = stranger_git(&module, NULL);
    if (git_run(&git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, err) == -1)
        return -1;
    there = result.status == 0;
    proc_result_free(&result);
    if (!there)
        return 0;
    _cleanup_free_ char *below = mem_printf("%s/", path);
    const struct bring_links inner = {
        .stranger = bringing->stranger, .below = below, .depth = bringing->depth + 1};
    return work_fetch(&module, oid, under, err) == -1 ? -1 : bring_tree(&inner, oid, err);
}

static int bring_tree(const struct bring_links *bringing, const char *oid, struct err *err)
{
    const struct git git = repo_git(bringing->stranger->repo);
    struct bring_links here = *bringing;

    return for_links(&git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", oid), bring_link, &here,
                     err);
}

int submodule_bring(const struct stranger *stranger, const char *oid, struct err *err)
{
    const struct bring_links bringing = {.stranger = stranger, .below = ""};
    return bring_tree(&bringing, oid, err);
}

/* ---- into the project */

struct land_links {
    const struct repo *repo;
    const struct project *project;
    const char *below;
    int depth;
    char **dirs; /* where commits are to be brought */
    char **oids;
};

/* Finds out what the project lacks of one submodule, and of those in it. */
static int plan_link(const char *link, const char *oid, void *arg, struct err *err)
{
    struct land_links *links = arg;
    const struct git own = repo_git(links->repo);
    const char *outer = links->below;
    _cleanup_free_ char *path = mem_printf("%s%s", outer, link);
    _cleanup_free_ char *below = mem_printf("%s/", path);
    _cleanup_free_ char *dir = NULL;
    _cleanup_str_ struct str shown = STR_INIT;
    bool there = false;

    submodule_find_checkout(links->project, path, &dir);
    if (dir == NULL) /* nobody could check it out there now either */
        return 0;
    if (submodule_has_commit(dir, oid, &there, err) == -1)
        return -1;
    if (there)
        return 0;
    if (submodule_is_known(links->repo, oid, &there, err) == -1)
        return -1;
    if (!there || links->depth >= SUBMODULE_DEPTH_MAX) {
        str_add_visible(&shown, path, strlen(path));
        (void)err_set(err, MAS_CONFLICT,
                      "submodule '%s' is at commit %.10s, which its checkout in the project does "
                      "not have",
                      shown.data, oid);
        return err_hint(err, "fetch it there first, from where it was made");
    }
    strv_push(&links->dirs, dir);
    strv_push(&links->oids, oid);
    links->below = below;
    links->depth++;
    int rc =
        for_links(&own, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", oid), plan_link, links, err);
    links->below = outer;
    links->depth--;
    return rc;
}

/* Finds the submodules that two commits have at different commits. */
static int plan(struct land_links *links, const struct git *git, const char *old, const char *new,
                struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;
    int rc = git_must(git,
                      GIT_ARGS("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
                               "--diff-filter=AMT", old, new),
                      NULL, &result, err);

    const char *end = str_text(&result.out) + result.out.len;
    for (const char *line = str_text(&result.out); rc == 0 && line < end;) {
        const char *path = line + strlen(line) + 1; /* ":<mode> <mode> <id> <id> <letter>" */
        const char *mode = line + strcspn(line, " ");
        const char *first = mode + strlen(" 160000 ");
        bool is_link = str_starts(mode, " 160000 ") && path < end;
        const char *id = is_link ? first + strcspn(first, " ") + 1 : "";
        _cleanup_free_ char *oid = mem_dupn(id, strcspn(id, " "));
        if (is_link && git_is_oid(oid))
            rc = plan_link(path, oid, links, err);
        line = path < end ? path + strlen(path) + 1 : end;
    }
    proc_result_free(&result);
    return rc;
}

int submodule_land(const struct repo *repo, const struct project *project, const struct git *git,
                   const char *old, const char *new, struct err *err)
{
    struct land_links links = {.repo = repo, .project = project, .below = ""};
    int rc = plan(&links, git, old, new, err);

    for (size_t i = 0; rc == 0 && i < strv_len(links.dirs); i++) {
        const struct git to = {.dir = links.dirs[i]};
        _cleanup_free_ char *objects = mem_printf("%s/objects", links.dirs[i]);
        const struct git from = {.dir = repo->git, .objects = {objects}};
        _cleanup_free_ char *wanted = mem_printf("%s\n", links.oids[i]);
        _cleanup_free_ char *ref = mem_printf(REF_LANDED "%s", links.oids[i]);
        rc = pack_copy(&from, &to, PACK_TMP, wanted, err);
        if (rc == 0)
            rc = git_must(&to, GIT_ARGS("update-ref", ref, links.oids[i]), NULL, NULL, err);
    }
    strv_free(links.dirs);
    strv_free(links.oids);
    return rc;
}
