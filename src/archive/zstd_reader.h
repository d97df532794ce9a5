/*
 * Decompression of one zstd frame, by a thread that works some pieces ahead of its reader. The
 * input must be exactly one frame (RFC 8878): no other format, nothing behind it.
 */
#ifndef MAS_ARCHIVE_ZSTD_READER_H
#define MAS_ARCHIVE_ZSTD_READER_H

#include "base/err.h"

#include <sys/types.h>

struct zstd_reader;

/* Begins to read `fd`, which stays the caller's. *ret is to be freed after a failure, too. */
int zstd_reader_new(int fd, struct zstd_reader **ret, struct err *err);
/* Waits for the next piece. Returns its length, 0 at the end, -1 with MAS_DAMAGED if the input is
 * no such frame. The piece stays valid until zstd_reader_release(), which releases the oldest one;
 * the caller may hold ZSTD_READER_HELD at once. */
enum { ZSTD_READER_HELD = 4 };
ssize_t zstd_reader_next(struct zstd_reader *reader, const void **ret, struct err *err);
void zstd_reader_release(struct zstd_reader *reader);
void zstd_reader_freep(struct zstd_reader **zstd);
#define _cleanup_zstd_reader_ __attribute__((cleanup(zstd_reader_freep)))

#endif
