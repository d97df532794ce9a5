/*
 * Steps that fail, for unit tests: the functions of the C library by which mas asks something of
 * the kernel are defined here, as in gap.h, which a program cannot have beside this.
 *
 *     static int record(void *arg, struct err *err)
 *     {
 *         ... what it needs
 *         fail_on();
 *         int rc = placed_record(..., err);
 *         fail_off();
 *         ... CHECK() what is there, also if rc is -1
 *         return rc;
 *     }
 *
 *     fail_each(record, NULL, "");    once for each call between the two, which then fails with EIO
 *
 * Whatever fails, the function has to return -1 with the reason and no descriptor more, but for
 * calls that it may do without: the last argument names these, each once, in their order.
 * `fail_hit` tells what has failed.
 */
#pragma once

#include "place.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/file.h>
#include <sys/statvfs.h>

static bool fail_is_on;
static int fail_left; /* which call fails, from now on; 0 or less: it was before */
static const char *fail_hit; /* its name; NULL: none has failed */

UNIT_MAYBE static void fail_on(void)
{
    fail_is_on = true;
}

UNIT_MAYBE static void fail_off(void)
{
    fail_is_on = false;
}

UNIT_MAYBE static bool fails(const char *name)
{
    if (!fail_is_on || --fail_left != 0)
        return false;
    fail_hit = name;
    errno = EIO;
    return true;
}

#ifdef __clang__ /* headers declare some of these as inline */
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#endif
#define FAIL_CALL(type_, name_, params_, args_)                                                    \
    type_ name_ params_                                                                            \
    {                                                                                              \
        static type_(*real) params_;                                                               \
                                                                                                   \
        if (fails(#name_))                                                                         \
            return (type_)-1;                                                                      \
        if (real == NULL)                                                                          \
            *(void **)&real = dlsym(RTLD_NEXT, #name_);                                            \
        return real args_;                                                                         \
    }

/* The mode is there for a new file only. */
#define FAIL_OPEN(name_, first_params_, first_args_)                                               \
    int name_ first_params_                                                                        \
    {                                                                                              \
        static int(*real) first_params_;                                                           \
        va_list more;                                                                              \
                                                                                                   \
        if (fails(#name_))                                                                         \
            return -1;                                                                             \
        if (real == NULL)                                                                          \
            *(void **)&real = dlsym(RTLD_NEXT, #name_);                                            \
        va_start(more, flags);                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;             \
        va_end(more);                                                                              \
        return real first_args_;                                                                   \
    }

FAIL_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
FAIL_OPEN(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
FAIL_CALL(int, __open_2, (const char *path, int flags), (path, flags))
FAIL_CALL(int, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
FAIL_CALL(int, stat, (const char *path, struct stat *st), (path, st))
FAIL_CALL(int, fstat, (int fd, struct stat *st), (fd, st))
FAIL_CALL(int, fstatat, (int dir, const char *path, struct stat *st, int flags),
          (dir, path, st, flags))
FAIL_CALL(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
FAIL_CALL(ssize_t, pwrite, (int fd, const void *buf, size_t len, off_t at), (fd, buf, len, at))
FAIL_CALL(int, mkdir, (const char *path, mode_t mode), (path, mode))
FAIL_CALL(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
FAIL_CALL(int, renameat, (int dir, const char *from, int to_dir, const char *to),
          (dir, from, to_dir, to))
FAIL_CALL(int, linkat, (int dir, const char *from, int to_dir, const char *to, int flags),
          (dir, from, to_dir, to, flags))
FAIL_CALL(int, symlinkat, (const char *to, int dir, const char *path), (to, dir, path))
FAIL_CALL(int, unlink, (const char *path), (path))
FAIL_CALL(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
FAIL_CALL(int, fsync, (int fd), (fd))
FAIL_CALL(int, fdatasync, (int fd), (fd))
FAIL_CALL(int, syncfs, (int fd), (fd))
FAIL_CALL(int, ftruncate, (int fd, off_t len), (fd, len))
FAIL_CALL(int, flock, (int fd, int how), (fd, how))
FAIL_CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
FAIL_CALL(int, fchmodat, (int dir, const char *path, mode_t mode, int flags),
          (dir, path, mode, flags))
FAIL_CALL(int, futimens, (int fd, const struct timespec times[2]), (fd, times))
FAIL_CALL(int, fstatvfs, (int fd, struct statvfs *fs), (fd, fs))
FAIL_CALL(int, pipe2, (int ends[2], int flags), (ends, flags))
FAIL_CALL(ssize_t, getdents64, (int fd, void *buf, size_t len), (fd, buf, len))

FAIL_CALL(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
FAIL_CALL(ssize_t, pread, (int fd, void *buf, size_t len, off_t at), (fd, buf, len, at))
FAIL_CALL(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t len),
          (dir, path, buf, len))

/* A child that is to run a program has its own steps, and they are not counted. */
pid_t fork(void)
{
    static pid_t (*real)(void);

    if (fails("fork"))
        return -1;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fork");
    pid_t pid = real();
    fail_is_on = fail_is_on && pid != 0;
    return pid;
}

static int fail_count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

#define fail_each(act, arg, passed) fail_each_of(#act, act, arg, passed)

UNIT_MAYBE static void fail_each_of(const char *name, int (*act)(void *arg, struct err *err),
                                    void *arg, const char *passed)
{
    _cleanup_strv_ char **list = NULL;

    for (int nth = 1;; nth++) {
        struct err err = ERR_INIT;
        int open_before = fail_count_open();
        fail_left = nth;
        fail_hit = NULL;
        int rc = act(arg, &err);
        if (fail_hit == NULL) {
            WELL(rc); /* there are no more */
            break;
        }
        if (rc == 0 && !strv_has(list, fail_hit))
            strv_push(&list, fail_hit);
        if (!CHECK(rc == 0 || err.text[0] != '\0') || !CHECK_INT(fail_count_open(), open_before))
            printf("# %s when call %d failed, %s\n", name, nth, fail_hit);
    }
    _cleanup_str_ struct str names = STR_INIT;
    for (size_t i = 0; i < strv_len(list); i++)
        str_addf(&names, "%s%s", i > 0 ? " " : "", list[i]);
    if (!CHECK_STR(str_text(&names), passed))
        printf("# %s\n", name);
}
