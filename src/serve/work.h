/*
 * Work that waits for others (a child, a host, a disk): done by threads, so that the event loop
 * never waits. A job belongs to one thread at a time: to the loop until pool_add(), to a worker
 * while run() works, to the loop again from done() on. Workers touch nothing but their job and what
 * never changes (root, settings).
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
    struct job *next; /* work.c's */
};

struct pool;

/* At most `most` threads; none is there before it is needed. */
int pool_make(size_t most, struct pool **ret, struct err *err);
/* Waits for what runs, forgets what does not. */
void pool_free(struct pool *pool);
/* false: too much waits already, or no thread can be had. */
bool pool_add(struct pool *pool, struct job *job);
/* Readable when something is done; pool_collect() then calls done(). */
int pool_fd(const struct pool *pool);
void pool_collect(struct pool *pool);
/* Jobs that are not collected yet. */
size_t pool_busy(const struct pool *pool);

#endif
