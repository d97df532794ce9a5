/*
 * The list of what an archive of a workspace contains. mas-archive makes it before archiving, for
 * the manifest, and again afterwards, to check that nothing has changed.
 *
 * A listing of a session that runs, `live`, takes the workspace as it is at each moment: what
 * vanishes is not there. Of a git repository it first copies all but the objects into the spool,
 * then lists the objects: loose ones before packs, borrowers before lenders. So each object that
 * a copied ref needs is in the list, whatever git does meanwhile: git makes a pack before it
 * removes what the pack replaces. Locks and temporary files of git are left out.
 */
#pragma once

#include "archive/parent.h"

/* An entry. The entries of a directory follow it, sorted by name. */
struct item {
    size_t name; /* offset in the listing's names */
    uint32_t twin; /* 1 + the first item that is a hard link to the same file; 0: none */
    uint16_t level; /* directories above it; 0: a part */
    bool sparse;
    bool object; /* live: without it, a repository would lack objects */
    bool kept; /* live: a directory whose files are in the spool; it is packed in any case */
    bool gone; /* live: the packer did not find it */
    mode_t mode;
    dev_t dev;
    ino_t ino;
    uint64_t size;
    uint64_t content; /* bytes that count for the manifest */
    uint64_t spool; /* live: 1 + where in the spool its bytes are; 0: not there */
    struct timespec mtime;
};

struct archive_listing {
    struct item *items;
    size_t count;
    struct str names; /* each ends with a NUL */
    uint64_t bytes; /* of content, without holes; hard links count once */
    uint64_t apparent;
    uint64_t links; /* those that lead out */
};

struct listing_source {
    int dir; /* the workspace */
    int parts; /* the directory of unit/ and workflows/ */
    bool strict; /* fail instead of omitting a file, except sockets and FIFOs */
    struct parent *parent; /* receives warnings; NULL: none */
    bool live; /* the session runs */
    int spool; /* live: a file; it begins with the copy of memory.db and gets further copies */
    int64_t memory; /* live: the bytes of that copy; 0: there is none; -1: take the files */
};

/* Makes the list; release *ret with listing_free(). Fails with MAS_DAMAGED if a required part is
 * missing or of the wrong type, and with MAS_FAILED for files that cannot be archived, such as
 * devices. */
int listing_make(const struct listing_source *source, struct archive_listing *ret, struct err *err);
void listing_free(struct archive_listing *listing);
#define _cleanup_listing_ __attribute__((cleanup(listing_free)))

/* Returns the name of item `i`, without its directory. It belongs to the listing. */
const char *listing_name(const struct archive_listing *listing, size_t i);
/* Returns a path such as "unit/a/file", which the caller frees. */
char *listing_path(const struct archive_listing *listing, size_t i);
/* Fails if the second listing of the workspace differs from the first. */
int listing_compare(const struct archive_listing *before, const struct archive_listing *after,
                    struct err *err);

/* Sets *err for a call that failed with errno on the file of this path. Returns -1. */
int listing_fail(const char *path, struct err *err);

/* Opens the part for an item of level 0, with these flags and without following links. Returns the
 * descriptor, which the caller closes, or -1 with errno. */
int listing_open_part(const struct listing_source *source, const char *name, int flags);

/* A range of a file that is not a hole. */
struct extent {
    uint64_t at, len;
};
/* Finds the ranges of a file of `size` bytes and seeks back to its start. The caller frees *ret.
 * Returns -1 with errno on error; EFBIG if there are too many. */
int extents_find(int fd, uint64_t size, struct extent **ret, size_t *ret_count);
