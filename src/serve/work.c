/*
 * Jobs go through two queues, waiting and finished, both under one mutex; a bell tells the loop
 * of finished ones. Threads are made as they are needed and stay until the end. Who gets what is
 * one rule, gets_more(), for places, which only the loop counts, and for threads, which are counted
 * under the mutex. A worker that finds no job which may run sleeps until one comes, or one ends.
 */

#include "serve/work.h"

#include "base/id.h"
#include "os/thread.h"

#include <pthread.h>

struct queue {
    struct job *first, **last;
};

struct share {
    struct share *next;
    char session[ID_TEXT]; /* "": all that is of none */
    size_t places;
    size_t running; /* its jobs that have a thread; protected by the mutex of the pool */
};

struct pool {
    /* protects what follows up to `ending`, and what is said above */
    pthread_mutex_t mutex;
    pthread_cond_t more;
    struct queue waiting, finished;
    size_t waiting_count;
    size_t running; /* jobs that have a thread */
    size_t idle; /* threads waiting for a job, and those that have been woken for one */
    bool ending;
    pthread_t *threads;
    size_t count, most;
    size_t places, taken;
    struct share *shares; /* of those who have a place */
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

/* ---- shares */

/* Returns true if a session that has `own` of the `most` places or threads of a pool, of which
 * `taken` are taken in all, gets one more. */
static bool gets_more(const struct share *share, size_t own, size_t taken, size_t most)
{
    if (taken >= most)
        return false;
    return share->session[0] == '\0' || own == 0 || own + 1 <= (most - taken - 1) / POOL_SHARE;
}

static struct share *find_share(struct pool *pool, const char *session)
{
    struct share *share = pool->shares;

    while (share != NULL && strcmp(share->session, session) != 0)
        share = share->next;
    if (share != NULL)
        return share;
    share = mem_alloc(sizeof *share);
    (void)snprintf(share->session, sizeof share->session, "%s", session);
    share->next = pool->shares;
    pool->shares = share;
    return share;
}

bool pool_has_place(const struct pool *pool)
{
    return pool->taken < pool->places;
}

struct share *pool_hold(struct pool *pool, const char *session)
{
    if (!pool_has_place(pool))
        return NULL;
    struct share *share = find_share(pool, session);
    if (!gets_more(share, share->places, pool->taken, pool->places))
        return NULL;
    share->places++;
    pool->taken++;
    return share;
}

void pool_leave(struct pool *pool, struct share *share)
{
    struct share **at = &pool->shares;

    pool->taken--;
    if (--share->places > 0)
        return;
    while (*at != share)
        at = &(*at)->next;
    *at = share->next;
    free(share);
}

/* ---- threads */

/* Removes and returns the first job whose session may have one more thread, NULL: there is none. */
static struct job *take(struct pool *pool)
{
    struct job **at = &pool->waiting.first;

    while (*at != NULL &&
           !gets_more((*at)->share, (*at)->share->running, pool->running, pool->most))
        at = &(*at)->next;
    struct job *job = *at;
    if (job == NULL)
        return NULL;
    *at = job->next;
    if (pool->waiting.last == &job->next)
        pool->waiting.last = at;
    pool->waiting_count--;
    job->share->running++;
    pool->running++;
    /* One that ended may let two run: this one, and one of its own session. */
    if (pool->waiting.first != NULL)
        (void)pthread_cond_signal(&pool->more);
    return job;
}

static void *work(void *arg)
{
    struct pool *pool = arg;

    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->ending) {
        struct job *job = take(pool);
        if (job == NULL) {
            pool->idle++;
            (void)pthread_cond_wait(&pool->more, &pool->mutex);
            pool->idle--;
            continue;
        }
        (void)pthread_mutex_unlock(&pool->mutex);
        job->run(job);
        (void)pthread_mutex_lock(&pool->mutex);
        job->share->running--;
        pool->running--;
        push(&pool->finished, job);
        bell_ring(pool->fd);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

int pool_make(size_t most, size_t places, struct pool **ret, struct err *err)
{
    int fd = bell_open();
    if (fd == -1)
        return err_errno(err, "cannot create an eventfd");
    struct pool *pool = mem_alloc(sizeof *pool);
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->more, NULL);
    pool->waiting.last = &pool->waiting.first;
    pool->finished.last = &pool->finished.first;
    pool->threads = mem_alloc(most * sizeof *pool->threads);
    pool->most = most;
    pool->places = places;
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
    for (struct share *next; pool->shares != NULL; pool->shares = next) {
        next = pool->shares->next;
        free(pool->shares);
    }
    free(pool->threads);
    free(pool);
}

bool pool_add(struct pool *pool, const char *session, struct job *job)
{
    job->share = pool_hold(pool, session);
    if (job->share == NULL)
        return false;
    /* an idle thread may be about to take a job that waits already */
    (void)pthread_mutex_lock(&pool->mutex);
    bool more = pool->idle <= pool->waiting_count && pool->count < pool->most;
    (void)pthread_mutex_unlock(&pool->mutex);
    if (more && thread_start(&pool->threads[pool->count], work, pool))
        pool->count++;
    if (pool->count == 0) {
        pool_leave(pool, job->share);
        return false;
    }
    (void)pthread_mutex_lock(&pool->mutex);
    push(&pool->waiting, job);
    pool->waiting_count++;
    (void)pthread_cond_signal(&pool->more);
    (void)pthread_mutex_unlock(&pool->mutex);
    return true;
}

int pool_fd(const struct pool *pool)
{
    return pool->fd;
}

void pool_collect(struct pool *pool)
{
    bell_silence(pool->fd);
    for (;;) {
        (void)pthread_mutex_lock(&pool->mutex);
        struct job *job = pop(&pool->finished);
        (void)pthread_mutex_unlock(&pool->mutex);
        if (job == NULL)
            return;
        pool_leave(pool, job->share);
        job->done(job);
    }
}

size_t pool_busy(const struct pool *pool)
{
    return pool->taken;
}
