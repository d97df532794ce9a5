/* The part of base/path.h that renames without replacing anything. */
#include "base/path.h"

#include <linux/fs.h>
#include <sys/syscall.h>

/* Returns true if the last call failed because the file system knows no flags of renameat2(), or
 * the kernel has no such call. */
static bool has_no_flags(void)
{
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* Returns true if a file cannot have a second name there. */
static bool has_no_links(void)
{
    return errno == EPERM || errno == EMLINK || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* A rename replaces an empty directory at most: all else that came after the look makes it fail. */
static int rename_after_look(int from, const char *name, int to, const char *new_name)
{
    struct stat st;

    if (fstatat(to, new_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (errno != ENOENT)
        return -1;
    if (renameat(from, name, to, new_name) == 0)
        return 0;
    if (errno == ENOTEMPTY)
        errno = EEXIST;
    return -1;
}

int path_rename_new(int from, const char *name, int to, const char *new_name)
{
    struct stat st;

    if (syscall(SYS_renameat2, from, name, to, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    if (!has_no_flags() || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return -1;
    if (S_ISDIR(st.st_mode))
        return rename_after_look(from, name, to, new_name);
    if (linkat(from, name, to, new_name, 0) == 0)
        return unlinkat(from, name, 0);
    return has_no_links() ? rename_after_look(from, name, to, new_name) : -1;
}

int path_exchange(int dir, const char *name, const char *other, const char *spare)
{
    if (syscall(SYS_renameat2, dir, name, dir, other, RENAME_EXCHANGE) == 0)
        return 0;
    if (!has_no_flags() || renameat(dir, other, dir, spare) == -1)
        return -1;
    if (renameat(dir, name, dir, other) == 0)
        return renameat(dir, spare, dir, name);
    int saved = errno;
    (void)renameat(dir, spare, dir, other);
    errno = saved;
    return -1;
}
