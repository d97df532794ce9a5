/*
 * Shared by the files src/serve/http*.c, the only ones that use libmicrohttpd.
 */
#pragma once

#include "serve/events.h"
#include "serve/http.h"
#include "serve/server.h"

#include <microhttpd.h>

/* The kind of client. A stranger is anybody who can reach the port. So strangers have few places
 * and little time, and a new one displaces the one that has been idle longest. */
enum peer { PEER_STRANGER, PEER_KNOWN /* has shown the token */, PEER_LOCAL, PEER_N };

/* One connection. */
struct link {
    struct link *next, **at;
    int fd;
    uint16_t port; /* our own; 0: a Unix socket */
    enum peer peer;
    bool ended; /* it is being closed and has no place any more */
    bool working; /* its request is complete and not yet answered */
    bool encrypted;
    struct exchange *head; /* whose head is being read; NULL: none */
    int64_t since_ms; /* time of the last answer, or of the connection */
};

enum exchange_phase { PHASE_HEAD, PHASE_BODY, PHASE_WORKING, PHASE_SENT, PHASE_STREAM };

/* One request on a connection. */
struct exchange {
    struct request request; /* first member: http_answered() casts back from it */
    struct http *http;
    struct MHD_Connection *connection;
    struct link *link;
    enum exchange_phase phase;
    bool suspended;
    bool too_large;
    bool closes; /* the connection ends with its answer */
    const char *uri; /* in the buffer of libmicrohttpd */
    size_t uri_len;
    struct exchange *next, **at; /* the list of streams, or of followed logs */
    struct event_cursor cursor;
    bool beat;
    bool revoked; /* its token is not valid any more */
};

struct http {
    struct server *server;
    struct http_handler handler;
    /* without Unix sockets, and with TLS a second one for them */
    struct MHD_Daemon *daemons[HTTP_DAEMONS];
    struct link *links; /* newest first */
    size_t connections[PEER_N];
    size_t busy, stream_count, log_count;
    struct exchange *streams;
    struct exchange *logs; /* that are followed */
};

/* ---- http_request.c: callbacks of libmicrohttpd about a request; cls is the struct http */
void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                const char *verb, const char *version, const char *data,
                                size_t *len, void **context);
void http_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code);

/* ---- http_head.c */
/* How strict libmicrohttpd has to be. */
int http_head_strictness(void);
/* Returns why a head can be read in two ways, which the caller frees; NULL: it cannot. */
char *http_head_fault(struct exchange *exchange, const char *verb, const char *version);
/* For MHD_OPTION_EXTERNAL_LOGGER; cls is the struct http. */
void http_head_log(void *cls, const char *fmt, va_list args);

/* ---- http_stream.c: bodies that come bit by bit */
enum { LOG_BLOCK = 64 << 10 };
/* Resumes the connection if it is suspended. */
void http_resume(struct exchange *exchange);
/* Begins to send events; http_stream_leave() ends that. */
enum MHD_Result http_stream_open(struct exchange *exchange);
void http_stream_leave(struct exchange *exchange);
/* Ends the streams of clients whose token is not valid any more. */
void http_end_unknown(struct http *http);
/* Does so if the tokens have changed: what is removed ends before anything more is told. */
void http_refresh_tokens(struct http *http);
/* Returns the response whose body is request->log, NULL: none can be made. One that follows its log
 * is in http->logs until http_log_leave(). */
struct MHD_Response *http_log_response(struct exchange *exchange);
void http_log_leave(struct exchange *exchange);
/* For each turn of the loop. */
void http_logs_want(const struct http *http, struct loop *loop);
void http_logs_turn(struct http *http, struct loop *loop);
