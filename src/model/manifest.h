/*
 * The manifest of an archive: what stands at its beginning, and says whose it is and how much.
 */
#ifndef MAS_MODEL_MANIFEST_H
#define MAS_MODEL_MANIFEST_H

#include "base/err.h"
#include "base/id.h"
#include "base/json.h"
#include "base/str.h"

#include <stdint.h>

enum {
    MANIFEST_FORMAT = 1, /* the version of the format */
    MANIFEST_ENTRIES_MAX = 4 * 1000 * 1000,
};

/* Bytes of all files, with their holes, each of which is read for its checksum. */
#define MANIFEST_BYTES_MAX (UINT64_C(1) << 40)

struct manifest {
    char id[ID_TEXT];
    char *name, *template, *mode, *created, *archived, *version;
    uint64_t entries; /* without the manifest, the checksums and the top directory */
    uint64_t bytes; /* of content, without holes */
    uint64_t links; /* symbolic links that lead out of the session */
};

/* Appends an object. */
void manifest_format(const struct manifest *manifest, struct str *to);
/* Reads an object; its texts may be anything without control characters. */
int manifest_read(const struct json *json, struct manifest *ret, struct err *err);
void manifest_free(struct manifest *manifest);
#define _cleanup_manifest_ __attribute__((cleanup(manifest_free)))

#endif
