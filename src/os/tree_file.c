/*
 * From the cheapest way to the dearest: a hard link if the caller allows it, a clone, a copy inside
 * of the kernel, a copy through a buffer. A way that a file system does not know is not tried
 * again, by any thread; any other failure of one only leads to the next. Mode and time are set
 * last, as the content would change them.
 */

#include "os/tree_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

enum {
    BUFFER_SIZE = 64 * 1024, /* smaller files are copied in one piece */
    EARLY_SIZE = 32 * 1024, /* larger pieces are written to disk at once */
    PIECE_SIZE = 8 * 1024 * 1024, /* maximum between two calls of step() */
};

const char *tree_refusal(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return mode & (S_ISUID | S_ISGID) ? "it is setuid or setgid" : NULL;
    case S_IFDIR:
    case S_IFLNK:
        return NULL;
    case S_IFIFO:
        return "it is a FIFO";
    case S_IFSOCK:
        return "it is a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "it is a device";
    default:
        return "it is of unknown type";
    }
}

/* Reads up to `len` bytes at offset `at` into the buffer, unless an earlier copy left the whole
 * file there. Returns how many; 0 at the end. */
static ssize_t fill_buffer(struct tree_mover *mover, int in, off_t at, size_t len)
{
    ssize_t got;

    if (at == 0 && mover->held != 0 && mover->held == len)
        return (ssize_t)len;
    if (mover->buffer == NULL)
        mover->buffer = mem_grow(NULL, BUFFER_SIZE, 1);
    do
        got = pread(in, mover->buffer, len < BUFFER_SIZE ? len : BUFFER_SIZE, at);
    while (got == -1 && errno == EINTR);
    mover->held = at == 0 && got > 0 ? (size_t)got : 0;
    return got;
}

/* Copies up to `len` bytes at offset `at` through the buffer. Returns how many; 0 at the end. */
static ssize_t copy_buffered(struct tree_mover *mover, int in, int out, off_t at, size_t len)
{
    ssize_t got = fill_buffer(mover, in, at, len);

    for (ssize_t put = 0; put < got;) {
        ssize_t n = pwrite(out, mover->buffer + put, (size_t)(got - put), at + put);
        if (n == -1 && errno != EINTR)
            return -1;
        put += n > 0 ? n : 0;
    }
    return got;
}

/* Like copy_buffered(), but inside the kernel if possible. On any error, the buffered copy
 * decides. */
static ssize_t copy_piece(struct tree_mover *mover, int in, int out, off_t at, size_t len)
{
    if (len > BUFFER_SIZE && !mover->ways->no_range) {
        off_t from = at;
        off_t to = at;
        ssize_t n = copy_file_range(in, &from, out, &to, len, 0);
        if (n > 0)
            return n;
        if (n == -1 &&
            (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS))
            mover->ways->no_range = true;
    }
    return copy_buffered(mover, in, out, at, len);
}

/* Writes each piece to disk while the next one is copied, because a caller that needs a durable
 * copy waits longer for the disk than for the copying. */
static int copy_range(struct tree_mover *mover, int in, int out, off_t at, off_t end)
{
    while (at < end) {
        size_t len = end - at < PIECE_SIZE ? (size_t)(end - at) : PIECE_SIZE;

        if (mover->step(len, mover->arg)) {
            errno = ECANCELED;
            return -1;
        }
        ssize_t n = copy_piece(mover, in, out, at, len);
        if (n <= 0)
            return n == 0 ? 0 : -1;
        if (n >= EARLY_SIZE)
            (void)sync_file_range(out, at, n, SYNC_FILE_RANGE_WRITE);
        at += n;
        mover->ways->bytes += (uint64_t)n;
    }
    return 0;
}

static int copy_sparse(struct tree_mover *mover, int in, int out, off_t size)
{
    off_t end = 0;

    while (end < size) {
        off_t at = lseek(in, end, SEEK_DATA);
        if (at == -1 && errno == ENXIO)
            break;
        if (at == -1) /* the file system does not support this */
            return copy_range(mover, in, out, end, size);
        if (at >= size)
            break;
        end = lseek(in, at, SEEK_HOLE);
        if (end <= at || end > size)
            end = size;
        if (copy_range(mover, in, out, at, end) == -1)
            return -1;
    }
    return ftruncate(out, size);
}

