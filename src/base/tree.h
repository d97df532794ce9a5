/*
 * Whole directory trees: copy, compare, remove, measure. All by descriptor; no path is ever built,
 * no symbolic link ever followed.
 */
#ifndef MAS_BASE_TREE_H
#define MAS_BASE_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

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

/* What a copy does otherwise; all zero: nothing. */
struct tree_choice {
    /* Files that nobody has permission to write become hard links, where the file system lets them.
     * A link shares the owner, the mode and the times of the file, so the copy sets none of them.
     */
    bool link_readonly;
    /* Asked of each entry at the top; NULL: all are taken. */
    bool (*takes)(const char *name, void *arg);
    void *arg;
};
int tree_copy_choice(int from, int to, const char *name, const struct tree_choice *choice,
                     tree_tick *tick, void *arg, struct err *err);

/*
 * The state of one or more trees, told from what the kernel keeps of each entry: place, inode,
 * kind, mode, size, and the times of the last changes. Two states that are equal are those of the
 * same files with the same contents, unless one is `unsettled`: a change was so short ago that the
 * next one may get the same time, or not everything could be looked at. Zeroed, it is that of no
 * tree.
 */
struct tree_state {
    uint64_t sum[2];
    bool unsettled;
};

/* Adds the tree `name` in the directory open at `at`. With `shared`, hard links may be made of
 * files that nobody has permission to write; that changes the time of their inode, which does not
 * count.
 */
void tree_state_add(int at, const char *name, bool shared, struct tree_state *state);
bool tree_state_equal(const struct tree_state *a, const struct tree_state *b);

/* Calls `each` for whatever tree_copy() would refuse or could not read: all of it, in no order.
 * `path` is below `dir`, "" for that itself. */
typedef void tree_refused(const char *path, const char *why, void *arg);
void tree_check(int dir, tree_refused *each, void *arg);

/*
 * Removes the entry `name` of the directory open at `at`, whatever it is and whatever is in it,
 * however deep, with a bounded number of descriptors; directories without write permission are
 * opened up first. Stays on what it was given: links are unlinked, not followed. Missing is
 * success.
 */
int tree_remove(int at, const char *name, struct err *err);

/* A tree to remove, and what came of it. */
struct tree_removal {
    const char *name; /* not owned */
    uint64_t freed; /* bytes that were in no other tree */
    bool failed;
    struct err err; /* why */
};

/* Removes several, on two threads when there is enough to do. The entry `last` in the top of each
 * goes when all else is gone: who holds a lock on it holds the tree to its end. */
void tree_remove_many(int at, const char *last, struct tree_removal *items, size_t count);

/* What trees hold and take. */
struct tree_size {
    uint64_t files; /* names that are not directories' */
    uint64_t apparent; /* bytes that the files hold: st_size */
    uint64_t real; /* bytes that files and directories take on disk */
    uint64_t skipped; /* entries that could not be read: there is more than this */
};

/*
 * Measures trees. A file that has several names is counted once, and so is a piece of a disk that
 * several files share (reflink), over all that one meter measures:
 *
 *     struct tree_meter *meter = tree_meter_new();
 *     tree_measure(meter, dir, "unit", false);
 *     tree_meter_read(meter, &size);
 *     tree_meter_free(meter);
 *
 * No link is followed, and what is mounted in a tree is not of it. A meter takes some 100 bytes for
 * each file that has several names and for each shared piece that lies apart from others.
 */
struct tree_meter *tree_meter_new(void);
void tree_meter_free(struct tree_meter *meter);
void tree_meter_freep(struct tree_meter **meter);
#define _cleanup_meter_ __attribute__((cleanup(tree_meter_freep)))

/* Adds the entry `name` of the directory open at `at`, whatever it is, and all below it ("." for
 * the directory). What is
 * `common` is others' as well, see tree_meter_own() and tree_meter_add(). Returns the type of the
 * entry as in st_mode, 0 where there is none. */
mode_t tree_measure(struct tree_meter *meter, int at, const char *name, bool common);
/* Adds one entry that is no directory; nothing where it is one, or is not there. */
void tree_measure_file(struct tree_meter *meter, int at, const char *name);
/* Adds the directory open at `dir` without what is in it. */
void tree_measure_alone(struct tree_meter *meter, int dir, bool common);

/* All that was measured so far. */
void tree_meter_read(struct tree_meter *meter, struct tree_size *ret);
/* How many bytes of it are in no other tree: without the files that have more names elsewhere,
 * without shared pieces and without what is common. */
uint64_t tree_meter_own(struct tree_meter *meter);
/* Adds what another meter measured; what both met counts once, and so does what is common. */
void tree_meter_add(struct tree_meter *to, const struct tree_meter *from);

#endif
