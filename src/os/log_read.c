/*
 * A part is known by its inode, because a rotation renames it at any time: who opens one asks again
 * which number it has. Parts are listed from the newest to the oldest, so that one which moves
 * meanwhile is seen twice and never missed. A refresh keeps the last known part as the first of the
 * new list, and with it the offsets.
 */

#include "os/log_read.h"

#include "os/path.h"

/* During a rotation one number is missing; two missing numbers are the end. */
enum { TIME_LINE = 64, GAP_MAX = 1 };

static bool is_same(const struct log_part *a, const struct log_part *b)
{
    return a->dev == b->dev && a->ino == b->ino;
}

/* Examines part `number`. Returns -1 with errno, EINVAL if it is not a regular file. */
static int look(const struct log_reader *reader, int number, struct log_part *ret)
{
    char name[LOG_PART_NAME];
    struct stat st;

    log_part_name(reader->name, number, "", name);
    if (fstatat(reader->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    *ret = (struct log_part){
        .dev = st.st_dev,
        .ino = st.st_ino,
        .number = number,
        .size = st.st_size,
        .changed_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
    };
    return 0;
}

/* Finds the current number of a part; a rotation can only increase it. */
static bool find(const struct log_reader *reader, const struct log_part *part, int *ret_number)
{
    struct log_part there;
    int gap = 0;

    for (int n = part->number; n < LOG_PARTS_MAX && gap <= GAP_MAX; n++) {
        if (look(reader, n, &there) == -1) {
            gap++;
            continue;
        }
        gap = 0;
        if (is_same(&there, part)) {
            *ret_number = n;
            return true;
        }
    }
    return false;
}

/* Lists the parts, oldest first; without those before `last` unless that is NULL. Starts with the
 * newest, so a rotation meanwhile duplicates a part but never hides one. */
static struct log_part *list(const struct log_reader *reader, const struct log_part *last,
                             size_t *ret_count)
{
    struct log_part *parts = NULL;
    struct log_part part;
    size_t count = 0;
    int gap = 0;

    for (int n = 0; n < LOG_PARTS_MAX && gap <= GAP_MAX; n++) {
        if (look(reader, n, &part) == -1) {
            gap++;
            continue;
        }
        gap = 0;
        if (count > 0 && is_same(&part, &parts[count - 1]))
            continue;
        if (last != NULL && part.changed_ms < last->changed_ms)
            break; /* `last` was removed, and this part is older */
        parts = mem_room(parts, count, sizeof *parts);
        parts[count++] = part;
        if (last != NULL && is_same(&part, last))
            break;
    }
    for (size_t i = 0; i < count / 2; i++) {
        part = parts[i];
        parts[i] = parts[count - 1 - i];
        parts[count - 1 - i] = part;
    }
    *ret_count = count;
    return parts;
}

/* Fails if the file with the log's name cannot be a log. */
static int check(const struct log_reader *reader, struct err *err)
{
    struct log_part ignored;
    struct stat st;

    if (look(reader, 0, &ignored) == 0 || errno == ENOENT)
        return 0;
    if (errno != EINVAL)
        return err_errno(err, "cannot read log '%s'", reader->name);
    if (fstatat(reader->dir, reader->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    return err_set(err, MAS_FAILED, "cannot read log '%s': it is %s", reader->name,
                   path_type_name(st.st_mode));
}

int log_reader_open(struct log_reader *reader, int dir, const char *name, struct err *err)
{
    if (strlen(name) >= LOG_NAME_MAX)
        return err_set(err, MAS_FAILED, "cannot read log '%s': its name is too long", name);
    *reader = (struct log_reader)LOG_READER_INIT;
    reader->dir = dir;
    (void)snprintf(reader->name, sizeof reader->name, "%s", name);
    if (check(reader, err) == -1)
        return -1;
    reader->parts = list(reader, NULL, &reader->count);
    return 0;
}

void log_reader_close(struct log_reader *reader)
{
    free(reader->parts);
    fd_closep(&reader->fd);
    *reader = (struct log_reader)LOG_READER_INIT;
}

off_t log_reader_start(const struct log_reader *reader)
{
    return reader->base;
}

off_t log_reader_end(const struct log_reader *reader)
{
    off_t end = reader->base;

    for (size_t i = 0; i < reader->count; i++)
        end += reader->parts[i].size;
    return end;
}

/* Opens a regular file. Returns its descriptor, or -1. */
static int open_regular(int dir, const char *name, struct stat *ret)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd != -1 && (fstat(fd, ret) == -1 || !S_ISREG(ret->st_mode))) {
        (void)close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* Makes reader->fd refer to a part. Returns -1 with errno, ENOENT if the part is gone. */
static int open_part(struct log_reader *reader, struct log_part *part)
{
    char name[LOG_PART_NAME];
    struct stat st;

    if (reader->fd != -1 && is_same(part, &reader->open))
        return 0;
    fd_closep(&reader->fd);
    while (find(reader, part, &part->number)) {
        log_part_name(reader->name, part->number, "", name);
        int fd = open_regular(reader->dir, name, &st);
        if (fd != -1 && st.st_ino == part->ino && st.st_dev == part->dev) {
            reader->fd = fd;
            reader->open = *part;
            return 0;
        }
        if (fd == -1 && errno != ENOENT && errno != ELOOP && errno != EINVAL)
            return -1;
        fd_closep(&fd); /* rotated since it was examined */
    }
    errno = ENOENT;
    return -1;
}

ssize_t log_read(struct log_reader *reader, off_t *at, char *buf, size_t len, struct err *err)
{
    off_t start = reader->base;

    if (*at < start)
        *at = start;
    for (size_t i = 0; i < reader->count; i++) {
        struct log_part *part = &reader->parts[i];
        off_t end = start + part->size;
        if (*at < end) {
            size_t most = (size_t)(end - *at) < len ? (size_t)(end - *at) : len;
            ssize_t n =
                open_part(reader, part) == -1 ? -1 : pread(reader->fd, buf, most, *at - start);
            if (n > 0) {
                *at += n;
                return n;
            }
            if (n == -1 && errno != ENOENT)
                return err_errno(err, "cannot read log '%s'", reader->name);
            *at = end; /* it was truncated or is gone */
        }
        start = end;
    }
    return 0;
}

int log_reader_refresh(struct log_reader *reader, struct err *err)
{
    struct log_part *last = reader->count > 0 ? &reader->parts[reader->count - 1] : NULL;
    size_t count = 0;

    if (check(reader, err) == -1)
        return -1;
    struct log_part *parts = list(reader, last, &count);
    if (count == 0) { /* removed, or not recreated yet */
        free(parts);
        return 0;
    }
    reader->base = log_reader_end(reader);
    /* the known bytes of the last part come before the new base, unless it was truncated: then it
     * is read again from its start */
    if (last != NULL && is_same(last, &parts[0]) && parts[0].size >= last->size)
        reader->base -= last->size;
    free(reader->parts);
    reader->parts = parts;
    reader->count = count;
    return 0;
}

/* Reads "<epoch ms> <offset>\n". */
static bool parse_time(const char *line, int64_t *ret_ms, off_t *ret_offset)
{
    char *end = NULL;

    if (line[0] < '0' || line[0] > '9')
        return false;
    errno = 0;
    intmax_t ms = strtoimax(line, &end, 10);
    if (errno != 0 || end[0] != ' ' || end[1] < '0' || end[1] > '9')
        return false;
    intmax_t offset = strtoimax(end + 1, &end, 10);
    if (errno != 0 || end[0] != '\n')
        return false;
    *ret_ms = ms;
    *ret_offset = offset;
    return true;
}

/* Opens the times of a part, or returns NULL. */
static FILE *open_times(const struct log_reader *reader, struct log_part *part)
{
    char name[LOG_PART_NAME];
    struct stat st;

    if (!find(reader, part, &part->number))
        return NULL;
    log_part_name(reader->name, part->number, LOG_TIMES, name);
    int fd = open_regular(reader->dir, name, &st);
    FILE *file = fd != -1 ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        fd_closep(&fd);
    return file;
}

/* Returns the offset, in a part that was written to since `ms`, of the first byte from then. */
static off_t since_in(const struct log_reader *reader, struct log_part *part, int64_t ms)
{
    char line[TIME_LINE];
    FILE *times = open_times(reader, part);
    off_t offset = 0;
    int64_t time = 0;

    if (times == NULL)
        return 0;
    /* bytes after a time were written within LOG_TIMES_EVERY_MS of it, or have their own time */
    while (fgets(line, sizeof line, times) != NULL)
        if (parse_time(line, &time, &offset) && time > ms - LOG_TIMES_EVERY_MS)
            break;
    (void)fclose(times);
    return offset < part->size ? offset : part->size;
}

off_t log_reader_since(struct log_reader *reader, int64_t ms)
{
    off_t start = reader->base;

    for (size_t i = 0; i < reader->count; i++) {
        struct log_part *part = &reader->parts[i];
        if (part->changed_ms >= ms)
            return start + since_in(reader, part, ms);
        start += part->size;
    }
    return start;
}
