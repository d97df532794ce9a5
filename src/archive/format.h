/*
 * The contents of an archive; see mas-archive(5). All entries are below one directory, the id of
 * the session: first the manifest, then the parts, last the checksums of all regular files.
 */
#pragma once

#include "model/manifest.h"

#define FORMAT_MANIFEST "mas-archive.json"
#define FORMAT_SUMS "SHA256SUMS"

enum {
    FORMAT_MANIFEST_MAX = 64 * 1024, /* bytes */
    FORMAT_NAME_MAX = 255, /* bytes of a name, the limit of file systems */
    FORMAT_LINK_MAX = 4095, /* bytes of a symbolic link's target */
};

/* A name at the top of an archive. */
struct part {
    const char *name;
    bool dir;
    bool required;
    bool deep; /* a directory with any contents; otherwise only regular files */
    bool agents; /* it lies where the agents work: store/placement.h */
    mode_t mode; /* mode after restoring; 0: as archived */
    uint64_t max; /* limit of a file in bytes */
};

enum { PARTS_COUNT = 13 };
extern const struct part parts[PARTS_COUNT];

/* Returns the part with this name, or NULL. */
const struct part *part_find(const char *name, size_t len);
