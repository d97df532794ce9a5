/*
 * Seams for unit tests, without any in the source: the functions of the C library that a promise
 * depends on are defined here, so that the program of a test calls these. Each calls the kernel.
 *
 * A second actor in the gap before a call:
 *
 *     gap_before("flock", replace_the_file, &place);    once, before the next flock()
 *     gap_before_nth("fsync", 3, ...);                  before the third from now on
 *
 * What was called, and in which order:
 *
 *     trace_begin();
 *     CHECK_INT(file_replace(...), 0);
 *     CHECK_STR(trace_end(), "fsync a.new, rename a, fsync DIR");
 *
 * Waits that cost nothing: with gap_clock(true) a poll() returns at once, and all clocks go on by
 * the time that it would have taken.
 *
 * A file is named by the last part of its path, a directory is DIR. Threads must not trace.
 */
#pragma once

#include "unit.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>

static const char *gap_call; /* NULL: none */
static int gap_nth;
static void (*gap_act)(void *arg);
static void *gap_arg;
/* not static: poll() is inline in the headers of the C library */
extern bool gap_clock_on;
bool gap_clock_on;
extern int64_t gap_later_ms;
int64_t gap_later_ms; /* by which the clocks are ahead */
static bool trace_on;
static char trace_text[4096];

UNIT_MAYBE static void gap_before_nth(const char *call, int nth, void (*act)(void *arg), void *arg)
{
    gap_call = call;
    gap_nth = nth;
    gap_act = act;
    gap_arg = arg;
}

UNIT_MAYBE static void gap_before(const char *call, void (*act)(void *arg), void *arg)
{
    gap_before_nth(call, 1, act, arg);
}

UNIT_MAYBE static void gap_clock(bool on)
{
    gap_clock_on = on;
}

UNIT_MAYBE static void trace_begin(void)
{
    trace_text[0] = '\0';
    trace_on = true;
}

UNIT_MAYBE static const char *trace_end(void)
{
    trace_on = false;
    return trace_text;
}

static void gap(const char *call)
{
    if (gap_call == NULL || strcmp(gap_call, call) != 0 || --gap_nth > 0)
        return;
    gap_call = NULL;
    gap_act(gap_arg);
}

static void trace(const char *call, const char *name)
{
    size_t len = strlen(trace_text);

    if (trace_on)
        (void)snprintf(trace_text + len, sizeof trace_text - len, "%s%s %s", len > 0 ? ", " : "",
                       call, name);
}

static void trace_fd(const char *call, int fd)
{
    char link[64];
    char path[4096] = "?";
    struct stat st;

    if (!trace_on)
        return;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) == -1)
        return;
    const char *slash = strrchr(path, '/');
    trace(call, fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? "DIR"
                : slash != NULL                            ? slash + 1
                                                           : path);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ret);
    int64_t ns = ret->tv_nsec + gap_later_ms % 1000 * 1000000;

    ret->tv_sec += gap_later_ms / 1000 + ns / 1000000000;
    ret->tv_nsec = ns % 1000000000;
    return rc;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (!gap_clock_on)
        return (int)syscall(SYS_nanosleep, wanted, left);
    gap_later_ms += wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000;
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (gap_clock_on && timeout > 0) {
        gap_later_ms += timeout;
        timeout = 0;
    }
    return (int)syscall(SYS_poll, fds, count, timeout);
}

/* poll() itself, where the compiler knows the size of the array. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
    (void)size;
    return poll(fds, count, timeout);
}

int flock(int fd, int operation)
{
    gap("flock");
    return (int)syscall(SYS_flock, fd, operation);
}

int close(int fd)
{
    gap("close");
    return (int)syscall(SYS_close, fd);
}

int fsync(int fd)
{
    gap("fsync");
    trace_fd("fsync", fd);
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    gap("fsync");
    trace_fd("fsync", fd);
    return (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
    trace_fd("syncfs", fd);
    return (int)syscall(SYS_syncfs, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    gap("rename");
    trace("rename", to);
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    gap("link");
    trace("link", to);
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *name, int flags)
{
    gap("unlink");
    trace("unlink", name);
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}
