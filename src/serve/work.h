/*
 * A thread pool for work that waits (for a child, a host, a disk), so that the event loop never
 * waits. A job belongs to one thread at a time: to the loop until pool_add(), to a worker during
 * run(), to the loop again from done() on. Workers access only their job and data that never
 * changes (root, settings).
 */
#ifndef MAS_SERVE_WORK_H
#define MAS_SERVE_WORK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { POOL_QUEUE_MAX = 256 };

struct job {
    void (*run)(struct job *job); /* on a worker */
    void (*done)(struct job *job); /* on the loop */
    struct job *next; /* for work.c */
};

struct pool;

/* Creates a pool of at most `most` threads; each starts when it is needed. Release it with
 * pool_free(). */
int pool_make(size_t most, struct pool **ret, struct err *err);
/* Waits for running jobs and forgets the others, without calling done(). Jobs are not freed. */
void pool_free(struct pool *pool);
/* Queues a job, which must stay valid until done(). Returns false if POOL_QUEUE_MAX jobs are not
 * collected yet, or if no thread can be created. */
bool pool_add(struct pool *pool, struct job *job);
/* Returns a descriptor that is readable when a job is finished; then call pool_collect(), which
 * calls done() for each. It belongs to the pool. */
int pool_fd(const struct pool *pool);
void pool_collect(struct pool *pool);
/* Returns the number of jobs that are not collected yet. */
size_t pool_busy(const struct pool *pool);

#endif
