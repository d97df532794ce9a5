/*
 * Bringing an archive back: any bytes, into an empty directory of our own.
 *
 * The order of entries is that in which they are written, so each stands in a directory that was
 * made just before and is still open: no path is ever resolved, and no link followed. What does
 * not fit mas-archive(5) ends it; what was made stays, and is the caller's to remove.
 */
#ifndef MAS_ARCHIVE_UNPACK_H
#define MAS_ARCHIVE_UNPACK_H

#include "archive/format.h"
#include "archive/talk.h"

#include <stdbool.h>

struct unpack {
    int file; /* the archive */
    int dir; /* the directory */
    bool links; /* take symbolic links that lead out, too */
    struct talk *talk;
    /* Asked once the manifest is read, before anything is made. */
    int (*on_manifest)(const struct manifest *manifest, void *arg, struct err *err);
    void *arg;
};

int unpack_run(const struct unpack *unpack, struct err *err);

#endif
