#include "store/reserve.h"

#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"

#include <sys/statvfs.h>

static const char *const names[RESERVE_COUNT] = {
    [RESERVE_RECORD] = "reserve",
    [RESERVE_MEMORY] = "reserve.memory",
};

/* Returns true if this user can still write so many bytes on the file system of a directory. What
 * only root may use is in f_bfree, but so is what nobody may use. */
static bool has_room(int dir, size_t bytes)
{
    struct statvfs fs;

    return fstatvfs(dir, &fs) == 0 &&
           ((uint64_t)fs.f_bavail * fs.f_frsize >= bytes ||
            (geteuid() == 0 && (uint64_t)fs.f_bfree * fs.f_frsize >= bytes &&
             !file_disk_is_full(dir, bytes)));
}

static bool is_made(int run, const char *name)
{
    struct stat st;

    return fstatat(run, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size >= RESERVE_SIZE;
}

/* Two hosts may do this at the same time: both allocate the same blocks. */
static void make(int run, const char *name)
{
    struct err ignored = ERR_INIT;
    _cleanup_close_ int fd = file_open_own(run, name, O_RDWR | O_CREAT, &ignored);

    /* posix_fallocate() writes where the file system cannot allocate */
    if (fd != -1 && posix_fallocate(fd, 0, RESERVE_SIZE) != 0)
        (void)unlinkat(run, name, 0);
}

void reserve_make(int dir)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);

    for (size_t i = 0; run != -1 && i < RESERVE_COUNT; i++)
        if (!is_made(run, names[i]) &&
            has_room(run, (size_t)RESERVE_SIZE * RESERVE_SHARE * RESERVE_COUNT))
            make(run, names[i]);
}

/* Returns true if there was a reserve. */
static bool give(int dir, enum reserve which)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    struct err ignored = ERR_INIT;

    if (run == -1 || !is_made(run, names[which]))
        return false;
    /* truncated first: another process that has it open must not keep its blocks */
    _cleanup_close_ int fd = file_open_own(run, names[which], O_WRONLY, &ignored);
    bool given = fd != -1 && ftruncate(fd, 0) == 0;
    return unlinkat(run, names[which], 0) == 0 || given;
}

bool reserve_give(int dir, enum reserve which, const struct err *err)
{
    return err_is_full(err) && give(dir, which);
}

void reserve_need(int dir, enum reserve which)
{
    if (!has_room(dir, RESERVE_SIZE / 2))
        (void)give(dir, which);
}

void reserve_drop(int dir)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);

    for (size_t i = 0; run != -1 && i < RESERVE_COUNT; i++)
        (void)unlinkat(run, names[i], 0);
}

bool reserve_is_name(const char *name)
{
    for (size_t i = 0; i < RESERVE_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
