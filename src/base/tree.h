/*
 * Whole directory trees: copy, remove, measure. All by descriptor; no path is ever built, no
 * symbolic link ever followed.
 */
#ifndef MAS_BASE_TREE_H
#define MAS_BASE_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TREE_DEPTH_MAX = 128, /* levels below the top; a copy that is deeper is refused */
};

/* Progress of a copy, called at most some ten times a second and from one thread at a time; a
 * return of true stops the copy with an error (MAS_FAILED, "interrupted"). May be NULL. */
typedef bool tree_tick(uint64_t files, uint64_t bytes, void *arg);

/*
 * Copies the directory open at `from` into the existing empty directory open at `to`: regular files
 * (sparse ones stay sparse, data by reflink, else copy_file_range, else read/write, on up to two
 * threads when there is enough to do), directories, empty ones too, symbolic links as links, with
 * permission bits whatever the umask and with modification times. Files with hard links become
 * separate files. Devices, sockets, FIFOs, and setuid or setgid files are refused (MAS_FAILED, with
 * the path below `from` in the message); the setgid bit of a directory is not copied; owner, ACLs
 * and extended attributes are not either. What was made before a failure stays; the caller removes
 * it. Durability is the caller's affair as well.
 *
 * `name` is what messages call the source. Error text: "cannot copy '<name>/<path>': <why>".
 */
int tree_copy(int from, int to, const char *name, tree_tick *tick, void *arg, struct err *err);

/*
 * Removes the entry `name` of the directory open at `at`, whatever it is and whatever is in it,
 * however deep, with a bounded number of descriptors; directories without write permission are
 * opened up first. Stays on what it was given: links are unlinked, not followed. Missing is
 * success.
 */
int tree_remove(int at, const char *name, struct err *err);

struct tree_size {
    uint64_t files; /* entries that are not directories */
    uint64_t apparent; /* bytes, sum of st_size */
    uint64_t real; /* bytes, sum of st_blocks * 512, hard links counted once */
};

/* Measures the tree below the directory open at `dir`; what cannot be read is skipped. */
void tree_measure(int dir, struct tree_size *ret);

#endif
