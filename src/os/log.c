/*
 * Each write first makes sure that its descriptor is the file that has the name, since another
 * process may have rotated the log. The rotation goes from the oldest part to the newest and never
 * waits: while somebody has the lock, the log grows beyond its limit, up to twice of it. A kill in
 * between leaves a gap in the numbers, which log_read.c expects.
 */

#include "os/log.h"

#include "base/time.h"
#include "os/file.h"

#include <sys/file.h>
#include <sys/resource.h>

void log_part_name(const char *name, int n, const char *suffix, char buf[LOG_PART_NAME])
{
    if (n == 0)
        (void)snprintf(buf, LOG_PART_NAME, "%s%s", name, suffix);
    else
        (void)snprintf(buf, LOG_PART_NAME, "%s.%d%s", name, n, suffix);
}

/* Returns true if `fd` is the file with that name; then *ret_size is its size. */
static bool is_current(const struct log *log, int fd, const char *suffix, off_t *ret_size)
{
    char name[LOG_PART_NAME];
    struct stat st;

    log_part_name(log->name, 0, suffix, name);
    if (fd == -1 || !file_is_named(log->dir, name, fd, &st) || st.st_nlink > 1)
        return false;
    *ret_size = st.st_size;
    return true;
}

/* Makes *fd refer to the file that has the name now: another process may have rotated the log, and
 * agents can write to the directory. Accepts only a file without other names. */
static bool keep_open(const struct log *log, const char *suffix, int *fd, off_t *size)
{
    char name[LOG_PART_NAME];
    struct err ignored = ERR_INIT;
    struct stat st;

    if (is_current(log, *fd, suffix, size))
        return true;
    fd_closep(fd);
    log_part_name(log->name, 0, suffix, name);
    *fd = file_open_own(log->dir, name, O_WRONLY | O_APPEND | O_CREAT, &ignored);
    if (*fd == -1 || fstat(*fd, &st) == -1)
        return false;
    *size = st.st_size;
    return true;
}

/* A log that cannot be rotated may exceed its limit by as much again, and a write adds up to one
 * more limit. */
enum { SHARE_OF_RLIMIT = 3 };

static off_t below_rlimit(off_t size)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == -1 || limit.rlim_cur / SHARE_OF_RLIMIT >= (rlim_t)size)
        return size;
    return limit.rlim_cur >= SHARE_OF_RLIMIT ? (off_t)(limit.rlim_cur / SHARE_OF_RLIMIT) : 1;
}

int log_open(struct log *log, int dir, const char *name, struct log_limits limits, bool with_times,
             struct err *err)
{
    if (strlen(name) >= LOG_NAME_MAX)
        return err_set(err, MAS_FAILED, "cannot open log '%s': its name is too long", name);
    *log = (struct log)LOG_INIT;
    log->dir = dir;
    (void)snprintf(log->name, sizeof log->name, "%s", name);
    log->limits = limits;
    log->limits.size = below_rlimit(limits.size);
    log->with_times = with_times;
    (void)keep_open(log, "", &log->fd, &log->size);
    return 0;
}

/* Renames each part to the next number and deletes those beyond the limit. */
static bool shift(const struct log *log, const char *suffix)
{
    char from[LOG_PART_NAME];
    char to[LOG_PART_NAME];
    int keep = log->limits.keep;
    bool done = true;

    for (int n = keep;; n++) { /* there may be more if `keep` was larger */
        log_part_name(log->name, n, suffix, from);
        if (unlinkat(log->dir, from, 0) == -1 && n > keep)
            break;
    }
    for (int n = keep - 1; n >= 0; n--) {
        log_part_name(log->name, n, suffix, from);
        log_part_name(log->name, n + 1, suffix, to);
        if (renameat(log->dir, from, log->dir, to) == -1 && n == 0)
            done = false;
    }
    return done;
}

/* Never waits for the lock: another process rotates the log, or a reader of the log holds the
 * lock. */
static bool rotate(struct log *log)
{
    off_t ignored;

    if (flock(log->fd, LOCK_EX | LOCK_NB) == -1)
        return false;
    /* the lock is valid only on the file that has the name */
    bool done = is_current(log, log->fd, "", &ignored) && shift(log, "");
    if (done && log->with_times)
        (void)shift(log, LOG_TIMES);
    (void)flock(log->fd, LOCK_UN);
    return done;
}

/* Opens the log, and rotates it if `more` bytes would not fit. */
static bool prepare(struct log *log, off_t more)
{
    off_t size = log->limits.size;

    if (!keep_open(log, "", &log->fd, &log->size))
        return false;
    bool full = log->size > 0 && (log->size > size - more || log->times_size > size / 2);
    if (!full)
        return true;
    if (rotate(log))
        return keep_open(log, "", &log->fd, &log->size);
    /* another process may have rotated it; otherwise tolerate up to twice the size */
    return keep_open(log, "", &log->fd, &log->size) && log->size < 2 * size;
}

/* Records how long the log is before more is written. */
static void note_time(struct log *log)
{
    char line[64];
    int64_t now = time_epoch_ms();
    bool again = log->size == 0; /* times of bytes that no longer exist are invalid */

    if (!again && now >= log->last_ms && now - log->last_ms < LOG_TIMES_EVERY_MS)
        return;
    if (!keep_open(log, LOG_TIMES, &log->times, &log->times_size))
        return;
    if (again && log->times_size > 0 && ftruncate(log->times, 0) == 0)
        log->times_size = 0;
    int len = snprintf(line, sizeof line, "%lld %lld\n", (long long)now, (long long)log->size);
    if (file_write_all(log->times, line, (size_t)len) == -1)
        return;
    log->times_size += len;
    log->last_ms = now;
}

bool log_write(struct log *log, const char *bytes, size_t len)
{
    size_t most = (size_t)log->limits.size;

    while (len > 0) {
        size_t n = len < most ? len : most;
        size_t done = 0;
        if (prepare(log, (off_t)n)) {
            if (log->with_times)
                note_time(log);
            done = file_write_most(log->fd, bytes, n);
            log->size += (off_t)done;
        }
        bytes += done;
        len -= done;
        if (done < n) {
            log->lost += len;
            return false;
        }
    }
    return true;
}

void log_close(struct log *log)
{
    fd_closep(&log->fd);
    fd_closep(&log->times);
}

void log_line(int dir, const char *name, struct log_limits limits, const char *line)
{
    struct log log = LOG_INIT;
    struct err ignored = ERR_INIT;

    if (log_open(&log, dir, name, limits, false, &ignored) == 0)
        (void)log_write(&log, line, strlen(line));
    log_close(&log);
}

void log_text(int dir, const char *name, struct log_limits limits, const char *text)
{
    _cleanup_str_ struct str line = STR_INIT;
    char now[TIME_TEXT];

    time_format(time(NULL), now);
    str_addf(&line, "%s ", now);
    str_add_visible(&line, text, strlen(text));
    str_addc(&line, '\n');
    log_line(dir, name, limits, line.data);
}
