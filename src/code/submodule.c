#include "code/submodule.h"

#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In code.git: TREE/NUMBER is the index of a submodule, TREE/paths lists them. */
#define SUBMODULES_DIR "submodules"

enum { PATHS_MAX = 1 << 20 }; /* bytes of the list of paths */

/* One submodule, and those in it. */
struct submodule {
    char *path; /* below the work tree */
    char *objects; /* of the person's checkout */
    char oid[GIT_OID_TEXT];
};

struct submodules {
    struct submodule *items;
    size_t count;
};

static void submodules_free(struct submodules *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].path);
        free(all->items[i].objects);
    }
    free(all->items);
}
#define _cleanup_submodules_ __attribute__((cleanup(submodules_free)))

static int refuse(const struct project *project, const char *path, const char *why, struct err *err)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, path, strlen(path));
    (void)err_set(err, MAS_USAGE, "cannot use project '%s': its submodule '%s' %s", project->path,
                  str_text(&shown), why);
    return err_hint(err, "get it there with: git submodule update --init --recursive");
}

/* ---- what the project has */

/* Finds the objects of a submodule's checkout, and that they have its commit. */
static int find_objects(const struct project *project, struct submodule *item, struct err *err)
{
    _cleanup_close_ int top =
        project->top != NULL ? open(project->top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    _cleanup_close_ int dir =
        top != -1 ? path_open_beneath(top, item->path, O_RDONLY | O_DIRECTORY) : -1;
    _cleanup_free_ char *prefix = NULL;
    _cleanup_free_ char *common = NULL;
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", item->oid);
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    const struct git there = {.cwd = dir};

    if (project->top == NULL)
        return refuse(project, item->path, "needs a work tree of it", err);
    /* in a directory that is no checkout, git would find the project around it */
    if (dir == -1 || git_text(&there, GIT_ARGS("rev-parse", "--show-prefix"), &prefix, &ignored) ||
        prefix[0] != '\0' ||
        git_text(&there, GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
                 &common, &ignored) == -1)
        return refuse(project, item->path, "is not checked out", err);
    const struct git git = {.dir = common};
    if (git_run(&git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, err) == -1)
        return -1;
    bool there_is = result.status == 0;
    proc_result_free(&result);
    if (!there_is)
        return refuse(project, item->path, "does not have the commit that the project names", err);
    item->objects = mem_printf("%s/objects", common);
    return 0;
}

static int find_in(const struct project *project, const struct git *git, const char *tree,
                   const char *below, int depth, struct submodules *ret, struct err *err);

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
    if (depth >= SUBMODULE_DEPTH_MAX)
        return refuse(project, added->path, "lies in too many others", err);
    if (find_objects(project, added, err) == -1)
        return -1;
    _cleanup_free_ char *inner = mem_printf("%s/", added->path);
    _cleanup_free_ char *dir =
        mem_dupn(added->objects, strlen(added->objects) - strlen("/objects"));
    _cleanup_free_ char *own = mem_dup(added->oid);
    const struct git git = {.dir = dir};
    return find_in(project, &git, own, inner, depth + 1, ret, err);
}

static int find_in(const struct project *project, const struct git *git, const char *tree,
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

/* ---- work trees */

static struct git submodule_git(const struct repo *repo, const char *tree, const char *index,
                                const char *objects, int cwd)
{
    return (struct git){
        .dir = repo->git, .tree = tree, .index = index, .objects = {objects}, .cwd = cwd};
}

static int fill_tree(const struct repo *repo, const char *name, const struct submodules *all,
                     struct err *err)
{
    _cleanup_free_ char *top = repo_tree(repo, name);
    _cleanup_free_ char *indexes = mem_printf("%s/" SUBMODULES_DIR "/%s", repo->git, name);
    _cleanup_str_ struct str paths = STR_INIT;

    if (path_make_dirs(indexes, err) == -1)
        return -1;
    _cleanup_close_ int dir = open(indexes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int at = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; i < all->count; i++) {
        const struct submodule *item = &all->items[i];
        _cleanup_free_ char *tree = mem_printf("%s/%s", top, item->path);
        _cleanup_free_ char *index = mem_printf("%s/%zu", indexes, i);
        /* git made the directory when it checked out the tree around it */
        _cleanup_close_ int cwd = path_open_beneath(at, item->path, O_RDONLY | O_DIRECTORY);
        if (cwd == -1)
            return err_errno(err, "cannot open '%s'", tree);
        const struct git git = submodule_git(repo, tree, index, item->objects, cwd);
        if (git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", item->oid), NULL, NULL, err) ==
            -1)
            return err_wrap(err, "cannot check out submodule '%s'", item->path);
        str_addf(&paths, "%s\n", item->path);
    }
    return file_create(dir, "paths", paths.data, paths.len, 0600, err);
}

int submodule_make(const struct repo *repo, const struct project *project, const struct team *team,
                   struct err *err)
{
    _cleanup_submodules_ struct submodules all = {.items = NULL};
    const struct git git = repo_git(repo);
    bool viewed = false;

    if (find_in(project, &git, project->base, "", 0, &all, err) == -1)
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

static int check_one(const struct repo *repo, const char *name, const char *path, size_t number,
                     struct str *ret, struct err *err)
{
    _cleanup_free_ char *top = repo_tree(repo, name);
    _cleanup_free_ char *tree = mem_printf("%s/%s", top, path);
    _cleanup_free_ char *index =
        mem_printf("%s/" SUBMODULES_DIR "/%s/%zu", repo->git, name, number);
    _cleanup_close_ int at = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int cwd = at != -1 ? path_open_beneath(at, path, O_RDONLY | O_DIRECTORY) : -1;
    struct proc_result result = PROC_RESULT_INIT;

    if (cwd == -1) { /* the agent removed it */
        str_addn(ret, path, strlen(path) + 1);
        return 0;
    }
    const struct git git = submodule_git(repo, tree, index, NULL, cwd);
    /* its exit code tells that files differ, which is asked next */
    if (git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err) == -1)
        return -1;
    proc_result_free(&result);
    return add_names(&git, GIT_ARGS("diff-files", "-z", "--name-only", "--ignore-submodules=all"),
                     path, ret, err) == -1
               ? -1
               : add_names(&git, GIT_ARGS("ls-files", "-z", "--others"), path, ret, err);
}

int submodule_changed(const struct repo *repo, const char *name, struct str *ret, struct err *err)
{
    _cleanup_free_ char *dir = mem_printf("%s/" SUBMODULES_DIR "/%s", repo->git, name);
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *paths = NULL;
    size_t len = 0;
    size_t number = 0;

    if (fd == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", dir);
    if (file_read(fd, "paths", PATHS_MAX, &paths, &len, err) == -1)
        return -1;
    for (char *rest = paths, *path; (path = strsep(&rest, "\n")) != NULL && path[0] != '\0';)
        if (check_one(repo, name, path, number++, ret, err) == -1)
            return -1;
    return 0;
}
