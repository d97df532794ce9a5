#include "os/transcript.h"

#include "base/hash.h"

enum {
    TAIL = 256, /* bytes before the offset that are hashed */
    LAST_MAX = 65536, /* bytes of a last line that is short */
};

int64_t transcript_hash(const char *bytes, size_t len)
{
    return (int64_t)(hash_bytes(HASH_START, bytes, len) >> 1); /* never below 0 */
}

/* Reads as much as there is. Returns the number of bytes. */
static size_t read_at(int fd, char *to, size_t len, int64_t offset)
{
    size_t got = 0;
    ssize_t n;

    while (got < len && (n = pread(fd, to + got, len - got, offset + (int64_t)got)) != 0) {
        if (n == -1 && errno != EINTR)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

static int64_t hash_tail(int fd, int64_t offset)
{
    char bytes[TAIL] = "";
    size_t len = offset < TAIL ? (size_t)offset : TAIL;

    return transcript_hash(bytes, read_at(fd, bytes, len, offset - (int64_t)len));
}

static void skip_to(struct transcript *transcript, int fd, int64_t offset)
{
    transcript->skipped = 0;
    transcript->offset = offset;
    transcript->tail = hash_tail(fd, offset);
}

enum transcript_found transcript_look(struct transcript *transcript, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == -1)
        return TRANSCRIPT_SAME;
    int64_t mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (transcript->seen.inode == st.st_ino && transcript->seen.size == st.st_size &&
        transcript->seen.mtime_ns == mtime)
        return TRANSCRIPT_SAME;
    transcript->seen.inode = st.st_ino;
    transcript->seen.size = st.st_size;
    transcript->seen.mtime_ns = mtime;
    if (transcript->offset + transcript->skipped > st.st_size ||
        (transcript->offset > 0 && hash_tail(fd, transcript->offset) != transcript->tail)) {
        skip_to(transcript, fd, st.st_size);
        return TRANSCRIPT_REPLACED;
    }
    return transcript->offset + transcript->skipped < st.st_size ? TRANSCRIPT_NEW : TRANSCRIPT_SAME;
}

/* Takes the whole lines of a piece, which is read at the offset. */
static void take_lines(struct transcript *transcript, const char *piece, size_t len,
                       transcript_line *each, void *arg)
{
    size_t at = 0;
    const char *end;

    while ((end = memchr(piece + at, '\n', len - at)) != NULL) {
        size_t n = (size_t)(end - piece) - at;
        if (transcript->skipped == 0 && n > 0)
            each(piece + at, n, arg);
        transcript->offset += transcript->skipped + (int64_t)n + 1;
        transcript->skipped = 0;
        at += n + 1;
    }
    bool is_full = len - at == TRANSCRIPT_LINE_MAX;
    if (is_full && transcript->skipped == 0)
        transcript->too_long++;
    if (is_full || transcript->skipped > 0)
        transcript->skipped += (int64_t)(len - at);
}

bool transcript_read(struct transcript *transcript, int fd, transcript_line *each, void *arg)
{
    const int64_t begin = transcript->offset + transcript->skipped;
    int64_t left = transcript->seen.size - begin, at = begin;
    size_t got;

    if (left <= 0)
        return false;
    size_t room = left < TRANSCRIPT_LINE_MAX ? (size_t)left : TRANSCRIPT_LINE_MAX;
    _cleanup_free_ char *piece = mem_alloc(room + 1);
    while (at - begin < TRANSCRIPT_LOOK_MAX && (got = read_at(fd, piece, room, at)) > 0) {
        take_lines(transcript, piece, got, each, arg);
        int64_t now = transcript->offset + transcript->skipped;
        if (now == at)
            break; /* the last line is not whole */
        at = now;
    }
    transcript->tail = hash_tail(fd, transcript->offset);
    bool more = at - begin >= TRANSCRIPT_LOOK_MAX;
    if (more)
        transcript->seen.size = -1; /* it is looked at again */
    return more;
}

void transcript_skip_all(struct transcript *transcript, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0)
        skip_to(transcript, fd, st.st_size);
}

bool transcript_skip_to_last(struct transcript *transcript, int fd)
{
    const int64_t size = transcript->seen.size;
    size_t len = size < LAST_MAX ? (size_t)size : LAST_MAX;
    _cleanup_free_ char *bytes = mem_alloc(len + 1);

    skip_to(transcript, fd, size);
    if (len == 0 || read_at(fd, bytes, len, size - (int64_t)len) != len)
        return false;
    const char *before = memrchr(bytes, '\n', len - 1);
    if (before == NULL && len < (size_t)size)
        return false;
    skip_to(transcript, fd, before != NULL ? size - (int64_t)len + (before + 1 - bytes) : 0);
    return true;
}
