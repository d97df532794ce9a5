/*
 * Logs that do not grow without a limit: appended to, and renamed to <name>.1, .2, ... when they
 * reach a size. Several processes may append to one log; whoever finds it too large renames it
 * under a lock on the log itself. A log that cannot be written stops nobody: what is lost is
 * counted. Where files have a limit (RLIMIT_FSIZE), logs rotate before it, since reaching it is
 * deadly.
 *
 * A log that is not lines but bytes can keep times beside it, in <name>.times (<name>.1.times,
 * ...): lines "<epoch ms> <offset>\n", at most one a second, that say how long the log was then.
 * They rotate together.
 */
#ifndef MAS_BASE_LOG_H
#define MAS_BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOG_TIMES ".times" /* what stands behind a log's name for its times */

enum { LOG_NAME_MAX = 80, LOG_TIMES_EVERY_MS = 1000, LOG_PART_NAME = LOG_NAME_MAX + 24 };

struct log_limits {
    off_t size; /* bytes, not 0; rotated before it grows beyond */
    int keep; /* how many old ones */
};

struct log {
    int dir; /* not owned */
    char name[LOG_NAME_MAX];
    struct log_limits limits;
    bool with_times;
    int fd, times; /* -1: closed, or could not be opened */
    off_t size, times_size;
    int64_t last_ms; /* of the newest line in .times */
    uint64_t lost; /* bytes that could not be written, ever */
};

#define LOG_INIT                                                                                   \
    {                                                                                              \
        .fd = -1, .times = -1                                                                      \
    }

/* Opens (0600) and appends from then on. Fails only where `name` is too long; a log that cannot be
 * opened now is tried again with each write. */
int log_open(struct log *log, int dir, const char *name, struct log_limits limits, bool with_times,
             struct err *err);
/* Appends all bytes, or counts what was lost. false: some were lost just now. */
bool log_write(struct log *log, const char *bytes, size_t len);
void log_close(struct log *log);

/* The name of a log (n 0), or of the old one of that number, and the suffix, such as LOG_TIMES. */
void log_part_name(const char *name, int n, const char *suffix, char buf[LOG_PART_NAME]);

/* Opens, appends one line, closes: for logs that many write to. `line` ends with a newline. */
void log_line(int dir, const char *name, struct log_limits limits, const char *line);

#endif
