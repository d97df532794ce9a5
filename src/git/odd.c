#include "git/odd.h"

#include "os/path.h"
#include "os/tree_walk.h"

struct odd_search {
    char *found; /* path of the first one */
    mode_t type;
};

/* Returns true if one of the directories on the path has this name. */
static bool is_in(const char *path, const char *name)
{
    size_t len = strlen(name);

    for (const char *part = path, *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1)
        if ((size_t)(slash - part) == len && memcmp(part, name, len) == 0)
            return true;
    return false;
}

/* Returns true for what git opens by its name wherever it finds it: in a directory of a work tree,
 * or in what a file .git calls a repository. */
static bool git_opens(const char *path)
{
    static const char *const names[] = {".gitignore", ".gitattributes", ".gitmodules",
                                        "HEAD",       "config",         "packed-refs",
                                        "commondir",  "gitdir",         ".git"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return is_in(path, ".git") || is_in(path, "refs");
}

static bool is_odd(mode_t type)
{
    return S_ISFIFO(type) || S_ISCHR(type) || S_ISBLK(type); /* a socket cannot be opened */
}

static int visit(int dir, const char *path, mode_t type, void *arg)
{
    struct odd_search *search = arg;
    const char *slash = strrchr(path, '/');
    struct stat st;
    bool odd = is_odd(type);

    if (S_ISDIR(type))
        return 1;
    if (S_ISLNK(type) && is_in(path, ".git"))
        odd = str_starts(path, ".git/objects/") ||
              (str_starts(path, ".git/modules/") && is_in(path, "objects")) ||
              (fstatat(dir, slash != NULL ? slash + 1 : path, &st, 0) == 0 &&
               (is_odd(st.st_mode) ||
                (S_ISDIR(st.st_mode) && (is_in(path, "refs") || is_in(path, "objects") ||
                                         str_ends(path, "/refs") || str_ends(path, "/objects")))));
    if (!odd || !git_opens(path))
        return 0;
    search->found = mem_dup(path);
    search->type = type;
    return -1;
}

int odd_check(int tree, const char *path, struct err *err)
{
    struct odd_search search = {.found = NULL};
    _cleanup_str_ struct str shown = STR_INIT;
    _cleanup_str_ struct str command = STR_INIT;

    walk_tree(tree, visit, &search);
    if (search.found == NULL)
        return 0;
    _cleanup_free_ char *found = search.found;
    _cleanup_free_ char *full = mem_printf("%s/%s", path, found);
    str_add_visible(&shown, found, strlen(found));
    str_add_shell(&command, full, false);
    (void)err_set(err, MAS_DAMAGED, "'%s' is %s where git needs a file", shown.data,
                  path_type_name(search.type));
    return err_hint(err, "remove it: rm %s", command.data);
}
