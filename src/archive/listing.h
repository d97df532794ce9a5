/*
 * What of a workspace goes into its archive: looked up once before, so that the manifest can say
 * how much it is, and once after, to see that nothing has changed meanwhile.
 */
#ifndef MAS_ARCHIVE_LISTING_H
#define MAS_ARCHIVE_LISTING_H

#include "archive/talk.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* An entry; those of a directory follow it, sorted by name. */
struct item {
    size_t name; /* where it begins in the listing's names */
    uint32_t twin; /* 1 + the item that is a name of the same file and comes first; 0: none */
    uint16_t level; /* 0 for a part */
    bool sparse;
    mode_t mode;
    dev_t dev;
    ino_t ino;
    uint64_t size;
    struct timespec mtime;
};

struct listing {
    struct item *items;
    size_t count;
    struct str names; /* a NUL after each */
    uint64_t bytes; /* of content, without holes; twins once */
    uint64_t apparent;
    uint64_t links; /* that lead out */
};

struct listing_source {
    int dir; /* the workspace */
    int parts; /* where unit/ and workflows/ are */
    bool strict; /* nothing may be left out that somebody could miss */
    struct talk *talk; /* for warnings; NULL: none are given */
};

int listing_make(const struct listing_source *source, struct listing *ret, struct err *err);
void listing_free(struct listing *listing);
#define _cleanup_listing_ __attribute__((cleanup(listing_free)))

const char *listing_name(const struct listing *listing, size_t i);
/* "unit/a/file"; the caller frees. */
char *listing_path(const struct listing *listing, size_t i);
/* Fails where the second listing of the same workspace says otherwise. */
int listing_compare(const struct listing *before, const struct listing *after, struct err *err);

/* Opens the part that an item of level 0 is. */
int listing_open_part(const struct listing_source *source, const char *name, int flags);

/* A piece of a file that is no hole. */
struct extent {
    uint64_t at, len;
};
/* Those of a file of `size` bytes; the caller frees. -1 with errno. */
int extents_find(int fd, uint64_t size, struct extent **ret, size_t *ret_count);

#endif
