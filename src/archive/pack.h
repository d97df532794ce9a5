/*
 * Writing an archive: packs a workspace, which must not change meanwhile, into a file.
 */
#ifndef MAS_ARCHIVE_PACK_H
#define MAS_ARCHIVE_PACK_H

#include "archive/format.h"
#include "archive/parent.h"

#include <stdbool.h>
#include <stdint.h>

struct pack {
    int dir, parts; /* the workspace; the directory of unit/ and workflows/ */
    int file; /* the new archive */
    int level; /* of compression */
    bool strict; /* fail instead of omitting a file, except sockets and FIFOs */
    struct parent *parent;
    struct manifest *manifest; /* input and output: sets entries, bytes and links */
    uint64_t written; /* output: bytes of the archive */
};

/* Writes the archive. Errors name the file: "'unit/a/file': Permission denied". Fails if the
 * workspace changed meanwhile. All descriptors stay open. */
int pack_run(struct pack *pack, struct err *err);

#endif
