/*
 * Compression: one frame of zstd, out and in.
 */
#ifndef MAS_ARCHIVE_SQUEEZE_H
#define MAS_ARCHIVE_SQUEEZE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct squeeze;

/* Writes to `fd`, with a checksum of zstd's own at the end. */
int squeeze_new(int fd, int level, struct squeeze **ret, struct err *err);
int squeeze_write(struct squeeze *squeeze, const void *bytes, size_t len, struct err *err);
/* The last bytes. */
int squeeze_end(struct squeeze *squeeze, struct err *err);
uint64_t squeeze_written(const struct squeeze *squeeze); /* bytes in the file */
void squeeze_freep(struct squeeze **squeeze);
#define _cleanup_squeeze_ __attribute__((cleanup(squeeze_freep)))

/*
 * Reading, in a thread that is some pieces ahead. The input must be exactly one frame: no other
 * format, nothing behind it (MAS_DAMAGED).
 */
struct unsqueeze;

int unsqueeze_new(int fd, struct unsqueeze **ret, struct err *err);
/* The next piece: its length, 0 at the end, or -1. It is the caller's until unsqueeze_give_back(),
 * which gives back the oldest one; at most UNSQUEEZE_HELD may be held. */
enum { UNSQUEEZE_HELD = 4 };
ssize_t unsqueeze_take(struct unsqueeze *unsqueeze, const void **ret, struct err *err);
void unsqueeze_give_back(struct unsqueeze *unsqueeze);
void unsqueeze_freep(struct unsqueeze **unsqueeze);
#define _cleanup_unsqueeze_ __attribute__((cleanup(unsqueeze_freep)))

#endif
