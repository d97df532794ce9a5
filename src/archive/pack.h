/*
 * Writing an archive: packs a workspace into a file.
 *
 * A workspace that is not `live` must not change meanwhile. One of a session that runs is packed as
 * it is: a file that has changed, shrunk (it is filled with zeros) or vanished is a warning; the
 * repositories are consistent (archive/listing.h). Only a repository whose objects were packed anew
 * meanwhile is an error, MAS_CONFLICT: another attempt succeeds.
 */
#pragma once

#include "archive/format.h"
#include "archive/parent.h"
#include "base/sha.h"

struct pack {
    int dir, parts; /* the workspace; the directory of unit/ and workflows/ */
    int file; /* the new archive */
    int level; /* of compression */
    bool strict; /* fail instead of omitting a file, except sockets and FIFOs; live: only one that
                  * cannot be read */
    bool live;
    int spool; /* live: see struct listing_source, also for the next one */
    int64_t memory;
    struct parent *parent;
    struct manifest *manifest; /* input and output: sets entries, bytes and links */
    uint64_t written; /* output: bytes of the archive */
    char digest[SHA256_TEXT]; /* output: of the list of checksums */
};

/* Writes the archive. Errors name the file: "'unit/a/file': Permission denied". Fails if the
 * workspace changed meanwhile. All descriptors stay open. */
int pack_run(struct pack *pack, struct err *err);
