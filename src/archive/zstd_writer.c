#include "archive/zstd_writer.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum {
    THREADS = 2,
    JOB_SIZE = 2 << 20, /* what a thread takes at once, where that costs next to nothing in size: */
    JOB_LEVEL = 9,
    OUT_SIZE = 1 << 20,
    IN_SIZE = 512 * 1024,
    PIECE_SIZE = 128 * 1024,
    PIECES = 8,
};

struct zstd_writer {
    int fd;
    ZSTD_CCtx *context;
    char *out;
    size_t out_len;
    uint64_t written;
};

int zstd_writer_new(int fd, int level, struct zstd_writer **ret, struct err *err)
{
    struct zstd_writer *s = mem_alloc(sizeof *s);

    *ret = s;
    s->fd = fd;
    s->out = mem_grow(NULL, OUT_SIZE, 1);
    s->context = ZSTD_createCCtx();
    if (s->context == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(s->context, ZSTD_c_compressionLevel, level)) != 0 ||
        ZSTD_isError(ZSTD_CCtx_setParameter(s->context, ZSTD_c_checksumFlag, 1)) != 0)
        return err_set(err, MAS_FAILED, "cannot compress: libzstd does not take level %d", level);
    /* a libzstd without threads compresses in this one */
    (void)ZSTD_CCtx_setParameter(s->context, ZSTD_c_nbWorkers, THREADS);
    if (level <= JOB_LEVEL)
        (void)ZSTD_CCtx_setParameter(s->context, ZSTD_c_jobSize, JOB_SIZE);
    return 0;
}

static int flush(struct zstd_writer *s, struct err *err)
{
    if (file_write_all(s->fd, s->out, s->out_len) == -1)
        return err_errno(err, "cannot write the archive");
    s->written += s->out_len;
    s->out_len = 0;
    return 0;
}

static int work(struct zstd_writer *s, ZSTD_inBuffer *in, ZSTD_EndDirective how, size_t *ret_left,
                struct err *err)
{
    ZSTD_outBuffer out = {.dst = s->out, .size = OUT_SIZE, .pos = s->out_len};
    size_t left = ZSTD_compressStream2(s->context, &out, in, how);

    if (ZSTD_isError(left) != 0)
        return err_set(err, MAS_FAILED, "cannot compress: %s", ZSTD_getErrorName(left));
    s->out_len = out.pos;
    *ret_left = left;
    return s->out_len == OUT_SIZE ? flush(s, err) : 0;
}

int zstd_writer_write(struct zstd_writer *s, const void *bytes, size_t len, struct err *err)
{
    ZSTD_inBuffer in = {.src = bytes, .size = len};
    size_t left = 0;

    while (in.pos < in.size)
        if (work(s, &in, ZSTD_e_continue, &left, err) == -1)
            return -1;
    return 0;
}

int zstd_writer_end(struct zstd_writer *s, struct err *err)
{
    ZSTD_inBuffer in = {.src = NULL};
    size_t left = 0;

    do
        if (work(s, &in, ZSTD_e_end, &left, err) == -1)
            return -1;
    while (left > 0);
    return flush(s, err);
}

uint64_t zstd_writer_written(const struct zstd_writer *s)
{
    return s->written;
}

void zstd_writer_freep(struct zstd_writer **zstd)
{
    struct zstd_writer *s = *zstd;
    if (s == NULL)
        return;
    (void)ZSTD_freeCCtx(s->context);
    free(s->out);
    free(s);
    *zstd = NULL;
}

struct unsqueeze {
    int fd;
    ZSTD_DCtx *context;
    char *in;
    pthread_t thread;
    bool started;
    char *pieces[PIECES];

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t change;
    size_t lens[PIECES];
    size_t first; /* the oldest that is not given back */
    size_t count; /* filled */
    size_t held; /* of these, in the caller's hands */
    bool ended; /* no more comes: the end, or an error */
    bool closing;
    struct err err; /* code MAS_OK: the end */
};

static ssize_t read_some(struct unsqueeze *u, struct err *err)
{
    ssize_t n;
    while ((n = read(u->fd, u->in, IN_SIZE)) == -1 && errno == EINTR)
        ;
    return n == -1 ? err_errno(err, "cannot read it") : n;
}

/* Room for one more piece; false where nobody wants it any more. */
static bool await_room(struct unsqueeze *u, size_t *ret)
{
    (void)pthread_mutex_lock(&u->lock);
    while (u->count == PIECES && !u->closing)
        (void)pthread_cond_wait(&u->change, &u->lock);
    *ret = (u->first + u->count) % PIECES;
    bool open = !u->closing;
    (void)pthread_mutex_unlock(&u->lock);
    return open;
}

static void hand_over(struct unsqueeze *u, size_t piece, size_t len)
{
    (void)pthread_mutex_lock(&u->lock);
    u->lens[piece] = len;
    u->count++;
    (void)pthread_cond_signal(&u->change);
    (void)pthread_mutex_unlock(&u->lock);
}

