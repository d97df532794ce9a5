/*
 * What the kernel tells of changes in directories, through one descriptor that a loop waits for:
 *
 *     int watch = watch_open();
 *     int number = watch_add(watch, dir, WATCH_CAME | WATCH_MOVED);
 *     ...
 *     loop_want(&loop, watch, POLLIN);
 *     ...
 *     if (loop_got(&loop, watch) != 0)
 *         (void)watch_read(watch, on_change, arg);
 *
 * Without it (-1), a program looks from time to time. It is closed with close(2).
 */
#pragma once

enum {
    WATCH_CREATED = 1 << 0, /* an entry, under its name */
    WATCH_CAME = 1 << 1, /* by a rename */
    WATCH_LEFT = 1 << 2, /* likewise */
    WATCH_DELETED = 1 << 3,
    WATCH_WRITTEN = 1 << 4, /* bytes, into a file */
    WATCH_CLOSED = 1 << 5, /* a file that was open for writing */
    WATCH_MOVED = 1 << 6, /* the directory itself */
    WATCH_GONE = 1 << 7, /* likewise, or its file system; told in any case */
};

struct watch_change {
    int number; /* as from watch_add(); -1: changes were lost */
    unsigned what; /* of WATCH_*; 0: changes were lost */
    const char *name; /* of the entry; "": the directory itself */
};
typedef void watch_each(const struct watch_change *change, void *arg);

/* Returns a non-blocking descriptor, or -1 with errno. */
int watch_open(void);
/* Watches the directory open at `dir`, which may be closed afterwards, for these changes. Returns a
 * number for it, or -1 with errno. */
int watch_add(int watch, int dir, unsigned what);
/* Reads what is there and calls `each` (NULL: nobody) for each change. Returns true if there was
 * one. */
bool watch_read(int watch, watch_each *each, void *arg);
