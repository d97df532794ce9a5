/*
 * Reads a log of os/log.h as one stream: the rotated parts, oldest first, and then the log
 * itself. The log may grow and rotate meanwhile; an offset means the same byte until the reader is
 * closed. Only regular files are read, and symbolic links are not followed.
 *
 *     struct log_reader reader = LOG_READER_INIT;
 *     if (log_reader_open(&reader, dir, "session.log", &err) == -1) ...
 *     off_t at = log_reader_start(&reader);
 *     for (;;) {
 *         ssize_t n = log_read(&reader, &at, buf, sizeof buf, &err);    0: end
 *         ... when something has changed in `dir`:
 *         log_reader_refresh(&reader, &err);                            and read on
 *     }
 *     log_reader_close(&reader);
 */
#pragma once

#include "os/log.h"

enum { LOG_PARTS_MAX = 1024 };

struct log_part {
    dev_t dev;
    ino_t ino; /* identifies the part: its number changes */
    int number; /* last known number; 0: the log itself */
    off_t size; /* bytes known to the reader */
    int64_t changed_ms; /* time of the last write */
};

struct log_reader {
    int dir; /* not owned */
    char name[LOG_NAME_MAX];
    struct log_part *parts; /* oldest first */
    size_t count;
    off_t base; /* offset of the first part */
    int fd; /* of the part that was read last; -1: none */
    struct log_part open; /* the part that `fd` belongs to */
};

#define LOG_READER_INIT                                                                            \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Opens the log `name` in `dir`, which must stay open. A missing log counts as empty. Fails if the
 * name is too long or the log cannot be read. The caller closes the reader. */
int log_reader_open(struct log_reader *reader, int dir, const char *name, struct err *err);
void log_reader_close(struct log_reader *reader);
#define _cleanup_log_reader_ __attribute__((cleanup(log_reader_close)))

/* Offsets of the first byte that still exists, and of the end as of the last refresh. */
off_t log_reader_start(const struct log_reader *reader);
off_t log_reader_end(const struct log_reader *reader);

/* Returns the offset of the first byte written at or after the time `ms` (milliseconds since 1970),
 * accurate to about LOG_TIMES_EVERY_MS. For a log without timestamps, returns the start of the
 * first part that was written to since then. */
off_t log_reader_since(struct log_reader *reader, int64_t ms);

/* Reads at most `len` bytes at *at and advances *at; skips bytes that no longer exist. Returns the
 * number of bytes, 0 at the end, or -1. */
ssize_t log_read(struct log_reader *reader, off_t *at, char *buf, size_t len, struct err *err);

/* Looks for new data after everything was read: moves the end and forgets older parts. */
int log_reader_refresh(struct log_reader *reader, struct err *err);
