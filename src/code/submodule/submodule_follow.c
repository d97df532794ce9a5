/*
 * The order is: are they current, what does the commit want, has anybody changed what would have to
 * go; then those are emptied, the inner ones first, and the missing ones filled. The list of a work
 * tree loses a submodule before its files go, and gets one after its files have come: whatever a
 * kill leaves is then taken for the agent's work, which mas does not remove.
 */

#include "code/submodule/submodule_internal.h"

#include "code/sparse.h"
#include "code/work.h"
#include "os/path.h"
#include "store/team_file.h"

static bool is_filled(const struct module_list *list, const char *path, const char *oid)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].path, path) == 0 &&
            (oid == NULL || strcmp(list->items[i].oid, oid) == 0))
            return true;
    return false;
}

static bool is_wanted(const struct submodules *wanted, const char *path, const char *oid)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->items[i].path, path) == 0 &&
            (oid == NULL || strcmp(wanted->items[i].oid, oid) == 0))
            return true;
    return false;
}

/* Counts the submodules that the list has at the same commit. */
struct current {
    const struct module_list *list;
    size_t found;
    bool differs;
};

static int compare_link(const char *path, const char *oid, void *arg, struct err *err)
{
    struct current *current = arg;

    (void)err;
    current->differs = current->differs || !is_filled(current->list, path, oid);
    current->found++;
    return 0;
}

/* Finds out whether a commit names exactly the submodules in the list that lie in no other. */
static int is_current(const struct git *git, const char *commit, const struct module_list *list,
                      bool *ret, struct err *err)
{
    struct current current = {.list = list};
    size_t tops = 0;

    for (size_t i = 0; i < list->count; i++) {
        bool inner = false;
        for (size_t j = 0; j < list->count; j++) {
            size_t len = strlen(list->items[j].path);
            inner = inner || (strncmp(list->items[i].path, list->items[j].path, len) == 0 &&
                              list->items[i].path[len] == '/');
        }
        tops += !inner;
    }
    if (module_links(git, commit, compare_link, &current, err) == -1)
        return -1;
    *ret = !current.differs && current.found == tops;
    return 0;
}

/* Removes the files of a submodule, which nobody has changed, and the submodule from the list. The
 * list comes first: files that are left by a kill then count as work. */
static int empty_one(const struct submodule_place *place, const struct stranger *outer,
                     struct module_list *list, size_t i, struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    struct module item = list->items[i];
    const struct git repository = {.dir = place->repo->git};
    _cleanup_free_ char *path = item.path;
    _cleanup_free_ char *index = mem_printf("%s/%zu", place->path, item.number);
    _cleanup_free_ char *none = NULL;
    bool there = false;

    memmove(list->items + i, list->items + i + 1, (list->count - i - 1) * sizeof *list->items);
    list->count--;
    if (submodule_list_write(place, list, err) == -1 ||
        git_text(&repository, GIT_ARGS("hash-object", "-t", "tree", "--stdin"), &none, err) == -1 ||
        module_open(outer, path, item.oid, &module, &there, err) == -1)
        return -1;
    /* what is checked out may be a commit of the agent, which was merged */
    const struct git git = submodule_git(place->repo, module.tree, index, module.cwd);
    if (there &&
        (git_must(&git, GIT_ARGS("read-tree", "--reset", module.head), NULL, NULL, err) == -1 ||
         git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", none), NULL, NULL, err) == -1))
        return err_wrap(err, "cannot remove submodule '%s'", path);
    (void)unlink(index);
    return 0;
}

/* Removes a directory and those around it, as far as they are empty: git could not, while there
 * were files in it. */
static void remove_dirs(int tree, char *path)
{
    for (char *slash = path; slash != NULL && unlinkat(tree, path, AT_REMOVEDIR) == 0;) {
        slash = strrchr(path, '/');
        if (slash != NULL)
            *slash = '\0';
    }
}

/* Fails if a submodule was changed: a file in it, or what is checked out there, unless that was
 * merged. */
static int check_one(const struct stranger *outer, const struct module *item, struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    bool there = false;
    bool known = true;

    if (module_open(outer, item->path, item->oid, &module, &there, err) == -1 ||
        (there && work_changed(&module, true, &names, err) == -1) ||
        (there && strcmp(module.head, item->oid) != 0 &&
         submodule_is_known(outer->repo, module.head, &known, err) == -1))
        return -1;
    if (names.len == 0 && known)
        return 0;
    str_add_visible(&shown, item->path, strlen(item->path));
    if (names.len > 0) {
        str_addc(&shown, '/');
        str_add_visible(&shown, names.data, strlen(names.data));
    }
    return err_set(err, MAS_CONFLICT, "'%s' was changed there", shown.data);
}

/* Empties the submodules that are wanted no more, or at another commit, the inner ones first. */
static int empty_others(const struct submodule_place *place, const struct stranger *outer,
                        struct module_list *list, const struct submodules *wanted, struct err *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (!is_wanted(wanted, list->items[i].path, list->items[i].oid) &&
            check_one(outer, &list->items[i], err) == -1)
            return -1;
    for (size_t i = list->count; i-- > 0;) {
        _cleanup_free_ char *path = mem_dup(list->items[i].path);
        if (is_wanted(wanted, path, list->items[i].oid))
            continue;
        if (empty_one(place, outer, list, i, err) == -1)
            return -1;
        if (is_wanted(wanted, path, NULL))
            continue;
        _cleanup_close_ int dir = path_open_beneath(place->tree, path, O_RDONLY | O_DIRECTORY);
        if (dir != -1)
            (void)unlinkat(dir, ".git", 0); /* the repository itself stays in .git/modules */
        fd_closep(&dir);
        remove_dirs(place->tree, path);
    }
    return 0;
}

/* Fills those that are missing; `before` had those that were filled. Another one that has files is
 * the agent's. */
static int fill_others(const struct submodule_place *place, struct module_list *list,
                       const struct module_list *before, const struct submodules *wanted,
                       struct err *err)
{
    size_t number = 0;
    bool there = false;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].number >= number)
            number = list->items[i].number + 1;
    for (size_t i = 0; i < wanted->count; i++) {
        struct submodule item = wanted->items[i];
        if (is_filled(list, item.path, item.oid) ||
            (!is_filled(before, item.path, NULL) && !module_is_empty(place->tree, item.path)))
            continue;
        item.number = number++;
        if (submodule_fill(place, &item, &there, err) == -1)
            return -1;
        if (there)
            module_list_add(list, item.path, item.oid, item.number);
    }
    return submodule_list_write(place, list, err);
}

