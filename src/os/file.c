/*
 * What exists is opened without following a link and then examined by its descriptor, since an
 * agent may put anything under a name in its directories. A lock is only good on the file that
 * still has the name once it is held, so file_lock() begins again if that is another one. How it
 * waits, and why by polling, stands above lock_within().
 */

#include "os/file.h"

#include "base/time.h"
#include "os/path.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#define TOO_LARGE "cannot read '%s': it is larger than %zu bytes"

/* Sets an error with a number that says what is wrong with a file. Returns -1. */
PRINTF_LIKE(3, 4)
static int fault(struct err *err, int number, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)err_vset(err, MAS_FAILED, fmt, args);
    va_end(args);
    err->number = number;
    return -1;
}

int file_read(int dir, const char *name, size_t max, char **ret, size_t *ret_len, struct err *err)
{
    struct stat st;
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot read '%s'", name);
    if (!S_ISREG(st.st_mode))
        return fault(err, EINVAL, "cannot read '%s': it is not a regular file", name);
    if (st.st_size < 0 || (size_t)st.st_size > max)
        return fault(err, EFBIG, TOO_LARGE, name, max);
    size_t room = (size_t)st.st_size;
    _cleanup_free_ char *text = mem_alloc(room + 1);
    size_t len = 0;
    while (len < room) {
        ssize_t n = read(fd, text + len, room - len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot read '%s'", name);
        if (n == 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    text = NULL;
    return 0;
}

bool file_is(int dir, const char *name, const char *text, size_t len)
{
    _cleanup_free_ char *there = NULL;
    struct err ignored = ERR_INIT;
    size_t there_len = 0;

    return file_read(dir, name, len, &there, &there_len, &ignored) == 0 && there_len == len &&
           memcmp(there, text, len) == 0;
}

int file_read_stream(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
                     struct err *err)
{
    enum { FIRST = 16384 }; /* most files are read by one call, and their end by another */
    _cleanup_str_ struct str text = STR_INIT;

    str_reserve(&text, FIRST);
    for (;;) {
        if (text.cap - text.len - 1 == 0)
            str_reserve(&text, text.len);
        ssize_t n = read(fd, text.data + text.len, text.cap - text.len - 1);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot read '%s'", name);
        if (n == 0)
            break;
        text.len += (size_t)n;
        text.data[text.len] = '\0';
        if (text.len > max)
            return fault(err, EFBIG, TOO_LARGE, name, max);
    }
    *ret_len = text.len;
    *ret = str_steal(&text);
    return 0;
}

bool file_is_no_own(const struct err *err)
{
    return err->number == ELOOP || err->number == EMLINK || err->number == EINVAL ||
           err->number == EISDIR;
}

int file_read_if_there(int dir, const char *name, size_t max, char **ret, size_t *ret_len,
                       struct err *err)
{
    struct err why = ERR_INIT;

    if (file_read(dir, name, max, ret, ret_len, &why) == 0)
        return 1;
    if (why.number == ENOENT)
        return 0;
    *err = why;
    return -1;
}

int file_in_memory(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

bool file_is_wrong(const struct err *err)
{
    return err->number == ENOENT || err->number == ELOOP || err->number == EINVAL ||
           err->number == EFBIG;
}

size_t file_write_most(int fd, const void *bytes, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(fd, (const char *)bytes + done, len - done);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            break;
        done += (size_t)n;
    }
    return done;
}

int file_write_all(int fd, const void *bytes, size_t len)
{
    return file_write_most(fd, bytes, len) == len ? 0 : -1;
}

int file_open_own(int dir, const char *name, int flags, struct err *err)
{
    struct stat st;
    _cleanup_close_ int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot open '%s'", name);
    if (!S_ISREG(st.st_mode))
        return fault(err, EINVAL, "cannot open '%s': it is %s", name, path_type_name(st.st_mode));
    if (st.st_nlink > 1) {
        (void)fault(err, EMLINK, "cannot open '%s': it has several names (hard links)", name);
        return err_hint(err, "mas writes only to files with a single name; remove the other names");
    }
    return TAKE_FD(fd);
}

mode_t file_umask(void)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return mask & (S_IRWXG | S_IRWXO);
}

/* Opens a new file with exactly `mode`. */
static int open_new(int dir, const char *name, mode_t mode)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1 || fchmod(fd, mode) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    (void)unlinkat(dir, name, 0);
    errno = saved;
    return -1;
}

int file_create(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                struct err *err)
{
    _cleanup_close_ int fd = open_new(dir, name, mode);
    if (fd != -1 && file_write_all(fd, bytes, len) == 0)
        return 0;
    (void)err_errno(err, "cannot write '%s'", name);
    if (fd != -1)
        (void)unlinkat(dir, name, 0);
    return -1;
}

bool file_disk_is_full(int dir, size_t bytes)
{
    _cleanup_close_ int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    struct statvfs disk;
    int rc = fd == -1 ? errno : posix_fallocate(fd, 0, (off_t)bytes);

    if (fd == -1 && (rc == EOPNOTSUPP || rc == EISDIR)) /* NFS, FUSE */
        return fstatvfs(dir, &disk) == 0 && disk.f_bavail * disk.f_frsize < bytes;
    return rc == ENOSPC || rc == EDQUOT;
}

int file_sync_dir(int dir, struct err *err)
{
    if (fsync(dir) == -1 && errno != EINVAL)
        return err_errno(
            err, "cannot sync a directory (the data is written, but may not survive a crash)");
    return 0;
}

int file_sync_all(int fd)
{
    return syncfs(fd);
}

int file_replace(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                 struct err *err)
{
    _cleanup_free_ char *temp = mem_printf("%s.new", name);
    _cleanup_close_ int fd = open_new(dir, temp, mode);
    if (fd == -1 && errno == EEXIST && unlinkat(dir, temp, 0) == 0) /* left by a killed process */
        fd = open_new(dir, temp, mode);
    if (fd == -1)
        return err_errno(err, "cannot write '%s'", name);
    if (file_write_all(fd, bytes, len) == -1 || fsync(fd) == -1 ||
        renameat(dir, temp, dir, name) == -1) {
        (void)err_errno(err, "cannot write '%s'", name);
        (void)unlinkat(dir, temp, 0);
        return -1;
    }
    return file_sync_dir(dir, err);
}

/* Bytes of the line that names a lock's holder, padded with spaces so that one write replaces
 * it. */
enum { HOLDER_LINE = 48 };

/* file_is_locked() holds the lock for an instant; that must not make another process's attempt
 * fail. */
enum { LOOK_MS = 20 };

/* flock(LOCK_EX) with a time limit. The kernel offers none except by a signal, and a signal is for
 * the whole process: with several threads it may interrupt another one than the waiting one. So
 * this function polls. After half of its time it polls five times as often, so that later waiters
 * do not overtake it before its time is over. */
static int lock_within(int fd, int wait_ms)
{
    enum { FIRST_MS = 1, LATE_MS = 2, MOST_MS = 10 };
    int64_t start = time_monotonic_ms();
    int limit = wait_ms == LOCK_TRY ? LOOK_MS : wait_ms;
    int pause = FIRST_MS;

    while (flock(fd, LOCK_EX | LOCK_NB) == -1) {
        if (errno == EINTR)
            continue;
        int64_t waited = time_monotonic_ms() - start;
        if (errno != EWOULDBLOCK || waited >= limit)
            return -1;
        if (waited > limit / 2 && pause > LATE_MS)
            pause = LATE_MS;
        if (pause > limit - waited)
            pause = (int)(limit - waited);
        (void)nanosleep(&(struct timespec){.tv_nsec = pause * 1000000L}, NULL);
        pause = pause * 2 < MOST_MS ? pause * 2 : MOST_MS;
    }
    return 0;
}

/* Reads "pid 123 (start)" as the holder wrote it, otherwise writes "another process". */
static void read_holder(int fd, char *buf, size_t size)
{
    ssize_t n = pread(fd, buf, size - 1, 0);
    size_t len = n > 0 ? strcspn(buf, "\n") : 0;
    if (n > 0 && len < (size_t)n)
        buf[len] = '\0';
    else
        (void)snprintf(buf, size, "another process");
}

bool file_is_named(int dir, const char *name, int fd, struct stat *ret)
{
    struct stat open_one;
    struct stat named;

    if (fstat(fd, &open_one) == -1 || fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == -1 ||
        open_one.st_ino != named.st_ino || open_one.st_dev != named.st_dev)
        return false;
    if (ret != NULL)
        *ret = open_one;
    return true;
}

/* Tries once. Returns 1 if the locked file had been removed meanwhile. */
static int lock_once(int dir, const char *name, int wait_ms, int *ret_fd, struct err *err)
{
    struct err why = ERR_INIT;
    _cleanup_close_ int fd = file_open_own(dir, name, O_RDWR, &why);
    if (fd == -1 && why.number == ENOENT) {
        fd = file_open_own(dir, name, O_RDWR | O_CREAT, &why);
        if (fd != -1)
            (void)fchmod(fd, 0600); /* whatever the umask */
    }
    if (fd == -1) {
        if (file_is_no_own(&why))
            why.code = MAS_DAMAGED;
        *err = why;
        return -1;
    }
    if (lock_within(fd, wait_ms) == -1) {
        if (errno != EWOULDBLOCK)
            return err_errno(err, "cannot lock '%s'", name);
        char holder[64] = "";
        read_holder(fd, holder, sizeof holder);
        return err_set(err, wait_ms == LOCK_TRY ? MAS_CONFLICT : MAS_TIMEOUT, "%s holds the lock",
                       holder);
    }
    if (!file_is_named(dir, name, fd, NULL))
        return 1;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int file_lock(int dir, const char *name, int wait_ms, const char *who, int *ret_fd, struct err *err)
{
    int fd = -1;
    int rc;

    while ((rc = lock_once(dir, name, wait_ms, &fd, err)) == 1)
        ;
    if (rc == -1)
        return -1;
    char line[HOLDER_LINE];
    memset(line, ' ', sizeof line);
    int len = snprintf(line, sizeof line, "pid %ld (%.16s)\n", (long)getpid(), who);
    line[len] = ' '; /* not a NUL */
    if (who[0] != '\0') /* informative only, never trusted */
        (void)!pwrite(fd, line, sizeof line, 0); /* failure is harmless */
    *ret_fd = fd;
    return 0;
}

bool file_is_locked(int dir, const char *name)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1)
        return errno != ENOENT; /* unknown: leave what it guards alone */
    return flock(fd, LOCK_SH | LOCK_NB) == -1;
}
