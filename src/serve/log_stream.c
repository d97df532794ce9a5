/*
 * All positions are those of the log reader (os/log_read.h); byte 0 of the stream is where the
 * log began when it was opened. If the reader had to skip what was removed meanwhile, the stream
 * ends, because its bytes would no longer have their numbers. A stream that goes on watches logs/
 * and the workspace: a session that is removed moves first, and that ends it.
 */

#include "serve/log_stream.h"

#include "os/file.h"
#include "os/path.h"
#include "os/watch.h"
#include "store/workspace.h"

enum { RANGE_DIGITS = 15 }; /* of a number in a header Range */

struct log_stream {
    int logs; /* the directory */
    int changes; /* a watch; -1: it does not follow */
    int moved; /* the watch of the workspace */
    struct log_reader reader;
    off_t start; /* byte 0, as the reader counts */
    off_t at, end; /* likewise; `end` is where the stream ends */
    bool over;
};

/* The workspace is watched because removing a session moves it first. */
static int follow(struct log_stream *stream, int dir, struct err *err)
{
    stream->changes = watch_open();
    stream->moved = watch_add(stream->changes, dir, WATCH_MOVED);
    if (stream->moved == -1 ||
        watch_add(stream->changes, stream->logs, WATCH_WRITTEN | WATCH_CREATED | WATCH_CAME) == -1)
        return err_errno(err, "cannot follow the log");
    return 0;
}

int log_stream_open(int dir, const char *name, bool follows, struct log_stream **ret,
                    struct err *err)
{
    struct log_stream *stream = mem_alloc(sizeof *stream);

    *stream = (struct log_stream){.changes = -1, .moved = -1, .reader = LOG_READER_INIT};
    stream->logs = path_open_dir(dir, WORKSPACE_LOGS);
    int rc = stream->logs == -1 ? err_errno(err, "cannot read the logs") : 0;
    if (rc == 0 && follows)
        rc = follow(stream, dir, err);
    if (rc == 0)
        rc = log_reader_open(&stream->reader, stream->logs, name, err);
    if (rc == -1) {
        log_stream_free(stream);
        return -1;
    }
    stream->start = stream->at = log_reader_start(&stream->reader);
    stream->end = follows ? LOG_RANGE_END : log_reader_end(&stream->reader);
    *ret = stream;
    return 0;
}

void log_stream_free(struct log_stream *stream)
{
    if (stream == NULL)
        return;
    log_reader_close(&stream->reader);
    fd_closep(&stream->changes);
    fd_closep(&stream->logs);
    free(stream);
}

uint64_t log_stream_tag(const struct log_stream *stream)
{
    const struct log_part *first = stream->reader.count > 0 ? stream->reader.parts : NULL;

    return first == NULL ? 0 : (uint64_t)first->ino ^ (uint64_t)first->dev << 40;
}

off_t log_stream_size(const struct log_stream *stream)
{
    return log_reader_end(&stream->reader) - stream->start;
}

/* Parses digits; returns -1 if there are none, or too many. */
static off_t parse_number(const char **text)
{
    size_t len = strspn(*text, "0123456789");
    off_t n = len > 0 && len <= RANGE_DIGITS ? (off_t)strtoll(*text, NULL, 10) : -1;

    if (len > RANGE_DIGITS)
        n = LOG_RANGE_END;
    *text += len;
    return n;
}

/* Parses "bytes=A-B", "bytes=A-" and "bytes=-N" (then *ret_last is N, and *ret_first -1). */
static bool parse_range(const char *range, off_t *ret_first, off_t *ret_last)
{
    static const char unit[] = "bytes=";

    if (range == NULL || strncasecmp(range, unit, strlen(unit)) != 0)
        return false;
    range += strlen(unit);
    off_t first = parse_number(&range);
    if (*range != '-')
        return false;
    range++;
    off_t last = parse_number(&range);
    if (*range != '\0' || (first == -1 && last == -1) ||
        (first != -1 && last != -1 && last < first))
        return false;
    *ret_first = first;
    *ret_last = last;
    return true;
}

enum log_range log_stream_cut(struct log_stream *stream, const char *range, off_t *ret_first,
                              off_t *ret_last)
{
    bool follows = stream->changes != -1;
    off_t size = log_stream_size(stream);
    off_t first;
    off_t last;

    if (!parse_range(range, &first, &last))
        return LOG_WHOLE;
    if (first == -1) {
        if (last == 0 && !follows)
            return LOG_NO_PART;
        first = last < size ? size - last : 0;
        last = -1;
    }
    if (first > size || (first == size && !follows))
        return LOG_NO_PART;
    off_t most = follows ? LOG_RANGE_END : size - 1;
    *ret_first = first;
    *ret_last = last == -1 || last > most ? most : last;
    stream->at = stream->start + first;
    if (*ret_last < LOG_RANGE_END)
        stream->end = stream->start + *ret_last + 1;
    return LOG_PART;
}

off_t log_stream_length(const struct log_stream *stream)
{
    return stream->end == LOG_RANGE_END ? -1 : stream->end - stream->at;
}

ssize_t log_stream_read(struct log_stream *stream, char *buf, size_t max)
{
    struct err ignored = ERR_INIT;
    off_t before = stream->at;
    off_t left = stream->end - before;

    if (stream->over || left <= 0)
        return -1;
    if ((off_t)max > left)
        max = (size_t)left;
    if (stream->changes != -1 && log_reader_refresh(&stream->reader, &ignored) == -1)
        return -1;
    ssize_t n = log_read(&stream->reader, &stream->at, buf, max, &ignored);
    if (n < 0 || stream->at != before + n || (n == 0 && stream->changes == -1))
        stream->over = true; /* what comes next was removed meanwhile */
    return stream->over ? -1 : n;
}

void log_stream_want(const struct log_stream *stream, int client, struct loop *loop)
{
    loop_want(loop, stream->changes, POLLIN);
    loop_want(loop, client, POLLRDHUP);
}

static void on_change(const struct watch_change *change, void *arg)
{
    struct log_stream *stream = arg;

    stream->over = stream->over || change->number == stream->moved;
}

bool log_stream_turn(struct log_stream *stream, int client, struct loop *loop)
{
    if (loop_got(loop, client) != 0) {
        stream->over = true;
        return true;
    }
    return loop_got(loop, stream->changes) != 0 && watch_read(stream->changes, on_change, stream);
}
