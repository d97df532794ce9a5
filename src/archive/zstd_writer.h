/*
 * Compression: one frame of zstd, out and in.
 */
#ifndef MAS_ARCHIVE_ZSTD_WRITER_H
#define MAS_ARCHIVE_ZSTD_WRITER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zstd_writer;

/* Writes to `fd`, with a checksum of zstd's own at the end. */
int zstd_writer_new(int fd, int level, struct zstd_writer **ret, struct err *err);
int zstd_writer_write(struct zstd_writer *s, const void *bytes, size_t len, struct err *err);
/* The last bytes. */
int zstd_writer_end(struct zstd_writer *s, struct err *err);
uint64_t zstd_writer_written(const struct zstd_writer *s); /* bytes in the file */
void zstd_writer_freep(struct zstd_writer **zstd);
#define _cleanup_zstd_writer_ __attribute__((cleanup(zstd_writer_freep)))

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
