/*
 * Copies a session into the index: reads its messages a page at a time, gives each its place in a
 * segment, and writes the page. For src/memory/search_*.c only.
 */
#pragma once

#include "memory/search_internal.h"

struct index_message; /* a message as it will be in the index */
struct segment; /* part of a query without a long silence */

/* One session while it is read. */
struct page_reader {
    struct search *search;
    const char *uuid;
    int64_t session;
    int64_t seen; /* the last message read by an earlier catch-up */
    int64_t last, open; /* the last one read now; the first unfinished one, 0: none */
    int64_t written; /* the value of `seen` in the index now */
    struct index_message *items; /* one page */
    size_t count, bytes;
    bool more; /* the page was full: there are more */
    struct segment *segments;
    size_t segment_count;
};

/* Adds a message to the page; returns false when the page is full. For store_read(); `arg` is the
 * reader. */
bool page_add(const struct store_item *item, void *arg);
/* Writes the page, and the position in the session, inside a transaction of the caller. */
int page_write(struct page_reader *reader, struct err *err);
/* Discards the messages of the page. */
void page_drop(struct page_reader *reader);
void page_reader_free(struct page_reader *reader);
