#include "git/in_way.h"

#include "git/raw.h"
#include "os/path.h"
#include "os/tree_walk.h"

struct in_way {
    int tree;
    char **leave; /* files of the old commit that the new one does not have, sorted */
    size_t leave_count;
    char ***ret;
    const char *dir; /* that is searched */
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool leaves(const struct in_way *way, const char *path)
{
    return way->leave_count > 0 &&
           bsearch(&path, way->leave, way->leave_count, sizeof *way->leave, compare) != NULL;
}

static void add(const struct in_way *way, const char *path)
{
    size_t count = strv_len(*way->ret);

    if (count == 0 || strcmp((*way->ret)[count - 1], path) != 0) /* many new files below one */
        strv_push(way->ret, path);
}

/* A directory is free if all in it leaves. */
static int visit(int dir, const char *path, mode_t type, void *arg)
{
    const struct in_way *way = arg;
    _cleanup_free_ char *full = mem_printf("%s/%s", way->dir, path);

    (void)dir;
    if (S_ISDIR(type) || leaves(way, full))
        return 1;
    add(way, full);
    return -1;
}

static void check_dir(struct in_way *way, const char *path)
{
    _cleanup_close_ int dir = path_open_beneath(way->tree, path, O_RDONLY | O_DIRECTORY);

    way->dir = path;
    if (dir == -1)
        add(way, path);
    else
        walk_tree(dir, visit, way);
}

/* Checks the place of one new file, from the top down. */
static void check_place(struct in_way *way, const char *path, bool is_module)
{
    struct stat st;

    for (const char *end = path; *end != '\0'; end += *end == '/') {
        end += strcspn(end, "/");
        _cleanup_free_ char *part = mem_dupn(path, (size_t)(end - path));
        if (fstatat(way->tree, part, &st, AT_SYMLINK_NOFOLLOW) == -1 || leaves(way, part))
            return;
        if (!S_ISDIR(st.st_mode)) {
            add(way, part);
            return;
        }
    }
    if (!is_module) /* whose directory git leaves as it is */
        check_dir(way, path);
}

int in_way_find(const struct git *git, const char *old, const char *new, char ***ret,
                struct err *err)
{
    struct in_way way = {.tree = git->cwd, .ret = ret};
    _cleanup_result_ struct proc_result added = PROC_RESULT_INIT;
    struct raw_row row;

    if (git_must(
            git,
            GIT_ARGS("diff-tree", "-r", "-z", "--raw", "--no-renames", "--diff-filter=A", old, new),
            NULL, &added, err) == -1)
        return -1;
    int rc = git_names(git,
                       GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--no-renames",
                                "--diff-filter=D", old, new),
                       &way.leave, err);
    way.leave_count = strv_len(way.leave);
    if (way.leave_count > 0)
        qsort(way.leave, way.leave_count, sizeof *way.leave, compare);
    for (size_t at = 0; rc == 0 && raw_next(&added.out, &at, &row);)
        check_place(&way, row.path, strcmp(row.new.mode, "160000") == 0);
    strv_free(way.leave);
    return rc;
}

int in_way_check(const struct git *git, const char *old, const char *new, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_str_ struct str shown = STR_INIT;

    if (in_way_find(git, old, new, &names, err) == -1)
        return -1;
    if (names == NULL)
        return 0;
    git_show_names(names, &shown);
    (void)err_set(err, MAS_CONFLICT, "these are in the way: %s", shown.data);
    return err_hint(err, "move them away first");
}
