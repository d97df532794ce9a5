/*
 * Walks a tree down and up again. The way up is "..", checked
 * against the directory seen on the way down, so a few descriptors suffice at any depth. Mounted
 * file systems are not entered.
 */
#pragma once

#include <dirent.h>

/* A directory on the way down. */
struct level {
    int fd; /* -1 while closed */
    dev_t dev;
    ino_t ino;
    uint64_t bytes; /* that the directory itself takes */
    const char *name; /* in the level above; not owned */
    struct str subdirs; /* names, each with its NUL */
    size_t next; /* offset of the next one */
    unsigned passes; /* how often the directory was read */
};

struct walk {
    struct level *levels;
    size_t count;
    size_t room;
    char *list; /* buffer for directory entries, used by all levels */
};

/* Opens a directory, but not a symbolic link or a mount point (EXDEV). Returns a descriptor, or -1
 * with errno. */
int walk_open(int at, const char *name);

/* Enters the directory open at `fd` and takes ownership of `fd`, also on failure. The caller keeps
 * `name` alive. Returns -1 with errno. */
int walk_down(struct walk *walk, int fd, const char *name);
/* Leaves the lowest level and closes it. */
void walk_up(struct walk *walk);
/* Opens the level above the lowest again if it was closed. The lowest level must be searchable.
 * Returns -1 with errno (ESTALE: the directory was moved). */
int walk_reopen(struct walk *walk);
/* Closes and frees all levels. */
void walk_release(struct walk *walk);

/* Returns the lowest level; valid until the next walk_down(). */
struct level *walk_lowest(const struct walk *walk);
/* Returns the next subdirectory noted in the lowest level, or NULL. The level owns the text. */
const char *walk_next(struct walk *walk);

/* Calls `each` for the entries of the lowest level, without . and .., in the order of the
 * directory. If `each` returns 1, the entry is noted as a subdirectory; if it returns -1,
 * walk_read() stops and fails. */
typedef int walk_entry(int fd, const struct dirent64 *entry, void *arg);
int walk_read(struct walk *walk, walk_entry *each, void *arg);

/*
 * Walks the whole tree that is open at `top`, a directory after the other. `visit` is called for
 * each entry with its directory, its path below the top and its type as in st_mode, and with type 0
 * for a directory that cannot be read, errno saying why. It returns 1 to have a directory entered,
 * 0, or -1 to end the walk.
 */
typedef int walk_visit(int dir, const char *path, mode_t type, void *arg);
void walk_tree(int top, walk_visit *visit, void *arg);

/* Returns true for "." and "..". */
bool walk_is_dot(const char *name);
