/*
 * A lasting connection to a host: requests, their answers in the same order, and events between
 * them (protocol/host.h). No function here waits. The caller polls link->conn.fd as base/conn.h
 * says.
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
    struct host_link_asked { /* the caller's own data about each request without an answer */
        int what;
        int64_t about;
    } * waiting;
    size_t waiting_count;
};

#define HOST_LINK_INIT                                                                             \
    {                                                                                              \
        .conn = CONN_INIT                                                                          \
    }

/* Connects to the host of an agent through its socket in run/. Returns false with errno: ENOENT or
 * ECONNREFUSED if no host listens; for others see hosts_connect(). */
bool host_link_connect(struct host_link *link, int run, const char *agent);
/* Closes the connection and forgets the requests on it. The link can be used again. */
void host_link_drop(struct host_link *link);

/* Sends a request; `head` is the text of a JSON object. `asked` comes back with the answer. Returns
 * false if HOST_LINK_WAITING_MAX requests wait for an answer, or if the connection is gone. */
bool host_link_ask(struct host_link *link, struct host_link_asked asked, const struct str *head,
                   const char *body, size_t body_len);
/* Writes as much as the socket accepts. Returns false if the connection is gone. */
bool host_link_write(struct host_link *link);
/* Reads once. Returns false if the connection is gone. */
bool host_link_read(struct host_link *link);
/* Takes the next frame. Returns 1 and sets *ret, which the caller releases with frame_free(); 0 if
 * no complete frame is there; -1 if the connection is unusable: bad input, or an answer without a
 * request. *ret_is_event tells events from answers; for an answer, *ret_asked is what the caller
 * gave with the request. */
int host_link_next(struct host_link *link, struct frame *ret, bool *ret_is_event,
                   struct host_link_asked *ret_asked);

#endif
