/*
 * Writing an archive: a workspace that nobody changes, into one file.
 */
#ifndef MAS_ARCHIVE_PACK_H
#define MAS_ARCHIVE_PACK_H

#include "archive/format.h"
#include "archive/talk.h"

#include <stdbool.h>
#include <stdint.h>

struct pack {
    int dir, parts; /* the workspace, and where unit/ and workflows/ are */
    int file; /* where the archive goes */
    int level; /* of compression */
    bool strict; /* leave nothing out but sockets and FIFOs */
    struct talk *talk;
    struct manifest *manifest; /* entries, bytes and links are filled in */
    uint64_t written; /* filled in: bytes of the archive */
};

/* Names what it fails of: "'unit/a/file': Permission denied". */
int pack_run(struct pack *pack, struct err *err);

#endif
