/*
 * Logs of limited size. A log is appended to and, when it reaches its size limit, renamed to
 * <name>.1, .2, and so on. Several processes may append to one log; a process that finds the log
 * too large renames it under a lock on the log itself. A failed write stops no caller: mas counts
 * the lost bytes. If file sizes are limited (RLIMIT_FSIZE), logs rotate before that limit, because
 * exceeding it kills the process.
 *
 * A log of raw bytes can have timestamps in <name>.times (<name>.1.times, and so on). Each line,
 * "<epoch ms> <offset>\n", records how long the log was at that time; at most one line is written
 * per second. Both files rotate together.
 */
#pragma once

#define LOG_TIMES ".times" /* suffix of a log's file of timestamps */

enum { LOG_NAME_MAX = 80, LOG_TIMES_EVERY_MS = 1000, LOG_PART_NAME = LOG_NAME_MAX + 24 };

struct log_limits {
    off_t size; /* bytes, not 0; the log rotates before it exceeds this */
    int keep; /* number of old logs to keep */
};

struct log {
    int dir; /* not owned */
    char name[LOG_NAME_MAX];
    struct log_limits limits;
    bool with_times;
    int fd, times; /* -1: closed, or cannot be opened */
    off_t size, times_size;
    int64_t last_ms; /* time of the newest line in .times */
    uint64_t lost; /* total of bytes that could not be written */
};

#define LOG_INIT                                                                                   \
    {                                                                                              \
        .fd = -1, .times = -1                                                                      \
    }

/* Opens the log for appending and creates it with mode 0600. `dir` must stay open as long as the
 * log. Fails only if `name` is too long; if the log cannot be opened now, each write tries
 * again. */
int log_open(struct log *log, int dir, const char *name, struct log_limits limits, bool with_times,
             struct err *err);
/* Appends all bytes and counts those that could not be written. Returns false if this call lost
 * some. */
bool log_write(struct log *log, const char *bytes, size_t len);
void log_close(struct log *log);

/* Writes to `buf` the name of the log (n is 0) or of old log number n, followed by `suffix`, for
 * example LOG_TIMES. */
void log_part_name(const char *name, int n, const char *suffix, char buf[LOG_PART_NAME]);

/* Opens the log, appends one line and closes it: for logs with many writers. `line` ends with a
 * newline. */
void log_line(int dir, const char *name, struct log_limits limits, const char *line);
/* Appends a line likewise: the time and `text`, with control characters as \xNN. */
void log_text(int dir, const char *name, struct log_limits limits, const char *text);
