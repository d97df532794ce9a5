/*
 * Shared by src/archive/unpack*.c only.
 */
#pragma once

#include "archive/hasher.h"
#include "archive/unpack.h"
#include "archive/zstd_reader.h"
#include "os/tree.h"

#include <archive.h>
#include <archive_entry.h>

/* A directory that was created and is being filled. */
struct made {
    int fd;
    mode_t mode;
    struct timespec mtime;
    size_t len; /* length of its path */
};

struct unpacker {
    const struct unpack *unpack;
    struct manifest manifest;
    struct zstd_reader *in;
    struct hasher *hasher;
    struct archive *tar;
    /* from the part down to the directory of the next entry */
    struct made dirs[TREE_DEPTH_MAX + 2];
    size_t open;
    struct str path; /* path of the lowest of them */
    uint64_t entries, bytes, apparent, links; /* so far */
    bool seen[PARTS_COUNT];
    struct err err; /* an error of the decompression, which libarchive calls */

    const char *piece; /* the piece that libarchive reads */
    size_t piece_len;
    uint64_t taken; /* bytes given to libarchive, including this piece */
    uint64_t tickets[ZSTD_READER_HELD]; /* of the pieces in use, oldest first */
    size_t held;
    uint64_t ticket; /* of the last hashed bytes */
};

/* ---- unpack_entry.c: creating files, and what reading shares with that */
/* Refuses an entry with MAS_DAMAGED; `name` is its path below the top directory. Returns -1. */
int unpack_refuse(const char *name, struct err *err, const char *why);
/* Reports an error of libarchive or of the decompression that it calls. Returns -1. */
int unpack_tar_failed(const struct unpacker *u, struct err *err);
/* Returns the path below the top directory; NULL if it is not in there. */
const char *unpack_below_top(const struct unpacker *u, const char *path);
/* Creates an entry. `rel` is its path below the top directory. */
int unpack_entry(struct unpacker *u, const char *rel, struct archive_entry *entry, struct err *err);
/* Finishes the directories that are still open: sets their modes and times. */
int unpack_leave(struct unpacker *u, struct err *err);
