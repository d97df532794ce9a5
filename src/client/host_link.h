/*
 * A connection with a host that stays: requests on it, their answers in the same order, and events
 * between them (protocol/host.h). Nothing here waits.
 */
#ifndef MAS_CLIENT_HOST_LINK_H
#define MAS_CLIENT_HOST_LINK_H

#include "base/conn.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_LINK_WAITING_MAX = 256 };

struct host_link {
    struct conn conn;
    struct host_link_asked { /* the caller's own, of requests that wait for an answer */
        int what;
        int64_t about;
    } * waiting;
    size_t waiting_count;
};

#define HOST_LINK_INIT                                                                             \
    {                                                                                              \
        .conn = CONN_INIT                                                                          \
    }

/* Connects to the host of an agent, by its socket in run/. false with errno: ENOENT or ECONNREFUSED
 * where nobody listens. */
bool host_link_connect(struct host_link *link, int run, const char *agent);
/* Forgets the connection and what was asked on it. */
void host_link_drop(struct host_link *link);

/* `head` is the text of an object. false: too much waits for answers, or the connection is gone. */
bool host_link_ask(struct host_link *link, struct host_link_asked asked, const struct str *head,
                   const char *body, size_t body_len);
/* As conn_write() and conn_read(). */
bool host_link_write(struct host_link *link);
/* false: the connection is gone. */
bool host_link_read(struct host_link *link);
/* 1: *ret is the next frame, released with frame_free(); 0: none is there; -1: the connection is of
 * no more use. *ret_is_event tells events from answers, *ret_asked what an answer is to. */
int host_link_next(struct host_link *link, struct frame *ret, bool *ret_is_event,
                   struct host_link_asked *ret_asked);

#endif
