#include "code/submodule_internal.h"

#include "base/path.h"
#include "code/sparse.h"
#include "code/stranger.h"
#include "store/team_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct submodule *find_item(const struct submodules *list, const char *path,
                                         const char *oid)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].path, path) == 0 && strcmp(list->items[i].oid, oid) == 0)
            return &list->items[i];
    return NULL;
}

/* Returns true if the lines of ls-tree name exactly the submodules in the list that lie in no
 * other. */
static bool is_current(const struct str *lines, const struct submodules *list)
{
    static const char link[] = "160000 commit ";
    const char *end = str_text(lines) + lines->len;
    size_t found = 0;
    size_t tops = 0;

    for (const char *line = str_text(lines); line < end; line += strlen(line) + 1) {
        const char *tab = strchr(line, '\t');
        if (!str_starts(line, link) || tab == NULL)
            continue;
        _cleanup_free_ char *oid =
            mem_dupn(line + strlen(link), (size_t)(tab - line) - strlen(link));
        if (find_item(list, tab + 1, oid) == NULL)
            return false;
        found++;
    }
    for (size_t i = 0; i < list->count; i++) {
        bool inner = false;
        for (size_t j = 0; j < list->count; j++) {
            size_t len = strlen(list->items[j].path);
            inner = inner || (strncmp(list->items[i].path, list->items[j].path, len) == 0 &&
                              list->items[i].path[len] == '/');
        }
        tops += !inner;
    }
    return found == tops;
}

/* Has the index name the files of the commit that the agent has checked out, which was merged. */
static int read_head(const struct submodule_place *place, const char *path, const struct git *git,
                     struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    bool there = false;

    if (submodule_repo_open(place->repo, place->name, path, &module, &there, err) == -1)
        return -1;
    return !there ? 0
                  : git_must(git, GIT_ARGS("read-tree", "--reset", module.head), NULL, NULL, err);
}

/* Removes the files of a submodule, which nobody has changed, and the submodule from the list. The
 * list comes first: files that are left by a kill then count as work. */
static int empty_one(const struct submodule_place *place, struct submodules *list, size_t i,
                     struct err *err)
{
    struct submodule item = list->items[i];
    const struct git repository = {.dir = place->repo->git};
    _cleanup_free_ char *path = item.path;
    _cleanup_free_ char *tree = mem_printf("%s/%s", place->top, path);
    _cleanup_free_ char *index = mem_printf("%s/%zu", place->path, item.number);
    _cleanup_free_ char *none = NULL;
    _cleanup_close_ int cwd = path_open_beneath(place->tree, path, O_RDONLY | O_DIRECTORY);

    free(item.checkout);
    free(item.module);
    free(item.url);
    memmove(list->items + i, list->items + i + 1, (list->count - i - 1) * sizeof *list->items);
    list->count--;
    if (submodules_write(place, list, err) == -1 ||
        git_text(&repository, GIT_ARGS("hash-object", "-t", "tree", "--stdin"), &none, err) == -1)
        return -1;
    const struct git git = submodule_git(place->repo, tree, index, cwd);
    if (read_head(place, path, &git, err) == -1 ||
        git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", none), NULL, NULL, err) == -1)
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

/* Empties the submodules that the list lacks or has at another commit, the inner ones first. */
static int empty_others(const struct submodule_place *place, struct submodules *list,
                        const struct submodules *wanted, struct err *err)
{
    _cleanup_str_ struct str changed = STR_INIT;

    for (size_t i = 0; i < list->count; i++)
        if (find_item(wanted, list->items[i].path, list->items[i].oid) == NULL &&
            submodule_check(place, &list->items[i], &changed, err) == -1)
            return -1;
    if (changed.len > 0)
        return err_set(err, MAS_CONFLICT, "'%s' was changed there", changed.data);
    for (size_t i = list->count; i-- > 0;) {
        _cleanup_free_ char *path = mem_dup(list->items[i].path);
        if (find_item(wanted, path, list->items[i].oid) != NULL)
            continue;
        if (empty_one(place, list, i, err) == -1)
            return -1;
        bool stays = false;
        for (size_t j = 0; j < wanted->count; j++)
            stays = stays || strcmp(wanted->items[j].path, path) == 0;
        if (stays)
            continue;
        _cleanup_close_ int dir = path_open_beneath(place->tree, path, O_RDONLY | O_DIRECTORY);
        if (dir != -1)
            (void)unlinkat(dir, ".git", 0); /* the repository itself stays in .git/modules */
        fd_closep(&dir);
        remove_dirs(place->tree, path);
    }
    return 0;
}

static int fill_others(const struct submodule_place *place, struct submodules *list,
                       const struct submodules *wanted, struct err *err)
{
    size_t number = 0;
    bool there = false;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].number >= number)
            number = list->items[i].number + 1;
    for (size_t i = 0; i < wanted->count; i++) {
        struct submodule item = wanted->items[i];
        if (find_item(list, item.path, item.oid) != NULL)
            continue;
        item.number = number++;
        if (submodule_fill(place, &item, &there, err) == -1)
            return -1;
        if (there)
            (void)submodules_add(list, item.path, item.oid, item.number);
    }
    return submodules_write(place, list, err);
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

static int follow(const struct submodule_place *place, const char *commit, struct err *err)
{
    _cleanup_submodules_ struct submodules list = {.items = NULL};
    _cleanup_submodules_ struct submodules wanted = {.is_sparse = sparse_is_used(place->repo->git),
                                                     .filled = &list};
    _cleanup_project_ struct project project = PROJECT_INIT;
    const struct git git = repo_git(place->repo);
    struct proc_result result = PROC_RESULT_INIT;

    if (submodules_read(place, &list, err) == -1)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].oid[0] == '\0')
            return 0; /* of an earlier version */
    if (git_must(&git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", commit), NULL, &result,
                 err) == -1)
        return -1;
    bool current = is_current(&result.out, &list);
    proc_result_free(&result);
    if (current)
        return 0;
    return open_project(place->repo, &project, err) == -1 ||
                   submodules_find(place->repo, &project, commit, NULL, 0, &wanted, err) == -1 ||
                   empty_others(place, &list, &wanted, err) == -1 ||
                   fill_others(place, &list, &wanted, err) == -1
               ? -1
               : 0;
}

int submodule_follow(const struct repo *repo, const char *name, const char *commit, struct err *err)
{
    _cleanup_submodule_place_ struct submodule_place place = SUBMODULE_PLACE_INIT;
    _cleanup_free_ char *path = mem_printf("%s/" SUBMODULES_DIR "/%s", repo->git, name);

    if (access(path, F_OK) == -1)
        return 0; /* the session began without submodules */
    return submodule_place_open(repo, name, false, &place, err) == -1 ||
                   follow(&place, commit, err) == -1
               ? err_wrap(err, "cannot update the submodules of '" CODE_DIR "/%s'", name)
               : 0;
}
