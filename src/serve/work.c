#include "serve/work.h"

#include "base/str.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
    struct job *first, **last;
};

struct pool {
    pthread_mutex_t mutex; /* protects everything but `count`, `most`, `busy` and `fd` */
    pthread_cond_t more;
    struct queue waiting, finished;
    size_t idle; /* threads waiting for a job */
    bool ending;
    pthread_t *threads;
    size_t count, most;
    size_t busy;
    int fd;
};

static void push(struct queue *queue, struct job *job)
{
    job->next = NULL;
    *queue->last = job;
    queue->last = &job->next;
}

static struct job *pop(struct queue *queue)
{
    struct job *job = queue->first;
    if (job != NULL && (queue->first = job->next) == NULL)
        queue->last = &queue->first;
    return job;
}

static void *work(void *arg)
{
    struct pool *pool = arg;
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->waiting.first == NULL && !pool->ending) {
            pool->idle++;
            (void)pthread_cond_wait(&pool->more, &pool->mutex);
            pool->idle--;
        }
        if (pool->ending)
            break;
        struct job *job = pop(&pool->waiting);
        (void)pthread_mutex_unlock(&pool->mutex);
        job->run(job);
        (void)pthread_mutex_lock(&pool->mutex);
        push(&pool->finished, job);
        (void)!write(pool->fd, &one, sizeof one);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

int pool_make(size_t most, struct pool **ret, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd == -1)
        return err_errno(err, "cannot create an eventfd");
    struct pool *pool = mem_alloc(sizeof *pool);
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->more, NULL);
    pool->waiting.last = &pool->waiting.first;
    pool->finished.last = &pool->finished.first;
    pool->threads = mem_alloc(most * sizeof *pool->threads);
    pool->most = most;
    pool->fd = fd;
    *ret = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->ending = true;
    (void)pthread_cond_broadcast(&pool->more);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->count; i++)
        (void)pthread_join(pool->threads[i], NULL);
    (void)close(pool->fd);
    (void)pthread_cond_destroy(&pool->more);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

bool pool_add(struct pool *pool, struct job *job)
{
    if (pool->busy >= POOL_QUEUE_MAX)
        return false;
    (void)pthread_mutex_lock(&pool->mutex);
    bool more = pool->idle == 0 && pool->count < pool->most;
    (void)pthread_mutex_unlock(&pool->mutex);
    if (more && thread_start(&pool->threads[pool->count], work, pool))
        pool->count++;
    if (pool->count == 0)
        return false;
    (void)pthread_mutex_lock(&pool->mutex);
    push(&pool->waiting, job);
    (void)pthread_cond_signal(&pool->more);
    (void)pthread_mutex_unlock(&pool->mutex);
    pool->busy++;
    return true;
}

int pool_fd(const struct pool *pool)
{
    return pool->fd;
}

void pool_collect(struct pool *pool)
{
    uint64_t count;

    (void)!read(pool->fd, &count, sizeof count);
    for (;;) {
        (void)pthread_mutex_lock(&pool->mutex);
        struct job *job = pop(&pool->finished);
        (void)pthread_mutex_unlock(&pool->mutex);
        if (job == NULL)
            return;
        pool->busy--;
        job->done(job);
    }
}

size_t pool_busy(const struct pool *pool)
{
    return pool->busy;
}
