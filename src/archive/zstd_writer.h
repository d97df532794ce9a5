/*
 * Compresses into one zstd frame (RFC 8878) with several threads. libarchive's zstd filter writes
 * no checksum at the end of the frame; see test/unit/test_libarchive.c.
 */
#pragma once

struct zstd_writer;

/* Starts to write to `fd`, which stays open and belongs to the caller. The frame ends with zstd's
 * own checksum. Free *ret with zstd_writer_freep() even after a failure. */
int zstd_writer_new(int fd, int level, struct zstd_writer **ret, struct err *err);
/* Compresses bytes, and writes to the file when a buffer is full. */
int zstd_writer_write(struct zstd_writer *writer, const void *bytes, size_t len, struct err *err);
/* Ends the frame and writes the remaining bytes. */
int zstd_writer_end(struct zstd_writer *writer, struct err *err);
uint64_t zstd_writer_written(const struct zstd_writer *writer); /* bytes written to the file */
void zstd_writer_freep(struct zstd_writer **zstd);
#define _cleanup_zstd_writer_ __attribute__((cleanup(zstd_writer_freep)))
