#include "code/submodule_internal.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const struct project *project, const char *path, const char *why, struct err *err)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, path, strlen(path));
    (void)err_set(err, MAS_USAGE, "cannot use project '%s': its submodule '%s' %s", project->path,
                  str_text(&shown), why);
    return err_hint(err, "get it there with: git submodule update --init --recursive");
}

/* ---- what the project has */

void submodule_find_checkout(const struct project *project, const char *path, char **ret)
{
    _cleanup_close_ int top =
        project->top != NULL ? open(project->top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    _cleanup_close_ int dir = top != -1 ? path_open_beneath(top, path, O_RDONLY | O_DIRECTORY) : -1;
    _cleanup_free_ char *prefix = NULL;
    struct err ignored = ERR_INIT;
    const struct git there = {.cwd = dir};

    /* in a directory that is no checkout, git would find the project around it */
    if (dir != -1 &&
        git_text(&there, GIT_ARGS("rev-parse", "--show-prefix"), &prefix, &ignored) == 0 &&
        prefix[0] == '\0')
        (void)git_text(&there, GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
                       ret, &ignored);
}

int submodule_has_commit(const char *dir, const char *oid, bool *ret, struct err *err)
{
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);
    struct proc_result result = PROC_RESULT_INIT;
    const struct git git = {.dir = dir};

    if (git_run(&git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, err) == -1)
        return -1;
    *ret = result.status == 0;
    proc_result_free(&result);
    return 0;
}

/* Finds a submodule's checkout, and sees that code.git has its commit. item->checkout stays NULL if
 * it is not checked out. */
static int find_commit(const struct repo *repo, const struct project *project,
                       struct submodule *item, struct err *err)
{
    bool there = false;

    submodule_find_checkout(project, item->path, &item->checkout);
    if (item->checkout == NULL)
        return 0;
    if (submodule_is_known(repo, item->oid, &there, err) == -1)
        return -1;
    if (there)
        return 0;
    if (submodule_has_commit(item->checkout, item->oid, &there, err) == -1)
        return -1;
    return there ? submodule_bring_checkout(repo, item->checkout, item->oid, err)
                 : refuse(project, item->path, "does not have the commit that the project names",
                          err);
}

/* Returns true for a name whose directory is in .git/modules, as git asks it of a name. */
static bool is_name(const char *name)
{
    for (const char *part = name;; part++) {
        size_t len = strcspn(part, "/");
        if (len == 0 || part[0] == '.' || strcspn(part, "\n\\\"") < len)
            return false;
        part += len;
        if (*part == '\0')
            return true;
    }
}

/* Finds the name and the address of a submodule in .gitmodules of the tree around it. Without one,
 * as after `git add` of a repository, it has no repository in a work tree. */
static int find_name(const struct repo *repo, const char *tree, const char *path,
                     const char *modules, struct submodule *item, struct err *err)
{
    static const char begins[] = "submodule.";
    const struct git git = repo_git(repo);
    _cleanup_free_ char *blob = mem_printf("%s:.gitmodules", tree);
    struct proc_result result = PROC_RESULT_INIT;

    /* it fails if there is no such file, or none with a path */
    if (git_run(&git,
                GIT_ARGS("config", "-z", "--blob", blob, "--get-regexp", "^submodule\\..*\\.path$"),
                NULL, &result, err) == -1)
        return -1;
    const char *end = str_text(&result.out) + (result.status == 0 ? result.out.len : 0);
    for (const char *line = str_text(&result.out); line < end; line += strlen(line) + 1) {
        const char *value = strchr(line, '\n'); /* a name may hold none */
        if (value == NULL || strcmp(value + 1, path) != 0 || !str_starts(line, begins))
            continue;
        const char *name = line + strlen(begins);
        size_t len = (size_t)(value - name) - strlen(".path");
        _cleanup_free_ char *own = mem_dupn(name, len);
        _cleanup_free_ char *key = mem_printf("%s%s.url", begins, own);
        struct err ignored = ERR_INIT;
        if (!is_name(own) || item->module != NULL)
            continue;
        item->module = mem_printf("%s%s", modules, own);
        item->name_at = strlen(modules);
        if (git_text(&git, GIT_ARGS("config", "--blob", blob, "--get", key), &item->url,
                     &ignored) == 0 &&
            item->url[0] == '.') {
            free(item->url); /* what it is relative to is not here */
            item->url = NULL;
        }
    }
    proc_result_free(&result);
    return 0;
}

