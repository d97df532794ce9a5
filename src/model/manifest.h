/*
 * The manifest of an archive: its first entry, which describes the session and the size of the
 * archive.
 */
#pragma once

#include "base/id.h"
#include "base/json.h"

enum {
    MANIFEST_FORMAT = 1, /* the version of the format */
    MANIFEST_ENTRIES_MAX = 4 * 1000 * 1000,
};

/* Limit for the bytes of all files, holes included, because holes are read for the checksum. */
#define MANIFEST_BYTES_MAX (UINT64_C(1) << 40)

struct manifest {
    char id[ID_TEXT];
    char *name, *template, *mode, *created, *archived, *version;
    uint64_t entries; /* without the manifest, the checksums and the top directory */
    uint64_t bytes; /* of content, without holes */
    uint64_t links; /* symbolic links that point outside the session */
    bool live; /* the session ran: entries and bytes are the most that there may be, links is what
                * was found before */
    bool last; /* the session was to be removed once it was written */
};

/* Appends the manifest to `to` as a JSON object. */
void manifest_format(const struct manifest *manifest, struct str *to);
/* Reads a manifest from a JSON object. Its texts may be any text without control characters. Fails
 * with MAS_DAMAGED if a member is missing, invalid or too large, and with MAS_FAILED for an unknown
 * format. The caller releases *ret with manifest_free(). */
int manifest_read(const struct json *json, struct manifest *ret, struct err *err);
void manifest_free(struct manifest *manifest);
#define _cleanup_manifest_ __attribute__((cleanup(manifest_free)))
