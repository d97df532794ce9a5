/*
 * A ring of pieces between two threads: the thread fills the next free one, the caller holds the
 * oldest and gives them back in order. An error or the end comes behind the pieces that were filled
 * before it. The magic number is read first, since libzstd would also accept frames to skip.
 */

#include "archive/zstd_reader.h"

#include <pthread.h>
#include <zstd.h>

enum {
    IN_SIZE = 512 * 1024,
    PIECE_SIZE = 128 * 1024,
    PIECES = 8,
};

struct zstd_reader {
    int fd;
    ZSTD_DCtx *context;
    char *in;
    pthread_t thread;
    bool started;
    char *pieces[PIECES];

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t change;
    size_t lens[PIECES];
    size_t first; /* the oldest one not released */
    size_t count; /* filled pieces */
    size_t held; /* those of them that the caller holds */
    bool ended; /* no more pieces follow, because of the end or an error */
    bool closing;
    struct err err; /* code MAS_OK: the end */
};

static ssize_t read_some(struct zstd_reader *reader, struct err *err)
{
    ssize_t n;
    while ((n = read(reader->fd, reader->in, IN_SIZE)) == -1 && errno == EINTR)
        ;
    return n == -1 ? err_errno(err, "cannot read it") : n;
}

/* Waits for a free piece. Returns false if the reader is being closed. */
static bool await_room(struct zstd_reader *reader, size_t *ret)
{
    (void)pthread_mutex_lock(&reader->lock);
    while (reader->count == PIECES && !reader->closing)
        (void)pthread_cond_wait(&reader->change, &reader->lock);
    *ret = (reader->first + reader->count) % PIECES;
    bool open = !reader->closing;
    (void)pthread_mutex_unlock(&reader->lock);
    return open;
}

static void hand_over(struct zstd_reader *reader, size_t piece, size_t len)
{
    (void)pthread_mutex_lock(&reader->lock);
    reader->lens[piece] = len;
    reader->count++;
    (void)pthread_cond_signal(&reader->change);
    (void)pthread_mutex_unlock(&reader->lock);
}

/* Fails unless the input begins like a zstd frame. Keeps its first bytes in reader->in. */
static int read_magic(struct zstd_reader *reader, ZSTD_inBuffer *in, struct err *err)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    char start[sizeof magic];
    size_t len = 0;

    while (len < sizeof magic) {
        ssize_t n = read(reader->fd, start + len, sizeof magic - len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot read it");
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len < sizeof magic || memcmp(start, magic, sizeof magic) != 0)
        return err_set(err, MAS_DAMAGED, "it is not an archive of mas (tar compressed with zstd)");
    memcpy(reader->in, start, len);
    *in = (ZSTD_inBuffer){.src = reader->in, .size = len};
    return 0;
}

/* Decompresses the frame and checks that nothing follows it. */
static int decompress(struct zstd_reader *reader, struct err *err)
{
    ZSTD_inBuffer in;
    size_t piece = 0;
    size_t left = 1;

    if (read_magic(reader, &in, err) == -1)
        return -1;
    while (left != 0) {
        if (!await_room(reader, &piece))
            return 0;
        ZSTD_outBuffer out = {.dst = reader->pieces[piece], .size = PIECE_SIZE};
        while (left != 0 && out.pos < out.size) {
            size_t before = out.pos;
            left = ZSTD_decompressStream(reader->context, &out, &in);
            if (ZSTD_isError(left) != 0)
                return err_set(err, MAS_DAMAGED, "it is damaged: %s", ZSTD_getErrorName(left));
            if (left == 0 || out.pos > before || in.pos < in.size)
                continue;
            ssize_t n = read_some(reader, err);
            if (n == -1)
                return -1;
            if (n == 0)
                return err_set(err, MAS_DAMAGED, "it is truncated");
            in = (ZSTD_inBuffer){.src = reader->in, .size = (size_t)n};
        }
        if (out.pos > 0)
            hand_over(reader, piece, out.pos);
    }
    ssize_t more = in.pos < in.size ? 1 : read_some(reader, err);
    return more > 0 ? err_set(err, MAS_DAMAGED, "unexpected data after its end") : (int)more;
}

static void *thread_main(void *arg)
{
    struct zstd_reader *reader = arg;
    struct err err = ERR_INIT;

    (void)decompress(reader, &err);
    (void)pthread_mutex_lock(&reader->lock);
    reader->err = err;
    reader->ended = true;
    (void)pthread_cond_signal(&reader->change);
    (void)pthread_mutex_unlock(&reader->lock);
    return NULL;
}

int zstd_reader_new(int fd, struct zstd_reader **ret, struct err *err)
{
    struct zstd_reader *reader = mem_alloc(sizeof *reader);

    *ret = reader;
    reader->fd = fd;
    (void)pthread_mutex_init(&reader->lock, NULL);
    (void)pthread_cond_init(&reader->change, NULL);
    reader->in = mem_grow(NULL, IN_SIZE, 1);
    for (size_t i = 0; i < PIECES; i++)
        reader->pieces[i] = mem_grow(NULL, PIECE_SIZE, 1);
    reader->context = ZSTD_createDCtx();
    if (reader->context == NULL)
        return err_set(err, MAS_FAILED, "cannot decompress: out of memory");
    if (pthread_create(&reader->thread, NULL, thread_main, reader) != 0)
        return err_errno(err, "cannot start a thread");
    reader->started = true;
    return 0;
}

ssize_t zstd_reader_next(struct zstd_reader *reader, const void **ret, struct err *err)
{
    ssize_t len = 0;

    (void)pthread_mutex_lock(&reader->lock);
    while (reader->held == reader->count && !reader->ended)
        (void)pthread_cond_wait(&reader->change, &reader->lock);
    if (reader->held < reader->count) {
        size_t piece = (reader->first + reader->held++) % PIECES;
        *ret = reader->pieces[piece];
        len = (ssize_t)reader->lens[piece];
    } else if (reader->err.code != MAS_OK) {
        *err = reader->err;
        len = -1;
    }
    (void)pthread_mutex_unlock(&reader->lock);
    return len;
}

void zstd_reader_release(struct zstd_reader *reader)
{
    (void)pthread_mutex_lock(&reader->lock);
    reader->first = (reader->first + 1) % PIECES;
    reader->count--;
    reader->held--;
    (void)pthread_cond_signal(&reader->change);
    (void)pthread_mutex_unlock(&reader->lock);
}

void zstd_reader_freep(struct zstd_reader **zstd)
{
    struct zstd_reader *reader = *zstd;

    if (reader == NULL)
        return;
    if (reader->started) {
        (void)pthread_mutex_lock(&reader->lock);
        reader->closing = true;
        (void)pthread_cond_signal(&reader->change);
        (void)pthread_mutex_unlock(&reader->lock);
        (void)pthread_join(reader->thread, NULL);
    }
    (void)ZSTD_freeDCtx(reader->context);
    for (size_t i = 0; i < PIECES; i++)
        free(reader->pieces[i]);
    free(reader->in);
    free(reader);
    *zstd = NULL;
}
