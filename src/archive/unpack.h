/*
 * Restoring an archive: unpacks arbitrary bytes into an empty directory that mas has created.
 *
 * Entries must be in the order in which mas-archive writes them. So the directory of each entry was
 * created just before and is still open: no path is resolved and no link followed. Anything that
 * does not conform to mas-archive(5) is an error; the caller then removes what was created.
 */
#pragma once

#include "archive/format.h"
#include "archive/parent.h"
#include "base/sha.h"

struct unpack {
    int file; /* the archive */
    int dir; /* the empty directory */
    bool links; /* accept symbolic links that lead out */
    struct parent *parent;
    /* Called after the manifest is read, before anything is created. -1 ends the work. */
    int (*on_manifest)(const struct manifest *manifest, void *arg, struct err *err);
    void *arg;
};

/* Unpacks the archive. Fails with MAS_DAMAGED if the archive is at fault. The error describes it as
 * "it" or "its entry '...'"; the caller adds which archive. The descriptors stay open. The digest
 * is the one of pack_run(): that of the list of checksums. */
int unpack_run(const struct unpack *unpack, char ret_digest[SHA256_TEXT], struct err *err);
