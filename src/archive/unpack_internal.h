/*
 * Parts of unpacking; for src/archive/unpack*.c only.
 */
#ifndef MAS_ARCHIVE_UNPACK_INTERNAL_H
#define MAS_ARCHIVE_UNPACK_INTERNAL_H

#include "archive/hasher.h"
#include "archive/unpack.h"
#include "archive/zstd_reader.h"
#include "base/tree.h"

#include <archive.h>
#include <archive_entry.h>

/* A directory that was made and is being filled. */
struct made {
    int fd;
    mode_t mode;
    struct timespec mtime;
    size_t len; /* of its path */
};

struct unpacker {
    const struct unpack *unpack;
    struct manifest manifest;
    struct zstd_reader *in;
    struct hasher *hasher;
    struct archive *tar;
    struct made dirs[TREE_DEPTH_MAX + 2]; /* from the part down to where the next entry goes */
    size_t open;
    struct str path; /* of the lowest of them */
    uint64_t entries, bytes, apparent, links; /* so far */
    bool seen[PARTS_COUNT];
    struct err err; /* of the decompression, which libarchive calls */

    const char *piece; /* what libarchive reads */
    size_t piece_len;
    uint64_t taken; /* bytes, with that piece */
    uint64_t tickets[ZSTD_READER_HELD]; /* of the pieces that are held, oldest first */
    size_t held;
    uint64_t ticket; /* of what was hashed last */
};

/* ---- unpack.c: reading */
/* An entry that is wrong: `name` is below the top directory. */
int unpack_refuse(const char *name, struct err *err, const char *why);
/* libarchive has failed, or the decompression that it calls. */
int unpack_tar_failed(const struct unpacker *u, struct err *err);
/* What stands behind the top directory's name; NULL: it is not in there. */
const char *unpack_below_top(const struct unpacker *u, const char *path);
/* Hashes content that archive_read_data_block() gave. */
void unpack_feed(struct unpacker *u, const char *bytes, size_t len);

/* ---- unpack_entry.c: making */
/* Makes one entry. `rel` is its path below the top directory. */
int unpack_entry(struct unpacker *u, const char *rel, struct archive_entry *entry, struct err *err);
/* Finishes the directories that are still open. */
int unpack_leave(struct unpacker *u, struct err *err);

#endif
