/*
 * Seams for unit tests, without any in the source: the functions of the C library that a promise
 * depends on are defined here, so that the program of a test calls these. Each calls the kernel.
 *
 * A second actor in the gap before a call:
 *
 *     gap_before("flock", replace_the_file, &place);    once, before the next flock()
 *
 * What was called, and in which order:
 *
 *     trace_begin();
 *     CHECK_INT(file_replace(...), 0);
 *     CHECK_STR(trace_end(), "fsync a.new, rename a, fsync DIR");
 *
 * A file is named by the last part of its path, a directory is DIR. Threads must not trace.
 */
#ifndef MAS_TEST_GAP_H
#define MAS_TEST_GAP_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *gap_call; /* NULL: none */
static void (*gap_act)(void *arg);
static void *gap_arg;
static bool trace_on;
static char trace_text[4096];

__attribute__((unused)) static void gap_before(const char *call, void (*act)(void *arg), void *arg)
{
    gap_call = call;
    gap_act = act;
    gap_arg = arg;
}

__attribute__((unused)) static void trace_begin(void)
{
    trace_text[0] = '\0';
    trace_on = true;
}

__attribute__((unused)) static const char *trace_end(void)
{
    trace_on = false;
    return trace_text;
}

static void gap(const char *call)
{
    if (gap_call == NULL || strcmp(gap_call, call) != 0)
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

int flock(int fd, int operation)
{
    gap("flock");
    return (int)syscall(SYS_flock, fd, operation);
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

int unlinkat(int dir, const char *name, int flags)
{
    gap("unlink");
    trace("unlink", name);
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}

#endif
