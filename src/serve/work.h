/*
 * A thread pool for work that waits (for a child, a host, a disk), so that the event loop never
 * waits. A job belongs to one thread at a time: to the loop until pool_add(), to a worker during
 * run(), to the loop again from done() on. Workers access only their job and data that never
 * changes (root, settings).
 *
 * A pool has a number of places, for its jobs and for requests that wait for the job of another.
 * The host of an agent may be silent, and what waits for it must not keep other sessions waiting.
 * So a session that has a place or a thread gets one more only while it then has at most
 * 1 / POOL_SHARE of what stays free. Each session that comes finds most of what the others left: of
 * 24 threads one session gets 4, two 8, and twelve 22. A session that has none gets any that is
 * free.
 */
#pragma once

enum { POOL_SHARE = 4 };

struct share; /* what one session has in a pool */

struct job {
    void (*run)(struct job *job); /* on a worker */
    void (*done)(struct job *job); /* on the loop */
    struct job *next; /* for work.c, like `share` */
    struct share *share;
};

struct pool;

/* Creates a pool of at most `most` threads, each of which starts when it is needed, with this
 * number of places. Release it with pool_free(). */
int pool_make(size_t most, size_t places, struct pool **ret, struct err *err);
/* Waits for running jobs and forgets the others, without calling done(). Jobs are not freed. */
void pool_free(struct pool *pool);
/* Queues a job for a session ("": for none, so without a share), which must stay valid until
 * done(). It has a place until then. Jobs run in the order in which they came, except that those of
 * a session that gets no more threads let others pass. Returns false if there is no place, or if
 * no thread can be created. */
bool pool_add(struct pool *pool, const char *session, struct job *job);
/* Takes a place without a job, until pool_leave(). Returns NULL if there is none. */
struct share *pool_hold(struct pool *pool, const char *session);
void pool_leave(struct pool *pool, struct share *share);
/* Returns true if the pool has a place, if not for every session. */
bool pool_has_place(const struct pool *pool);
/* Returns a descriptor that is readable when a job is finished; then call pool_collect(), which
 * calls done() for each. It belongs to the pool. */
int pool_fd(const struct pool *pool);
void pool_collect(struct pool *pool);
/* Returns the number of places that are taken. */
size_t pool_busy(const struct pool *pool);
