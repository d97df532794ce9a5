/*
 * What an archive is made of; see mas-archive(5). All entries are below one directory, the id of
 * the session: first the manifest, then the parts, last the checksums of all regular files.
 */
#ifndef MAS_ARCHIVE_FORMAT_H
#define MAS_ARCHIVE_FORMAT_H

#include "model/manifest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FORMAT_MANIFEST "mas-archive.json"
#define FORMAT_SUMS "SHA256SUMS"

enum {
    FORMAT_MANIFEST_MAX = 64 * 1024, /* bytes */
    FORMAT_NAME_MAX = 255, /* bytes of one name, as file systems have it */
    FORMAT_LINK_MAX = 4095, /* bytes of a symbolic link */
};

/* Names that an archive holds at its top. */
struct part {
    const char *name;
    bool dir;
    bool required;
    bool deep; /* of a directory: it holds anything; else regular files alone */
    bool agents; /* in legacy mode it is in the root */
    mode_t mode; /* what it is brought back with; 0: what it had */
    uint64_t max; /* bytes of a file */
};

enum { PARTS_COUNT = 7 };
extern const struct part parts[PARTS_COUNT];

/* NULL where there is none of that name. */
const struct part *part_find(const char *name, size_t len);

/* true for the target of a link that stands `level` directories below the session's own: it is
 * absolute, goes up further than that, or goes up anywhere but at its beginning, where a link in
 * front of it could make that lead anywhere. */
bool link_leads_out(const char *target, size_t level);

#endif
