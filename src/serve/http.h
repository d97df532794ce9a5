/*
 * Connections: the only files that know libmicrohttpd are http.c and http_request.c.
 *
 * libmicrohttpd runs without threads of its own on the event loop: http_fds() are watched, and
 * http_turn() is called when one is ready or http_timeout_ms() have passed. A request that waits
 * has its connection suspended, and http_answered() resumes it.
 */
#ifndef MAS_SERVE_HTTP_H
#define MAS_SERVE_HTTP_H

#include "base/err.h"
#include "serve/request.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
    HTTP_HEAD_MAX = 32 * 1024, /* bytes of a request's head, and of what a connection holds */
    HTTP_IDLE_S = 30, /* a connection on which nothing moves ends */
    HTTP_REQUEST_MS = 60 * 1000, /* as does one whose request is not whole by then */
    HTTP_STRANGER_MS = 10 * 1000, /* and one that has not shown the token by then */
    HTTP_DAEMONS = 2 /* with TLS, and without */
};

struct http;

/* What makes the answers. */
struct http_handler {
    /* Once the head is there; false: there is an answer. */
    bool (*begin)(struct request *request);
    /* Once the body is there too. */
    enum step (*handle)(struct request *request);
};

/* `cert` and `key` are PEM; NULL: no TLS but for connections of the Unix socket. */
int http_make(struct server *server, struct http_handler handler, const char *cert, const char *key,
              struct http **ret, struct err *err);
/* Nothing may wait any more but streams. */
void http_free(struct http *http);

/* Takes a connection over. */
void http_add(struct http *http, int fd, const struct sockaddr *from, socklen_t len);
/* Connections that have a place. */
size_t http_connections(const struct http *http);
/* Requests that are not answered yet, streams not counted; and those. */
size_t http_busy(const struct http *http);
size_t http_streams(const struct http *http);

/* Descriptors to watch; -1 where there is none. */
void http_fds(const struct http *http, int fds[HTTP_DAEMONS]);
int http_timeout_ms(struct http *http);
void http_turn(struct http *http);
/* Once a second: ends connections that take too long. */
void http_sweep(struct http *http);

/* request->answer is there. */
void http_answered(struct request *request);
/* There are new events; `beat`: say something to those for whom there are none. */
void http_wake_streams(struct http *http, bool beat);

#endif