static int copy_content(struct tree_mover *mover, int in, int out, const struct stat *st)
{
    struct tree_ways *ways = mover->ways;

    if (st->st_size == 0)
        return 0;
    if (!ways->no_clone) {
        if (ioctl(out, FICLONE, in) == 0) {
            ways->bytes += (uint64_t)st->st_size;
            return 0;
        }
        if (errno == EOPNOTSUPP || errno == EXDEV || errno == ENOTTY || errno == EINVAL)
            ways->no_clone = true;
    }
    if (st->st_blocks < st->st_size / 512)
        return copy_sparse(mover, in, out, st->st_size);
    return copy_range(mover, in, out, 0, st->st_size);
}

/* Sets mode and time after the content. Reading the mode is cheaper than setting it. */
static int finish(int out, const struct stat *st, mode_t mode)
{
    /* a FUSE file system of libfuse 2 ignores a call that sets one time only */
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, st->st_mtim};
    struct stat made;

    if (fstat(out, &made) == -1)
        return -1;
    if (((made.st_mode ^ mode) & ALLPERMS) != 0 && fchmod(out, mode) == -1)
        return -1;
    return futimens(out, times);
}

/* Makes a hard link if requested and possible. The name may change between the calls, so the linked
 * file is checked again. */
static bool link_readonly(struct tree_ways *ways, int from, int to, const char *name)
{
    const mode_t writable = S_IWUSR | S_IWGRP | S_IWOTH;
    struct stat st;
    struct stat made;

    if (!ways->link_readonly || ways->no_link ||
        fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(st.st_mode) ||
        (st.st_mode & writable) != 0 || tree_refusal(st.st_mode) != NULL)
        return false;
    if (linkat(from, name, to, name, 0) == -1) {
        if (errno == EXDEV || errno == EOPNOTSUPP || errno == ENOSYS)
            ways->no_link = true;
        return false; /* EPERM, EMLINK: only this file */
    }
    if (fstatat(to, name, &made, AT_SYMLINK_NOFOLLOW) == 0 && made.st_ino == st.st_ino &&
        made.st_mode == st.st_mode)
        return true;
    (void)unlinkat(to, name, 0);
    return false;
}

/* Copies the file that is open as `in`. */
static int copy_opened(struct tree_mover *mover, int in, const struct stat *st, int to,
                       const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    mode_t mode = st->st_mode & TREE_MODE_BITS & ~mover->ways->without;
    _cleanup_close_ int out = openat(to, name, flags, mode);

    if (out == -1 || copy_content(mover, in, out, st) == -1 || finish(out, st, mode) == -1)
        return -1;
    int fd = TAKE_FD(out);
    /* some file systems report errors only now */
    return close(fd) == -1 && errno != EINTR ? -1 : 0;
}

int tree_file_copy(struct tree_mover *mover, const struct tree_source *source, const int *to,
                   size_t copies, const char **ret_why)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    struct stat st;

    if (copies == 1 && link_readonly(mover->ways, source->dir, to[0], source->name))
        return 0;
    /* Non-blocking: the entry may have become a FIFO since it was listed. */
    _cleanup_close_ int in = openat(source->dir, source->name, flags);
    if (in == -1 || fstat(in, &st) == -1)
        return -1;
    const char *why = S_ISDIR(st.st_mode) ? "it has become a directory" : tree_refusal(st.st_mode);
    if (why != NULL) {
        *ret_why = why;
        return -1;
    }
    mover->held = 0;
    for (size_t i = 0; i < copies; i++)
        if (copy_opened(mover, in, &st, to[i], source->name) == -1)
            return -1;
    return 0;
}

int tree_link_copy(int from, int to, const char *name)
{
    char target[PATH_MAX];
    struct stat st;

    ssize_t len = readlinkat(from, name, target, sizeof(target));
    if (len == -1 || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return -1;
    if ((size_t)len == sizeof(target)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    target[len] = '\0';

    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, st.st_mtim};
    if (symlinkat(target, to, name) == -1)
        return -1;
    return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
}
