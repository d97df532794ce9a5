/*
 * The checksums of an archive's files, computed in a thread of their own beside reading, writing
 * and compressing. The list is what sha256sum(1) prints, and `sha256sum -c` takes.
 */
#ifndef MAS_ARCHIVE_HASHER_H
#define MAS_ARCHIVE_HASHER_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct hasher;

int hasher_new(struct hasher **ret, struct err *err);
void hasher_freep(struct hasher **hasher);
#define _cleanup_hasher_ __attribute__((cleanup(hasher_freep)))

/* Takes the next bytes of the file. They must stay as they are until hasher_wait() of the ticket
 * has returned. */
uint64_t hasher_feed(struct hasher *hasher, const void *bytes, size_t len);
/* Zeros, as a hole reads. */
void hasher_feed_zeros(struct hasher *hasher, uint64_t len);
void hasher_wait(struct hasher *hasher, uint64_t ticket);
/* The file is whole; its line is added under this name. */
void hasher_end_file(struct hasher *hasher, const char *name);
/* Waits for all. The list belongs to the hasher. */
const struct str *hasher_list(struct hasher *hasher);

#endif
