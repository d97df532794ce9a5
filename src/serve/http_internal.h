/*
 * Parts of connections and requests; for src/serve/http*.c only, which alone know libmicrohttpd.
 */
#ifndef MAS_SERVE_HTTP_INTERNAL_H
#define MAS_SERVE_HTTP_INTERNAL_H

#include "serve/events.h"
#include "serve/http.h"
#include "serve/server.h"

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/* Who has a connection. A stranger can be anybody who reaches the port, so strangers have few
 * places and little time, and the one that has been idle for longest goes for the next. */
enum peer { PEER_STRANGER, PEER_KNOWN /* has shown the token */, PEER_LOCAL, PEER_N };

/* One connection. */
struct link {
    struct link *next, **at;
    int fd;
    enum peer peer;
    bool ended; /* it is being closed, and has no place any more */
    bool working; /* its request is whole, and not answered */
    int64_t since_ms; /* when it was last without a request */
};

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_WORKING, PHASE_SENT, PHASE_STREAM };

/* One request on it. */
struct exchange {
    struct request request; /* first: http_answered() goes back from it */
    struct http *http;
    struct MHD_Connection *connection;
    struct link *link;
    enum phase phase;
    bool suspended;
    bool too_large;
    struct exchange *next, **at; /* in the list of streams */
    struct event_cursor cursor;
    bool beat;
};

struct http {
    struct server *server;
    struct http_handler handler;
    struct MHD_Daemon *daemons[HTTP_DAEMONS]; /* for the network, for the Unix socket */
    struct link *links; /* newest first */
    size_t connections[PEER_N];
    size_t busy, stream_count;
    struct exchange *streams;
};

/* A stranger has shown the token. */
void http_know(struct http *http, struct link *link);

/* ---- http_request.c: what libmicrohttpd calls, with the struct http, about a request */
void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                const char *verb, const char *version, const char *data,
                                size_t *len, void **context);
void http_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code);
/* Goes on with a connection that waits, if it does. */
void http_resume(struct exchange *exchange);

#endif
