#include "code/submodule_internal.h"

#include "base/file.h"
#include "base/path.h"
#include "code/index.h"
#include "code/sparse.h"
#include "code/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST "list"
#define LIST_BEFORE "paths" /* of an earlier version: only the paths */

enum {
    LIST_MAX = 1 << 20, /* bytes */
    LOOK_WAIT_MS = 10000, /* for another process that looks */
};

void submodules_free(struct submodules *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].path);
        free(all->items[i].checkout);
        free(all->items[i].module);
        free(all->items[i].url);
    }
    free(all->items);
}
/* ---- work trees */

/* The patterns of a sparse checkout are those of the project, not of a submodule. */
struct git submodule_git(const struct repo *repo, const char *tree, const char *index, int cwd)
{
    static const char *const settings[] = {"core.sparseCheckout=false", NULL};

    return (struct git){.dir = repo->git,
                        .tree = tree,
                        .index = index,
                        .confined = true,
                        .cwd = cwd,
                        .settings = settings};
}

void submodule_place_free(struct submodule_place *place)
{
    free(place->top);
    free(place->path);
    fd_closep(&place->tree);
    fd_closep(&place->dir);
}
int submodule_place_open(const struct repo *repo, const char *name, bool make,
                         struct submodule_place *ret, struct err *err)
{
    ret->repo = repo;
    ret->name = name;
    ret->top = repo_tree(repo, name);
    ret->path = mem_printf("%s/" SUBMODULES_DIR "/%s", repo->git, name);
    if (make && path_make_dirs(ret->path, err) == -1)
        return -1;
    ret->dir = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir == -1 && (make || errno != ENOENT))
        return err_errno(err, "cannot open '%s'", ret->path);
    ret->tree = open(ret->top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return ret->tree == -1 ? err_errno(err, "cannot open '%s'", ret->top) : 0;
}

int submodules_write(const struct submodule_place *place, const struct submodules *list,
                     struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < list->count; i++)
        str_addf(&text, "%s %zu %s\n", list->items[i].oid, list->items[i].number,
                 list->items[i].path);
    return file_replace(place->dir, LIST, str_text(&text), text.len, 0600, err);
}

struct submodule *submodules_add(struct submodules *list, const char *path, const char *oid,
                                 size_t number)
{
    list->items = mem_grow(list->items, list->count + 1, sizeof *list->items);
    struct submodule *item = &list->items[list->count++];
    *item = (struct submodule){.path = mem_dup(path), .number = number};
    (void)git_parse_oid(oid, item->oid);
    return item;
}

int submodules_read(const struct submodule_place *place, struct submodules *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;
    bool before = file_read(place->dir, LIST, LIST_MAX, &text, &len, &why) == -1;

    if (before && why.number == ENOENT
            ? file_read(place->dir, LIST_BEFORE, LIST_MAX, &text, &len, err) == -1
            : before) {
        if (why.number != ENOENT)
            *err = why;
        return err_wrap(err, "cannot read '%s'", place->path);
    }
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        char *number = before ? NULL : strchr(line, ' ');
        char *path = number != NULL ? strchr(number + 1, ' ') : NULL;
        if (before) {
            (void)submodules_add(ret, line, "", ret->count);
        } else if (path != NULL) {
            *number = *path = '\0';
            (void)submodules_add(ret, path + 1, line, strtoul(number + 1, NULL, 10));
        }
    }
    return 0;
}

int submodule_fill(const struct submodule_place *place, const struct submodule *item, bool *ret,
                   struct err *err)
{
    _cleanup_free_ char *tree = mem_printf("%s/%s", place->top, item->path);
    _cleanup_free_ char *index = mem_printf("%s/%zu", place->path, item->number);
    _cleanup_close_ int cwd = path_open_beneath(place->tree, item->path, O_RDONLY | O_DIRECTORY);

    *ret = cwd != -1;
    if (cwd == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", tree);
    const struct git git = submodule_git(place->repo, tree, index, cwd);
    return git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", item->oid), NULL, NULL, err) ==
                       -1 ||
                   submodule_repo_set(place, item, cwd, err) == -1
               ? err_wrap(err, "cannot check out submodule '%s'", item->path)
               : 0;
}

static int fill_tree(const struct repo *repo, const char *name, const struct submodules *all,
                     struct err *err)
{
    _cleanup_submodule_place_ struct submodule_place place = SUBMODULE_PLACE_INIT;
    _cleanup_submodules_ struct submodules filled = {.items = NULL};
    bool there = false;

    if (submodule_place_open(repo, name, true, &place, err) == -1)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        struct submodule item = all->items[i];
        item.number = i;
        if (submodule_fill(&place, &item, &there, err) == -1)
            return -1;
        if (!there && !all->is_sparse)
            return err_set(err, MAS_FAILED, "cannot check out submodule '%s': it has no directory",
                           item.path);
        if (there)
            (void)submodules_add(&filled, item.path, item.oid, i);
    }
    return submodules_write(&place, &filled, err);
}

