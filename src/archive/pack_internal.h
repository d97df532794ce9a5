/*
 * Shared by src/archive/pack*.c only.
 */
#pragma once

#include "archive/hasher.h"
#include "archive/listing.h"
#include "archive/pack.h"
#include "archive/zstd_writer.h"
#include "base/tree.h"

enum { BUFFERS = 4, BUFFER_SIZE = 256 * 1024 };

/* File contents. A buffer is reused when its contents are hashed. */
struct buffers {
    char *bytes[BUFFERS];
    uint64_t tickets[BUFFERS];
    size_t next;
};

struct packer {
    const struct pack *pack;
    const struct listing_source *source;
    struct archive_listing *listing;
    struct zstd_writer *zstd;
    struct hasher *hasher;
    struct archive *tar;
    struct archive_entry *entry;
    struct buffers buffers;
    int dirs[TREE_DEPTH_MAX + 2]; /* by level; the lowest open one is dirs[open - 1] */
    size_t open;
    size_t lens[TREE_DEPTH_MAX + 2]; /* lengths of the path, by level */
    struct str path; /* of the current item, with the top directory */
    uint64_t files, bytes; /* done so far */
    uint64_t slack; /* live: bytes that files may still have more than the list says */
    size_t skip; /* live: items below this level belong to a directory that has gone; 0: none */
    struct err err; /* an error of the compression, which libarchive calls */
};

/* ---- pack.c */
/* Returns the path of the current item, for messages. */
const char *pack_path(const struct packer *p);
/* Sets the error for the last failure of a call on the current item. Returns -1. */
int pack_errno(const struct packer *p, struct err *err);
/* Writes a file: its header with this size, and its content from `fd`. */
int pack_file(struct packer *p, int fd, const struct item *item, struct err *err);

/* ---- pack_live.c */
/* The bytes that the files of a session may have more than its list says. */
uint64_t pack_live_slack(const struct archive_listing *listing);
/* Returns 1 if the item is to be left out because its directory has gone. */
int pack_live_skips(struct packer *p, struct item *item, struct err *err);
/* An item could not be opened or read: if that means that it has gone, leaves it out. */
int pack_live_gone(struct packer *p, struct item *item, struct err *err);
/* Like pack_file() for a file that may have changed since it was listed. */
int pack_live_file(struct packer *p, int fd, struct item *item, struct err *err);
/* Packs a file from the spool. */
int pack_live_spooled(struct packer *p, const struct item *item, struct err *err);
/* A file that is being read ended before its size. */
void pack_live_short(const struct packer *p);
