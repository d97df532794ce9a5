/*
 * Decompresses one zstd frame in a thread that works several pieces ahead of its reader. The input
 * must be exactly one frame (RFC 8878): no other format, nothing after it. libarchive's zstd filter
 * takes more frames, and skips some; see test/unit/test_libarchive.c.
 */
#pragma once

struct zstd_reader;

/* Starts to read `fd`, which stays open and belongs to the caller. Free *ret with
 * zstd_reader_freep() even after a failure. */
int zstd_reader_new(int fd, struct zstd_reader **ret, struct err *err);
/* Waits for the next piece. Returns its length, 0 at the end, or -1; the code is MAS_DAMAGED if the
 * input is no such frame. The piece stays valid until zstd_reader_release(), which releases the
 * oldest one. The caller may hold ZSTD_READER_HELD pieces at once. */
enum { ZSTD_READER_HELD = 4 };
ssize_t zstd_reader_next(struct zstd_reader *reader, const void **ret, struct err *err);
void zstd_reader_release(struct zstd_reader *reader);
void zstd_reader_freep(struct zstd_reader **zstd);
