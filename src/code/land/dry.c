#include "code/land/dry.h"

#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#include <sys/file.h>

#define TMP "/tmp"
#define PREFIX "mas-land."

/* Returns true if the directory open at `fd` is this user's, and nobody holds its lock. */
static bool is_left(int fd)
{
    struct stat st;

    return fd != -1 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Removes what killed commands of this user have left. */
static void sweep(void)
{
    _cleanup_close_ int tmp = open(TMP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (tmp == -1 || path_list(tmp, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_close_ int fd = str_starts(*name, PREFIX) ? path_open_dir(tmp, *name) : -1;
        if (is_left(fd))
            (void)tree_remove(tmp, *name, &ignored);
    }
}

int dry_begin(struct dry *ret, struct err *err)
{
    struct err ignored = ERR_INIT;

    sweep();
    for (;;) {
        char path[] = TMP "/" PREFIX "XXXXXX";
        if (mkdtemp(path) == NULL)
            return err_errno(err, "cannot create a directory in " TMP);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd == -1 || flock(fd, LOCK_EX) == -1) {
            (void)err_errno(err, "cannot lock '%s'", path);
            (void)tree_remove_path(path, &ignored);
            return -1;
        }
        if (file_is_named(AT_FDCWD, path, fd, NULL)) { /* else a sweep was faster */
            *ret = (struct dry){.path = mem_dup(path), .fd = TAKE_FD(fd)};
            return 0;
        }
    }
}

void dry_end(struct dry *dry)
{
    struct err ignored = ERR_INIT;

    if (dry->path != NULL)
        (void)tree_remove_path(dry->path, &ignored);
    free(dry->path);
    fd_closep(&dry->fd);
    *dry = (struct dry)DRY_INIT;
}
