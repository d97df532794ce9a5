/*
 * Reading a log of base/log.h as one stream: the rotated parts, oldest first, and the log itself.
 * It may grow and rotate meanwhile; an offset means the same byte until the reader is closed. Only
 * regular files are read, and no link is followed.
 *
 *     struct log_reader reader = LOG_READER_INIT;
 *     if (log_reader_open(&reader, dir, "session.log", &err) == -1) ...
 *     off_t at = log_reader_start(&reader);
 *     for (;;) {
 *         ssize_t n = log_read(&reader, &at, buf, sizeof buf, &err);    0: that was all
 *         ... when something has changed in `dir`:
 *         log_reader_refresh(&reader, &err);                            and read on
 *     }
 *     log_reader_close(&reader);
 */
#ifndef MAS_BASE_LOG_READ_H
#define MAS_BASE_LOG_READ_H

#include "base/err.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOG_PARTS_MAX = 1024 };

struct log_part {
    dev_t dev;
    ino_t ino; /* what it is known by: its number changes */
    int number; /* it had last; 0: the log itself */
    off_t size; /* as far as it is read */
    int64_t changed_ms; /* when it was written last */
};

struct log_reader {
    int dir; /* not owned */
    char name[LOG_NAME_MAX];
    struct log_part *parts; /* oldest first */
    size_t count;
    off_t base; /* offset of the first part */
    int fd; /* of the part that was read last; -1: none */
    struct log_part open; /* which one that is */
};

#define LOG_READER_INIT                                                                            \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* A log that is not there (yet) is an empty one. */
int log_reader_open(struct log_reader *reader, int dir, const char *name, struct err *err);
void log_reader_close(struct log_reader *reader);
#define _cleanup_log_reader_ __attribute__((cleanup(log_reader_close)))

off_t log_reader_start(const struct log_reader *reader);
off_t log_reader_end(const struct log_reader *reader);

/* The offset of what was written from a time on, to about LOG_TIMES_EVERY_MS; where a log has no
 * times, that of the first part that was written to since. */
off_t log_reader_since(struct log_reader *reader, int64_t ms);

/* Reads at *at and moves it; bytes that are gone meanwhile are passed over. 0 at the end. */
ssize_t log_read(struct log_reader *reader, off_t *at, char *buf, size_t len, struct err *err);

/* Looks for what was written since, once all was read: moves the end, lets older parts go. */
int log_reader_refresh(struct log_reader *reader, struct err *err);

#endif
