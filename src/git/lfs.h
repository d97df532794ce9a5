/*
 * git-lfs: git keeps a pointer in place of a file, and the file itself, its object, lies in the
 * store lfs/objects of the repository, named by its SHA-256.
 *
 * mas does not run git-lfs. In all that mas asks git to do, mas itself is the filter `lfs`
 * (git/lfs_filter.h), whatever a repository has configured, and it brings the objects of the
 * commits that it moves from store to store. Each object is read and compared with its name on the
 * way. Agents and persons use git-lfs.
 */
#pragma once

#include "base/sha.h"
#include "git/git.h"

#define LFS_STORE "lfs/objects" /* in a repository */

/* Settings of a repository, as `git lfs install --local` makes them: for who runs git there. */
#define LFS_CONFIG                                                                                 \
    "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n"           \
    "\tprocess = git-lfs filter-process\n\trequired = true\n"

enum {
    LFS_POINTER_MAX = 1024, /* bytes; git-lfs takes a larger file for no pointer */
    LFS_SOURCES_MAX = 3,
};
#define LFS_FILE_MAX (INT64_C(1) << 30) /* bytes; mas leaves the pointer of a larger file */

struct lfs_pointer {
    char oid[SHA256_TEXT];
    int64_t size;
};

/* Parses the text of a file; returns false if it is no pointer, or one with extensions. */
bool lfs_parse(const char *text, size_t len, struct lfs_pointer *ret);
/* Appends the text of a pointer. */
void lfs_format(const struct lfs_pointer *pointer, struct str *to);

/* Opens an object in the store of the repository `dir`, without following a link there. Returns a
 * descriptor, or -1; then *ret_damaged tells whether something else has its name. Does not compare
 * the contents. */
int lfs_open(const char *dir, const struct lfs_pointer *pointer, bool *ret_damaged);

/* Returns true if the repository `dir` has a store. */
bool lfs_is_used(const char *dir);

/* Where to look for objects. */
struct lfs_sources {
    const char *dirs[LFS_SOURCES_MAX]; /* repositories */
    int tree; /* a work tree, whose files may be objects; -1: none */
};

/* What could not be brought: "FILE: why", NULL-terminated. */
struct lfs_gaps {
    char **missing; /* no source has the object */
    char **damaged; /* one has a file of that name, which is another one */
};
#define LFS_GAPS_INIT                                                                              \
    {                                                                                              \
        .missing = NULL                                                                            \
    }
void lfs_gaps_free(struct lfs_gaps *gaps);
#define _cleanup_gaps_ __attribute__((cleanup(lfs_gaps_free)))

enum lfs_range {
    LFS_TREES, /* the files of the commits themselves */
    LFS_HISTORY, /* also those of all commits that lead to them */
};

/* Brings the objects of commits into the store of the repository `to`, which is made if there is
 * one to bring. `git` reads the commits; `revs` has a line for each, and "^COMMIT" for what is not
 * wanted. The caller releases *ret, which is LFS_GAPS_INIT, with lfs_gaps_free(). Fails only if an
 * object cannot be written or the commits cannot be read. */
int lfs_bring(const struct git *git, const char *revs, enum lfs_range range,
              const struct lfs_sources *from, const char *to, struct lfs_gaps *ret,
              struct err *err);