/* Fails unless the input begins as a frame of zstd does; the first bytes stay in u->in. */
static int read_magic(struct unsqueeze *u, ZSTD_inBuffer *in, struct err *err)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    char start[sizeof magic];
    size_t len = 0;

    while (len < sizeof magic) {
        ssize_t n = read(u->fd, start + len, sizeof magic - len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot read it");
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len < sizeof magic || memcmp(start, magic, sizeof magic) != 0)
        return err_set(err, MAS_DAMAGED, "it is no archive of mas (tar, compressed by zstd)");
    memcpy(u->in, start, len);
    *in = (ZSTD_inBuffer){.src = u->in, .size = len};
    return 0;
}

/* Decompresses the frame, and sees that nothing stands behind it. */
static int unsqueeze_all(struct unsqueeze *u, struct err *err)
{
    ZSTD_inBuffer in;
    size_t piece = 0;
    size_t left = 1;

    if (read_magic(u, &in, err) == -1)
        return -1;
    while (left != 0) {
        if (!await_room(u, &piece))
            return 0;
        ZSTD_outBuffer out = {.dst = u->pieces[piece], .size = PIECE_SIZE};
        while (left != 0 && out.pos < out.size) {
            size_t before = out.pos;
            left = ZSTD_decompressStream(u->context, &out, &in);
            if (ZSTD_isError(left) != 0)
                return err_set(err, MAS_DAMAGED, "it is damaged: %s", ZSTD_getErrorName(left));
            if (left == 0 || out.pos > before || in.pos < in.size)
                continue;
            ssize_t n = read_some(u, err);
            if (n == -1)
                return -1;
            if (n == 0)
                return err_set(err, MAS_DAMAGED, "it is cut off");
            in = (ZSTD_inBuffer){.src = u->in, .size = (size_t)n};
        }
        if (out.pos > 0)
            hand_over(u, piece, out.pos);
    }
    ssize_t more = in.pos < in.size ? 1 : read_some(u, err);
    return more > 0 ? err_set(err, MAS_DAMAGED, "something stands behind its end") : (int)more;
}

static void *unsqueeze_main(void *arg)
{
    struct unsqueeze *u = arg;
    struct err err = ERR_INIT;

    (void)unsqueeze_all(u, &err);
    (void)pthread_mutex_lock(&u->lock);
    u->err = err;
    u->ended = true;
    (void)pthread_cond_signal(&u->change);
    (void)pthread_mutex_unlock(&u->lock);
    return NULL;
}

int unsqueeze_new(int fd, struct unsqueeze **ret, struct err *err)
{
    struct unsqueeze *u = mem_alloc(sizeof *u);

    *ret = u;
    u->fd = fd;
    (void)pthread_mutex_init(&u->lock, NULL);
    (void)pthread_cond_init(&u->change, NULL);
    u->in = mem_grow(NULL, IN_SIZE, 1);
    for (size_t i = 0; i < PIECES; i++)
        u->pieces[i] = mem_grow(NULL, PIECE_SIZE, 1);
    u->context = ZSTD_createDCtx();
    if (u->context == NULL)
        return err_set(err, MAS_FAILED, "cannot decompress: out of memory");
    if (pthread_create(&u->thread, NULL, unsqueeze_main, u) != 0)
        return err_errno(err, "cannot start a thread");
    u->started = true;
    return 0;
}

ssize_t unsqueeze_take(struct unsqueeze *u, const void **ret, struct err *err)
{
    ssize_t len = 0;

    (void)pthread_mutex_lock(&u->lock);
    while (u->held == u->count && !u->ended)
        (void)pthread_cond_wait(&u->change, &u->lock);
    if (u->held < u->count) {
        size_t piece = (u->first + u->held++) % PIECES;
        *ret = u->pieces[piece];
        len = (ssize_t)u->lens[piece];
    } else if (u->err.code != MAS_OK) {
        *err = u->err;
        len = -1;
    }
    (void)pthread_mutex_unlock(&u->lock);
    return len;
}

void unsqueeze_give_back(struct unsqueeze *u)
{
    (void)pthread_mutex_lock(&u->lock);
    u->first = (u->first + 1) % PIECES;
    u->count--;
    u->held--;
    (void)pthread_cond_signal(&u->change);
    (void)pthread_mutex_unlock(&u->lock);
}

void unsqueeze_freep(struct unsqueeze **unsqueeze)
{
    struct unsqueeze *u = *unsqueeze;

    if (u == NULL)
        return;
    if (u->started) {
        (void)pthread_mutex_lock(&u->lock);
        u->closing = true;
        (void)pthread_cond_signal(&u->change);
        (void)pthread_mutex_unlock(&u->lock);
        (void)pthread_join(u->thread, NULL);
    }
    (void)ZSTD_freeDCtx(u->context);
    for (size_t i = 0; i < PIECES; i++)
        free(u->pieces[i]);
    free(u->in);
    free(u);
    *unsqueeze = NULL;
}
