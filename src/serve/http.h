/*
 * Connections. Only http.c and http_request.c use libmicrohttpd.
 *
 * libmicrohttpd runs on the event loop, without its own threads. The loop waits for what
 * http_want() names and calls http_turn() in each turn, at the latest after http_timeout_ms().
 * While a request waits, its connection is suspended; http_answered() resumes it.
 */
#pragma once

#include "os/loop.h"
#include "serve/request.h"

#include <sys/socket.h>

enum {
    HTTP_HEAD_MAX = 32 * 1024, /* bytes of a request's head, and of a connection's memory */
    HTTP_IDLE_S = 30, /* seconds until an idle connection is closed */
    HTTP_REQUEST_MS = 60 * 1000, /* time limit for a complete request */
    HTTP_STRANGER_MS = 10 * 1000, /* the same for a client that has not shown the token */
    HTTP_DAEMONS = 2 /* with TLS, and without */
};

struct http;

/* The functions that answer requests. */
struct http_handler {
    /* Called after the head has arrived; false: it has answered. */
    bool (*begin)(struct request *request);
    /* Called after the body has arrived. */
    enum handled (*handle)(struct request *request);
    /* Called with the answer, before it is sent, or when nobody is there to receive it. */
    void (*end)(struct request *request);
    /* Called after it was sent. took_us is its time in microseconds; -1: a stream, which has none.
     */
    void (*count)(const struct request *request, int64_t took_us);
};

/* Starts libmicrohttpd. `cert` and `key` are PEM texts; NULL: no TLS. Unix
 * sockets never use TLS. Release *ret with http_free(). */
int http_make(struct server *server, struct http_handler handler, const char *cert, const char *key,
              struct http **ret, struct err *err);
/* Ends all connections. No request except streams may be waiting. */
void http_free(struct http *http);

/* Takes ownership of the connection `fd`; closes it if there is no room. */
void http_add(struct http *http, int fd, const struct sockaddr *from, socklen_t len);
/* Returns the number of open connections. */
size_t http_connections(const struct http *http);
/* Return the number of requests without an answer, excluding streams, and the number of streams. */
size_t http_busy(const struct http *http);
size_t http_streams(const struct http *http);

/* Waits in this turn for everything that libmicrohttpd waits for. */
void http_want(const struct http *http, struct loop *loop);
/* The number of clients that follow a log. */
size_t http_log_followers(const struct http *http);
/* Returns after how many milliseconds to call http_turn() at the latest; at most 1000. */
int http_timeout_ms(struct http *http);
/* Lets libmicrohttpd work without blocking. */
void http_turn(struct http *http, struct loop *loop);
/* Call this once a second: it closes connections that take too long, and streams of clients whose
 * token has expired. */
void http_sweep(struct http *http);

/* Sends request->answer. */
void http_answered(struct request *request);
/* Wakes the streams because there are new events. With `beat`, a stream without new events sends a
 * comment. */
void http_wake_streams(struct http *http, bool beat);
