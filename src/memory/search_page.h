/*
 * A session on its way into the index: its messages are read a page at a time, each gets its place
 * in a segment, and the page is written. Of no use outside src/memory/search_*.c.
 */
#ifndef MAS_MEMORY_SEARCH_PAGE_H
#define MAS_MEMORY_SEARCH_PAGE_H

#include "memory/search_internal.h"

struct item; /* a message, as it will be in the index */
struct segment; /* what was said in a query without a long silence */

/* One session while it is read. */
struct copy_job {
    struct search *search;
    const char *uuid;
    int64_t session;
    int64_t seen; /* the last message that was read at an earlier time */
    int64_t last, open; /* that was read now; the first that is not finished, 0 none */
    int64_t written; /* as `seen` is in the index now */
    struct item *items; /* a page of them */
    size_t count, bytes;
    bool more; /* the page was cut */
    struct segment *segments;
    size_t segment_count;
};

/* For store_read(): takes a message into the page; false once it is full. `arg` is the filling. */
bool page_add(const struct store_item *item, void *arg);
/* Writes the page, and how far the session is read, inside a transaction of the caller's. */
int page_write(struct copy_job *copy_job, struct err *err);
void page_drop(struct copy_job *copy_job);
void copy_job_free(struct copy_job *copy_job);

#endif
