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

/* Finds the repository of the checkout of a submodule; *ret stays NULL if there is none. */
static void find_checkout(const struct project *project, const char *path, char **ret)
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

static int has_commit(const char *dir, const char *oid, bool *ret, struct err *err)
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

/* Finds the objects of a submodule's checkout, and that they have its commit. item->objects stays
 * NULL if it is not checked out. */
static int find_objects(const struct project *project, struct submodule *item, struct err *err)
{
    _cleanup_free_ char *dir = NULL;
    bool there = false;

    find_checkout(project, item->path, &dir);
    if (dir == NULL)
        return 0;
    if (has_commit(dir, item->oid, &there, err) == -1)
        return -1;
    if (!there)
        return refuse(project, item->path, "does not have the commit that the project names", err);
    item->objects = mem_printf("%s/objects", dir);
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
static int add_line(const struct project *project, const char *line, const char *below, int depth,
                    struct submodules *ret, struct err *err)
{
    static const char link[] = "160000 commit ";
    const char *tab = strchr(line, '\t');

    if (!str_starts(line, link) || tab == NULL)
        return 0;
    struct submodule item = {.path = mem_printf("%s%s", below, tab + 1)};
    _cleanup_free_ char *oid = mem_dupn(line + strlen(link), (size_t)(tab - line) - strlen(link));
    ret->items = mem_grow(ret->items, ret->count + 1, sizeof *ret->items);
    ret->items[ret->count++] = item;
    struct submodule *added = &ret->items[ret->count - 1];
    if (!git_parse_oid(oid, added->oid) || strchr(added->path, '\n') != NULL)
        return refuse(project, added->path, "cannot be read", err);
    if (ret->is_sparse && is_left_out(project, added->path)) {
        free(added->path);
        ret->count--;
        return 0;
    }
    if (depth >= SUBMODULE_DEPTH_MAX)
        return refuse(project, added->path, "lies in too many others", err);
    if (find_objects(project, added, err) == -1)
        return -1;
    if (added->objects == NULL)
        return leave_out(project, ret, err);
    _cleanup_free_ char *inner = mem_printf("%s/", added->path);
    _cleanup_free_ char *dir =
        mem_dupn(added->objects, strlen(added->objects) - strlen("/objects"));
    _cleanup_free_ char *own = mem_dup(added->oid);
    const struct git git = {.dir = dir};
    return submodules_find(project, &git, own, inner, depth + 1, ret, err);
}

int submodules_find(const struct project *project, const struct git *git, const char *tree,
                    const char *below, int depth, struct submodules *ret, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", tree), NULL, &result, err) ==
        -1)
        return -1;
    int rc = 0;
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *line = str_text(&result.out); rc == 0 && line < end; line += strlen(line) + 1)
        rc = add_line(project, line, below, depth, ret, err);
    proc_result_free(&result);
    return rc;
}

int submodule_check_landing(const struct project *project, const struct git *git, const char *old,
                            const char *new, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
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
        _cleanup_free_ char *dir = NULL;
        bool there = true;
        if (is_link && git_is_oid(oid)) {
            find_checkout(project, path, &dir);
            if (dir != NULL)
                rc = has_commit(dir, oid, &there, err);
        }
        if (rc == 0 && !there) {
            str_add_visible(&shown, path, strlen(path));
            rc = err_set(err, MAS_CONFLICT,
                         "submodule '%s' is at commit %.10s, which its checkout in the project "
                         "does not have",
                         shown.data, oid);
            (void)err_hint(err, "fetch it there first, from where it was made");
        }
        line = path < end ? path + strlen(path) + 1 : end;
    }
    proc_result_free(&result);
    return rc;
}
