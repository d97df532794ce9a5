/*
 * A connection that carries frames (base/frame.h), with what has come in and what is still to be
 * written. Nothing here waits: the descriptor is non-blocking, and its owner waits for it, see
 * conn_want().
 */
#pragma once

#include "base/frame.h"
#include "os/loop.h"

struct conn {
    int fd; /* owned; -1: none */
    struct frames in;
    struct str out;
    size_t sent; /* bytes of `out` that are written */
    const char *shared; /* to be written before `out`; not owned */
    size_t shared_len;
    bool busy; /* the last read filled its room: more is likely to be there */
};

#define CONN_INIT                                                                                  \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Closes the descriptor and frees the buffers; the connection can be used again. */
void conn_close(struct conn *conn);

/* Appends a frame to what is to be written; see frame_add(). */
void conn_add(struct conn *conn, const struct str *head, const char *body, size_t body_len);
/* Writes these bytes first. They are not copied, so many connections can send the same text: the
 * caller keeps them until they are written or the connection is closed. */
void conn_share(struct conn *conn, const char *bytes, size_t len);
/* Bytes that are still to be written. */
size_t conn_unsent(const struct conn *conn);
/* Forgets them. */
void conn_discard(struct conn *conn);
/* Waits in this turn for what comes, and while something is unsent, until the socket accepts it. */
void conn_want(const struct conn *conn, struct loop *loop);
/* Writes as much as the socket accepts. False: the connection is gone. */
bool conn_write(struct conn *conn);

enum conn_read {
    CONN_DATA, /* something came: call conn_next() until it returns 0 */
    CONN_NOTHING, /* nothing is there now */
    CONN_END, /* the other end writes no more */
    CONN_GONE, /* the connection is broken: errno */
};

/* Reads once. */
enum conn_read conn_read(struct conn *conn);
/* The next whole frame: as frames_next(). */
int conn_next(struct conn *conn, struct frame *ret, struct err *err);
