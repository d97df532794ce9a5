#include "git/locks.h"

#include "os/path.h"
#include "os/proc.h"

enum { DEPTH_MAX = 32 }; /* directories below refs/ */

bool lock_is_left(const char *lock, const char *tree)
{
    _cleanup_free_ char *real = tree != NULL ? path_canonical(tree) : NULL;
    struct stat st;

    return lstat(lock, &st) == 0 && proc_with_file(st.st_dev, st.st_ino) == 0 &&
           (real == NULL || proc_working_below(real, "git") == 0);
}

/* Returns true for a lock, and for an object or pack that was not written to its end. */
static bool is_temporary(const char *name, const char *below)
{
    return str_starts(below, "objects/")
               ? str_starts(name, "tmp_") || str_starts(name, ".tmp-")
               : str_ends(name, ".lock") && strcmp(below, "mas.lock") != 0;
}

/* Searches a directory; `name` is its path below the repository, "" for the repository itself,
 * where only locks of its own are looked for. */
static int search(int dir, const char *path, const char *name, const char *tree, int depth,
                  char ***ret, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    struct stat st;

    if (depth > DEPTH_MAX)
        return 0;
    if (path_list(dir, &names, err) == -1)
        return -1;
    for (char **entry = names; *entry != NULL; entry++) {
        _cleanup_free_ char *below =
            name[0] == '\0' ? mem_dup(*entry) : mem_printf("%s/%s", name, *entry);
        _cleanup_free_ char *full = mem_printf("%s/%s", path, below);
        if (fstatat(dir, *entry, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        if (S_ISDIR(st.st_mode) &&
            (name[0] != '\0' || strcmp(*entry, "refs") == 0 || strcmp(*entry, "objects") == 0 ||
             strcmp(*entry, "worktrees") == 0)) {
            _cleanup_close_ int sub = path_open_dir(dir, *entry);
            if (sub != -1 && search(sub, path, below, tree, depth + 1, ret, err) == -1)
                return -1;
        } else if (S_ISREG(st.st_mode) && is_temporary(*entry, below) && lock_is_left(full, tree)) {
            strv_push(ret, below);
        }
    }
    return 0;
}

int lock_find_left(int dir, const char *path, const char *tree, char ***ret, struct err *err)
{
    return search(dir, path, "", tree, 0, ret, err);
}
