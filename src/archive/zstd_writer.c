#include "archive/zstd_writer.h"

#include "os/file.h"

#include <zstd.h>

enum {
    THREADS = 2,
    /* what a thread compresses at once, up to JOB_LEVEL; this hardly affects the size there */
    JOB_SIZE = 2 << 20,
    JOB_LEVEL = 9,
    OUT_SIZE = 1 << 20,
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
    struct zstd_writer *writer = mem_alloc(sizeof *writer);

    *ret = writer;
    writer->fd = fd;
    writer->out = mem_grow(NULL, OUT_SIZE, 1);
    writer->context = ZSTD_createCCtx();
    if (writer->context == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, level)) !=
            0 ||
        ZSTD_isError(ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1)) != 0)
        return err_set(err, MAS_FAILED, "cannot compress: libzstd does not support level %d",
                       level);
    /* without thread support in libzstd, this thread compresses */
    (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_nbWorkers, THREADS);
    if (level <= JOB_LEVEL)
        (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_jobSize, JOB_SIZE);
    return 0;
}

static int flush(struct zstd_writer *writer, struct err *err)
{
    if (file_write_all(writer->fd, writer->out, writer->out_len) == -1)
        return err_errno(err, "cannot write the archive");
    writer->written += writer->out_len;
    writer->out_len = 0;
    return 0;
}

static int work(struct zstd_writer *writer, ZSTD_inBuffer *in, ZSTD_EndDirective how,
                size_t *ret_left, struct err *err)
{
    ZSTD_outBuffer out = {.dst = writer->out, .size = OUT_SIZE, .pos = writer->out_len};
    size_t left = ZSTD_compressStream2(writer->context, &out, in, how);

    if (ZSTD_isError(left) != 0)
        return err_set(err, MAS_FAILED, "cannot compress: %s", ZSTD_getErrorName(left));
    writer->out_len = out.pos;
    *ret_left = left;
    return writer->out_len == OUT_SIZE ? flush(writer, err) : 0;
}

int zstd_writer_write(struct zstd_writer *writer, const void *bytes, size_t len, struct err *err)
{
    ZSTD_inBuffer in = {.src = bytes, .size = len};
    size_t left = 0;

    while (in.pos < in.size)
        if (work(writer, &in, ZSTD_e_continue, &left, err) == -1)
            return -1;
    return 0;
}

int zstd_writer_end(struct zstd_writer *writer, struct err *err)
{
    ZSTD_inBuffer in = {.src = NULL};
    size_t left = 0;

    do
        if (work(writer, &in, ZSTD_e_end, &left, err) == -1)
            return -1;
    while (left > 0);
    return flush(writer, err);
}

uint64_t zstd_writer_written(const struct zstd_writer *writer)
{
    return writer->written;
}

void zstd_writer_freep(struct zstd_writer **zstd)
{
    struct zstd_writer *writer = *zstd;
    if (writer == NULL)
        return;
    (void)ZSTD_freeCCtx(writer->context);
    free(writer->out);
    free(writer);
    *zstd = NULL;
}
