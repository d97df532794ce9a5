/*
 * Directory trees: copy, compare, remove, measure. All functions work on descriptors, build no
 * paths and follow no symbolic links.
 */
#pragma once

enum {
    TREE_DEPTH_MAX = 128, /* levels below the top; a deeper tree is not copied */
};

/* Reports the progress of a copy, at most about ten times a second and from one thread at a time.
 * Return true to stop the copy with an error (MAS_FAILED, "interrupted"). May be NULL. */
typedef bool tree_tick(uint64_t files, uint64_t bytes, void *arg);

/*
 * Copies the directory open at `from` into the existing empty directory open at `to`.
 *
 * Copied are regular files, directories (also empty ones) and symbolic links (as links), with
 * permission bits whatever the umask, and with modification times. File data is copied by reflink,
 * else copy_file_range, else read/write, on up to two threads if there is enough work; sparse files
 * stay sparse. Hard links become separate files. Devices, sockets, FIFOs, and setuid or setgid
 * files are errors (MAS_FAILED, with the path below `from`). The setgid bit of a directory, owners,
 * ACLs and extended attributes are not copied.
 *
 * After a failure the caller removes the incomplete copy. The caller is also responsible for
 * durability. `name` names the source in messages. Error text: "cannot copy '<name>/<path>':
 * <why>".
 */
int tree_copy(int from, int to, const char *name, tree_tick *tick, void *arg, struct err *err);

/* Like tree_copy(), into several empty directories at once: each file is read only once. */
int tree_copy_many(int from, const int *to, size_t copies, const char *name, tree_tick *tick,
                   void *arg, struct err *err);

/* Options of a copy. All zero: the same as tree_copy(). */
struct tree_choice {
    /* Make hard links to files that nobody has permission to write, if the file system allows it. A
     * link shares the owner, mode and times of its file, so the copy sets none of these. */
    bool link_readonly;
    mode_t without; /* permission bits that files and directories of the copy do not get */
    /* Called for each entry at the top; false skips the entry. NULL: copy all. */
    bool (*takes)(const char *name, void *arg);
    /* Called for each socket and FIFO, by one thread at a time, which then is left out: "<name>/
     * <path>", "a FIFO". NULL: they are errors. */
    void (*leaves)(const char *path, const char *what, void *arg);
    void *arg;
};
/* Like tree_copy(), with options. */
int tree_copy_choice(int from, int to, const char *name, const struct tree_choice *choice,
                     tree_tick *tick, void *arg, struct err *err);

/*
 * The state of one or more trees, derived from the kernel's data of each entry: place, inode, type,
 * mode, size, and times of the last changes. Two equal states mean the same files with the same
 * contents, unless one is `unsettled`: a change is so recent that the next one may get the same
 * time, or an entry could not be examined. A zeroed state is the state of no tree.
 */
struct tree_state {
    uint64_t sum[2];
    bool unsettled;
};

/* Adds the tree `name` in the directory open at `at`. With `shared`, hard links to files that
 * nobody has permission to write may be made; linking changes the ctime of their inodes, so that
 * time does not count. */
void tree_state_add(int at, const char *name, bool shared, struct tree_state *state);
/* Returns true if both states are equal and neither is unsettled. */
bool tree_state_equal(const struct tree_state *a, const struct tree_state *b);

/* Calls `each` for every entry that tree_copy() would refuse or could not read, in no particular
 * order. `path` is relative to `dir`; "" is `dir` itself. */
typedef void tree_refused(const char *path, const char *why, void *arg);
void tree_check(int dir, tree_refused *each, void *arg);

/*
 * Removes the entry `name` of the directory open at `at` with all its contents, at any depth, with
 * a limited number of descriptors. Makes directories without write permission writable first.
 * Unlinks symbolic links without following them. A missing entry is success.
 */
int tree_remove(int at, const char *name, struct err *err);
/* Likewise for an absolute path. Follows symbolic links on the way to its last part. */
int tree_remove_path(const char *path, struct err *err);

/* A tree to remove, and the result. */
struct tree_removal {
    const char *name; /* not owned */
    uint64_t freed; /* bytes that belonged to no other tree */
    bool failed;
    struct err err; /* the reason, if failed */
};

/* What a file on NFS or FUSE is called before it is removed: the name of the tree and this. */
#define TREE_ASIDE ".open"

/* Removes several trees, on two threads if there is enough work. In each tree the entry `last` at
 * the top is removed after everything else, so a lock held on it covers the whole removal. On NFS
 * and FUSE, which keep a removed file that is open until it is closed (`.nfs*`, `.fuse_hidden*`),
 * each file moves to `at` first, with a name in TREE_ASIDE: what is kept stays there. */
void tree_remove_many(int at, const char *last, struct tree_removal *items, size_t count);

/* What trees contain and how much space they take. */
struct tree_size {
    uint64_t files; /* names, except those of directories */
    uint64_t apparent; /* total st_size of the files */
    uint64_t real; /* bytes that files and directories take on disk */
    uint64_t skipped; /* unreadable entries: the sizes above are too small */
};

/*
 * Measures trees. A file with several names, and a disk extent that several files share (reflink),
 * is counted once per meter:
 *
 *     struct tree_meter *meter = tree_meter_new();
 *     tree_measure(meter, dir, "unit", false);
 *     tree_meter_read(meter, &size);
 *     tree_meter_free(meter);
 *
 * Symbolic links are not followed, and mounted file systems are not measured. A meter needs about
 * 100 bytes of memory for each file with several names and for each separate shared extent.
 */
struct tree_meter *tree_meter_new(void);
void tree_meter_free(struct tree_meter *meter);
void tree_meter_freep(struct tree_meter **meter);
#define _cleanup_meter_ __attribute__((cleanup(tree_meter_freep)))

/* Adds the entry `name` of the directory open at `at` and everything below it ("." is the directory
 * itself). `common` marks it as shared with others, see tree_meter_own() and tree_meter_add().
 * Returns the type of the entry as in st_mode, or 0 if it does not exist. */
mode_t tree_measure(struct tree_meter *meter, int at, const char *name, bool common);
/* Adds one entry that is not a directory. Adds nothing if the entry is a directory or does not
 * exist. */
void tree_measure_file(struct tree_meter *meter, int at, const char *name);
/* Adds the directory open at `dir` without its contents. */
void tree_measure_alone(struct tree_meter *meter, int dir, bool common);

/* Returns in *ret the total so far. */
void tree_meter_read(struct tree_meter *meter, struct tree_size *ret);
/* Returns how many of the bytes belong to no other tree: without files that have more names
 * elsewhere, without shared extents and without `common` entries. */
uint64_t tree_meter_own(struct tree_meter *meter);
/* Adds the totals of another meter. Entries that both meters saw and `common` entries count
 * once. */
void tree_meter_add(struct tree_meter *to, const struct tree_meter *from);