/* Reads the project that the team works on. */
static int open_project(const struct repo *repo, struct project *ret, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int dir = open(repo->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", repo->workspace);
    return team_file_load(dir, &team, err) == -1
               ? -1
               : project_reopen(team.project.path != NULL ? team.project.path : "", ret, err);
}

static int follow(const struct submodule_place *place, const struct stranger *outer,
                  const char *commit, struct err *err)
{
    _cleanup_module_list_ struct module_list list = {.items = NULL};
    _cleanup_module_list_ struct module_list before = {.items = NULL};
    _cleanup_submodules_ struct submodules wanted = {.is_sparse = sparse_is_used(place->repo->git),
                                                     .filled = &list};
    _cleanup_project_ struct project project = PROJECT_INIT;
    const struct git git = repo_git(place->repo);
    bool current = false;

    if (module_list_read(place->repo, place->name, &list, err) == -1)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        module_list_add(&before, list.items[i].path, list.items[i].oid, list.items[i].number);
    if (is_current(&git, commit, &list, &current, err) == -1)
        return -1;
    if (current)
        return 0;
    return open_project(place->repo, &project, err) == -1 ||
                   submodules_find(place->repo, &project, commit, NULL, 0, &wanted, err) == -1 ||
                   empty_others(place, outer, &list, &wanted, err) == -1 ||
                   fill_others(place, &list, &before, &wanted, err) == -1
               ? -1
               : 0;
}

int submodule_follow(const struct repo *repo, const char *name, const char *commit, struct err *err)
{
    _cleanup_submodule_place_ struct submodule_place place = SUBMODULE_PLACE_INIT;
    _cleanup_stranger_ struct stranger outer = STRANGER_INIT;
    _cleanup_free_ char *path = mem_printf("%s/" MODULES_DIR "/%s", repo->git, name);

    if (access(path, F_OK) == -1)
        return 0; /* the session began without submodules */
    return (strcmp(name, CODE_VIEW) == 0 ? stranger_open_view(repo, &outer, err)
                                         : stranger_open(repo, name, &outer, err)) == -1 ||
                   submodule_place_open(repo, name, false, &place, err) == -1 ||
                   follow(&place, &outer, commit, err) == -1
               ? err_wrap(err, "cannot update the submodules of '" CODE_DIR "/%s'", name)
               : 0;
}
