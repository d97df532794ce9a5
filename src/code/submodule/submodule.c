#include "code/submodule/submodule_internal.h"

#include "code/sparse.h"
#include "os/file.h"
#include "os/path.h"

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
    ret->path = mem_printf("%s/" MODULES_DIR "/%s", repo->git, name);
    if (make && path_make_dirs(ret->path, err) == -1)
        return -1;
    ret->dir = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir == -1 && (make || errno != ENOENT))
        return err_errno(err, "cannot open '%s'", ret->path);
    ret->tree = open(ret->top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return ret->tree == -1 ? err_errno(err, "cannot open '%s'", ret->top) : 0;
}

int submodule_list_write(const struct submodule_place *place, const struct module_list *list,
                         struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < list->count; i++)
        str_addf(&text, "%s %zu %s\n", list->items[i].oid, list->items[i].number,
                 list->items[i].path);
    return file_replace(place->dir, "list", str_text(&text), text.len, 0600, err);
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
    _cleanup_module_list_ struct module_list filled = {.items = NULL};
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
            module_list_add(&filled, item.path, item.oid, i);
    }
    return submodule_list_write(&place, &filled, err);
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