/* Returns true if a sparse checkout of the project does not have the directory of a submodule. */
static bool is_left_out(const struct project *project, const char *path)
{
    _cleanup_close_ int top =
        project->top != NULL ? open(project->top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    _cleanup_close_ int dir = top != -1 ? path_open_beneath(top, path, O_PATH) : -1;

    return top != -1 && dir == -1 && errno == ENOENT;
}

/* Takes the last submodule out of the list, because the person has not checked it out. Fails if a
 * work tree of the session has it: its files would be removed there. */
static int leave_out(const struct project *project, struct submodules *list, struct err *err)
{
    struct submodule *item = &list->items[list->count - 1];
    _cleanup_str_ struct str note = STR_INIT;

    for (size_t i = 0; list->filled != NULL && i < list->filled->count; i++)
        if (strcmp(list->filled->items[i].path, item->path) == 0)
            return refuse(project, item->path, "is not checked out any more", err);
    str_add(&note, "submodule '");
    str_add_visible(&note, item->path, strlen(item->path));
    str_addf(&note, "' is not checked out in '%s', and is left out", project->path);
    if (list->notes != NULL)
        strv_push(list->notes, str_text(&note));
    free(item->path);
    list->count--;
    return 0;
}

/* Adds a line of ls-tree, "<mode> <type> <id>\t<path>", if it is a submodule. */
static int add_line(const struct repo *repo, const struct project *project, const char *tree,
                    const char *line, const struct submodule *outer, int depth,
                    struct submodules *ret, struct err *err)
{
    static const char link[] = "160000 commit ";
    const char *tab = strchr(line, '\t');

    if (!str_starts(line, link) || tab == NULL)
        return 0;
    _cleanup_free_ char *oid = mem_dupn(line + strlen(link), (size_t)(tab - line) - strlen(link));
    _cleanup_free_ char *path =
        outer != NULL ? mem_printf("%s/%s", outer->path, tab + 1) : mem_dup(tab + 1);
    _cleanup_free_ char *modules = outer == NULL ? mem_dup("modules/")
                                   : outer->module != NULL
                                       ? mem_printf("%s/modules/", outer->module)
                                       : NULL;
    struct submodule *added = submodules_add(ret, path, oid, 0);
    if (added->oid[0] == '\0' || strchr(added->path, '\n') != NULL)
        return refuse(project, added->path, "cannot be read", err);
    if (ret->is_sparse && is_left_out(project, added->path)) {
        free(added->path);
        ret->count--;
        return 0;
    }
    if (depth >= SUBMODULE_DEPTH_MAX)
        return refuse(project, added->path, "lies in too many others", err);
    if (find_commit(repo, project, added, err) == -1)
        return -1;
    if (added->checkout == NULL)
        return leave_out(project, ret, err);
    if (modules != NULL && find_name(repo, tree, tab + 1, modules, added, err) == -1)
        return -1;
    _cleanup_free_ char *module = added->module != NULL ? mem_dup(added->module) : NULL;
    const struct submodule around = {.path = path, .module = module};
    return submodules_find(repo, project, oid, &around, depth + 1, ret, err);
}

int submodules_find(const struct repo *repo, const struct project *project, const char *tree,
                    const struct submodule *outer, int depth, struct submodules *ret,
                    struct err *err)
{
    const struct git git = repo_git(repo);
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(&git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", tree), NULL, &result, err) ==
        -1)
        return -1;
    int rc = 0;
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *line = str_text(&result.out); rc == 0 && line < end; line += strlen(line) + 1)
        rc = add_line(repo, project, tree, line, outer, depth, ret, err);
    proc_result_free(&result);
    return rc;
}
