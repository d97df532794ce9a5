/*
 * The callers push tasks into a ring; the thread takes them in that order, so a ticket is the
 * number of a task. A small task is done by the caller itself if the ring is empty: to wake the
 * thread would take longer. The bytes stay the caller's, which is why it waits for tickets before
 * it uses a buffer again, and why the hasher is freed before the buffers are.
 */

#include "archive/hasher.h"

#include <openssl/evp.h>
#include <pthread.h>

enum {
    TASKS_MAX = 256,
    INLINE_MAX = 64 * 1024, /* hashing less is faster than waking the thread */
    ZEROS = 1 << 20,
};

struct hash_task {
    const void *bytes; /* NULL: the end of a file */
    size_t len;
    char *name;
};

struct hasher {
    EVP_MD *sha;
    EVP_MD_CTX *context;
    void *zeros;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t more;
    pthread_cond_t less;
    struct hash_task tasks[TASKS_MAX]; /* a ring buffer */
    size_t first, count; /* including the current one */
    uint64_t pushed, done;
    bool closing;
    struct str list;
};

/* Writes a line like sha256sum(1): if a name has a newline or a backslash, it is escaped and the
 * line is marked. */
static void add_line(struct str *list, const unsigned char *sum, size_t len, const char *name)
{
    static const char digits[] = "0123456789abcdef";

    str_reserve(list, 2 * len + strlen(name) + 4);
    if (strpbrk(name, "\\\n\r") != NULL)
        str_addc(list, '\\');
    for (size_t i = 0; i < len; i++) {
        str_addc(list, digits[sum[i] >> 4]);
        str_addc(list, digits[sum[i] & 15]);
    }
    str_add(list, "  ");
    for (; *name != '\0'; name++) {
        if (*name == '\\')
            str_add(list, "\\\\");
        else if (*name == '\n')
            str_add(list, "\\n");
        else if (*name == '\r')
            str_add(list, "\\r");
        else
            str_addc(list, *name);
    }
    str_addc(list, '\n');
}

static void run(struct hasher *h, struct hash_task *task)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (task->bytes != NULL) {
        (void)EVP_DigestUpdate(h->context, task->bytes, task->len);
        return;
    }
    (void)EVP_DigestFinal_ex(h->context, sum, &len);
    (void)EVP_DigestInit_ex2(h->context, h->sha, NULL);
    add_line(&h->list, sum, len, task->name);
    free(task->name);
}

static void *hasher_main(void *arg)
{
    struct hasher *h = arg;

    (void)pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->count == 0 && !h->closing)
            (void)pthread_cond_wait(&h->more, &h->lock);
        if (h->count == 0)
            break;
        struct hash_task task = h->tasks[h->first];
        (void)pthread_mutex_unlock(&h->lock);
        run(h, &task);
        (void)pthread_mutex_lock(&h->lock);
        h->first = (h->first + 1) % TASKS_MAX;
        h->count--;
        h->done++;
        (void)pthread_cond_signal(&h->less);
    }
    (void)pthread_mutex_unlock(&h->lock);
    return NULL;
}

int hasher_new(struct hasher **ret, struct err *err)
{
    struct hasher *h = mem_alloc(sizeof *h);

    *ret = h;
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_cond_init(&h->more, NULL);
    (void)pthread_cond_init(&h->less, NULL);
    h->sha = EVP_MD_fetch(NULL, "SHA256", NULL);
    h->context = EVP_MD_CTX_new();
    if (h->sha == NULL || h->context == NULL || EVP_DigestInit_ex2(h->context, h->sha, NULL) != 1)
        return err_set(err, MAS_FAILED, "cannot compute checksums: libcrypto has no SHA-256");
    if (pthread_create(&h->thread, NULL, hasher_main, h) != 0)
        return err_errno(err, "cannot start a thread");
    h->started = true;
    return 0;
}

void hasher_freep(struct hasher **hasher)
{
    struct hasher *h = *hasher;

    if (h == NULL)
        return;
    if (h->started) {
        (void)pthread_mutex_lock(&h->lock);
        h->closing = true;
        (void)pthread_cond_signal(&h->more);
        (void)pthread_mutex_unlock(&h->lock);
        (void)pthread_join(h->thread, NULL);
    }
    EVP_MD_CTX_free(h->context);
    EVP_MD_free(h->sha);
    free(h->zeros);
    str_free(&h->list);
    free(h);
    *hasher = NULL;
}

static uint64_t push(struct hasher *h, struct hash_task task)
{
    (void)pthread_mutex_lock(&h->lock);
    if (h->count == 0 && task.len <= INLINE_MAX) { /* the thread is idle */
        run(h, &task);
        uint64_t done = h->done;
        (void)pthread_mutex_unlock(&h->lock);
        return done;
    }
    while (h->count == TASKS_MAX)
        (void)pthread_cond_wait(&h->less, &h->lock);
    h->tasks[(h->first + h->count) % TASKS_MAX] = task;
    h->count++;
    h->pushed++;
    uint64_t ticket = h->pushed;
    (void)pthread_cond_signal(&h->more);
    (void)pthread_mutex_unlock(&h->lock);
    return ticket;
}

uint64_t hasher_feed(struct hasher *h, const void *bytes, size_t len)
{
    return push(h, (struct hash_task){.bytes = bytes, .len = len});
}

void hasher_feed_zeros(struct hasher *h, uint64_t len)
{
    if (h->zeros == NULL)
        h->zeros = mem_alloc(ZEROS);
    while (len > 0) {
        size_t step = len < ZEROS ? (size_t)len : ZEROS;
        (void)hasher_feed(h, h->zeros, step);
        len -= step;
    }
}

void hasher_wait(struct hasher *h, uint64_t ticket)
{
    (void)pthread_mutex_lock(&h->lock);
    while (h->done < ticket)
        (void)pthread_cond_wait(&h->less, &h->lock);
    (void)pthread_mutex_unlock(&h->lock);
}

void hasher_end_file(struct hasher *h, const char *name)
{
    (void)push(h, (struct hash_task){.name = mem_dup(name)});
}

const struct str *hasher_list(struct hasher *h)
{
    hasher_wait(h, h->pushed);
    return &h->list;
}
