/*
 * Walking a tree down and up again, for tree_remove.c and tree_measure.c. The way back is "..",
 * checked against what was there on the way down, so that any depth is walked with a few
 * descriptors. What is mounted in the tree is not of it.
 */
#ifndef MAS_BASE_TREE_WALK_H
#define MAS_BASE_TREE_WALK_H

#include "base/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A directory on the way down. */
struct level {
    int fd; /* -1 while closed */
    dev_t dev;
    ino_t ino;
    uint64_t bytes; /* that it takes itself */
    const char *name; /* in the level above */
    struct str subdirs; /* names, NUL after each */
    size_t next; /* offset of the next one */
    unsigned passes; /* how often it was read */
};

struct walk {
    struct level *levels;
    size_t count;
    size_t room;
    char *list; /* of directory entries, for all levels in turn */
};

/* Opens a directory, but no link and nothing that is mounted there (EXDEV). Returns a descriptor,
 * or -1 with errno. */
int walk_open(int at, const char *name);

/* Goes down to the directory open at `fd`, which the walk takes over. `name` stays the caller's. */
int walk_down(struct walk *walk, int fd, const char *name);
void walk_up(struct walk *walk);
/* Opens the level above the lowest again, if it is not open. The lowest must be searchable. */
int walk_reopen(struct walk *walk);
void walk_release(struct walk *walk);

struct level *walk_lowest(const struct walk *walk);
/* The next subdirectory noted in the lowest level, or NULL. */
const char *walk_next(struct walk *walk);

/* Calls `each` for the entries of the lowest level, notes subdirectories where it says so (1) and
 * ends where it fails (-1). */
typedef int walk_entry(int fd, const struct dirent64 *entry, void *arg);
int walk_read(struct walk *walk, walk_entry *each, void *arg);

bool walk_is_dot(const char *name);

#endif