int submodule_make(const struct repo *repo, const struct project *project, const struct team *team,
                   char ***notes, struct err *err)
{
    _cleanup_submodules_ struct submodules all = {.is_sparse = sparse_is_used(repo->git),
                                                  .notes = notes};
    bool viewed = false;

    if (submodules_find(repo, project, project->base, NULL, 0, &all, err) == -1)
        return -1;
    for (size_t i = 0; all.count > 0 && i < team->agent_count; i++) {
        const char *name = repo_dir_of(team, &team->agents[i]);
        bool view = name != NULL && strcmp(name, CODE_VIEW) == 0;
        if (name == NULL || (view && viewed))
            continue;
        viewed = viewed || view;
        if (fill_tree(repo, name, &all, err) == -1)
            return -1;
    }
    return 0;
}

/* ---- what was changed */

/* Appends "<path>/<name>" for each file that git names. */
static int add_names(const struct git *git, const char *const *args, const char *path,
                     struct str *ret, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *name = str_text(&result.out); name < end; name += strlen(name) + 1) {
        str_addf(ret, "%s/%s", path, name);
        str_addc(ret, '\0');
    }
    proc_result_free(&result);
    return 0;
}

/* Reads what an agent has checked out in a submodule: a commit of its own that was merged counts as
 * the one that mas put there. Others are work. */
static int read_head(const struct submodule_place *place, const struct submodule *item,
                     const struct git *git, struct str *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_free_ char *name = mem_printf("%s/.git", item->path);
    struct err why = ERR_INIT;
    bool there = false;
    bool known = false;

    if (submodule_repo_open(place->repo, place->name, item->path, &module, &there, &why) == -1) {
        str_addn(ret, name, strlen(name) + 1);
        return 0;
    }
    if (!there)
        return 0;
    if (submodule_has_commit(place->repo->git, module.head, &known, err) == -1 ||
        submodule_repo_check_one(&module, name, ret, err) == -1)
        return -1;
    return !known || strcmp(module.head, item->oid) == 0
               ? 0
               : git_must(git, GIT_ARGS("read-tree", module.head), NULL, NULL, err);
}

/* Appends what was changed in one submodule, with a copy of its index. */
static int check_with(const struct submodule_place *place, const struct submodule *item,
                      const char *index, struct str *ret, struct err *err)
{
    _cleanup_free_ char *tree = mem_printf("%s/%s", place->top, item->path);
    _cleanup_close_ int cwd = path_open_beneath(place->tree, item->path, O_RDONLY | O_DIRECTORY);
    struct proc_result result = PROC_RESULT_INIT;

    if (cwd == -1) { /* the agent removed it */
        str_addn(ret, item->path, strlen(item->path) + 1);
        return 0;
    }
    const struct git git = submodule_git(place->repo, tree, index, cwd);
    if (read_head(place, item, &git, ret, err) == -1)
        return -1;
    /* its exit code tells that files differ, which is asked next */
    if (git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err) == -1)
        return -1;
    proc_result_free(&result);
    return add_names(&git, GIT_ARGS("diff-files", "-z", "--name-only", "--ignore-submodules=all"),
                     item->path, ret, err) == -1
               ? -1
               : add_names(&git, GIT_ARGS("ls-files", "-z", "--others"), item->path, ret, err);
}

/* Likewise; makes the copy, named by `use`, and removes it. */
static int check_copy(const struct submodule_place *place, const struct submodule *item,
                      const char *use, struct str *ret, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%zu", item->number);
    _cleanup_free_ char *copy = mem_printf("%zu.%s", item->number, use);
    _cleanup_free_ char *lock = mem_printf("%s.lock", copy); /* of a git that was killed */
    _cleanup_free_ char *index = mem_printf("%s/%s", place->path, copy);

    (void)unlinkat(place->dir, copy, 0);
    (void)unlinkat(place->dir, lock, 0);
    int rc = index_copy(place->dir, name, place->dir, copy, err) == -1
                 ? -1
                 : check_with(place, item, index, ret, err);
    (void)unlinkat(place->dir, copy, 0);
    return rc;
}

int submodule_check(const struct submodule_place *place, const struct submodule *item,
                    struct str *ret, struct err *err)
{
    return check_copy(place, item, "check", ret, err);
}

int submodule_changed(const struct repo *repo, const char *name, struct str *ret, struct err *err)
{
    _cleanup_submodule_place_ struct submodule_place place = SUBMODULE_PLACE_INIT;
    _cleanup_submodules_ struct submodules list = {.items = NULL};

    if (submodule_place_open(repo, name, false, &place, err) == -1 ||
        submodule_repo_check(&place, ret, err) == -1 ||
        (place.dir != -1 && submodules_read(&place, &list, err) == -1))
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (submodule_check(&place, &list.items[i], ret, err) == -1)
            return -1;
    return 0;
}

int submodule_count(const struct repo *repo, const char *name, size_t *ret, struct err *err)
{
    _cleanup_submodule_place_ struct submodule_place place = SUBMODULE_PLACE_INIT;
    _cleanup_submodules_ struct submodules list = {.items = NULL};
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_close_ int lock = -1;

    *ret = 0;
    if (submodule_place_open(repo, name, false, &place, err) == -1)
        return -1;
    if (place.dir == -1)
        return 0;
    if (file_lock(place.dir, "looks", LOOK_WAIT_MS, "look", &lock, err) == -1)
        return err_wrap(err, "cannot look at the submodules");
    if (submodules_read(&place, &list, err) == -1)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (check_copy(&place, &list.items[i], "look", &names, err) == -1)
            return -1;
    for (size_t i = 0; i < names.len; i++)
        *ret += names.data[i] == '\0';
    return 0;
}
