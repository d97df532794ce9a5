/*
 * JSON-RPC 2.0 in both directions, one message per line, without descriptors. The caller passes in
 * the bytes of the peer and sends the bytes that come out; callbacks report what the messages mean.
 *
 *     struct rpc *rpc = rpc_new(&spec, arg);
 *     serial = rpc_ask(rpc, "session/new", params, 30000);
 *     ... write rpc_out(), rpc_sent(); read, rpc_feed(); rpc_tick(time_monotonic_ms()) ...
 *
 * Each direction has its own ids. Ids of the peer are kept verbatim: any number or string of at
 * most RPC_ID_MAX bytes. Until a request of the peer is answered, a ticket names it: a small number
 * as text. Tickets are never reused.
 *
 * Input that is no message is reported to `garbage` and skipped: a line longer than line_max (the
 * rest is dropped as it arrives), bad JSON, nesting deeper than JSON_DEPTH_MAX, or neither a
 * request nor an answer. If it may have been a request, it is answered with -32700 or -32600.
 * \u0000 and unpaired surrogates, which programs write when they truncate text, become U+FFFD.
 * Answers that nobody waits for any more are dropped.
 *
 * Callbacks may call any function here except rpc_feed() and rpc_tick(). After an rpc_free() in a
 * callback no other callback is called. What a callback receives is valid only during the call.
 */
#pragma once

#include "base/json.h"

enum {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_NO_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_TIMED_OUT = -1, /* own code: no answer in time */
};
enum {
    RPC_OPEN_MAX = 1024, /* open requests of the peer; more are refused */
    RPC_ID_MAX = 512, /* bytes of a peer's id as JSON, kept while its request is open */
    RPC_TICKET_MAX = 24, /* bytes of a ticket, with the NUL */
};

/* What `garbage` receives for a line longer than line_max. */
#define RPC_TOO_LONG "the message is too long"

struct rpc;

struct rpc_request {
    const char *ticket; /* NULL: a notification, which gets no answer */
    const char *method;
    const struct json *params; /* NULL: none */
};

struct rpc_answer {
    int64_t serial; /* as rpc_ask() returned it */
    bool ok;
    const struct json *result; /* NULL if not ok */
    int64_t code; /* if not ok */
    const char *message; /* if not ok; "" if there is none */
    const struct json *data; /* if not ok; NULL: none */
};

struct rpc_spec {
    void (*request)(void *arg, const struct rpc_request *request); /* also for notifications */
    void (*answer)(void *arg, const struct rpc_answer *answer);
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len); /* may be NULL */
    size_t line_max; /* bytes of a message */
    size_t out_max; /* bytes that wait to be sent; more are lost, see rpc_is_stuck() */
};

/* Creates a connection, which keeps both pointers. The caller releases it with rpc_free(). */
struct rpc *rpc_new(const struct rpc_spec *spec, void *arg);
void rpc_free(struct rpc *rpc);

/* Returns the bytes to send; they stay valid until the next call of any other function. rpc_sent()
 * says how many were sent. */
const char *rpc_out(const struct rpc *rpc, size_t *ret_len);
void rpc_sent(struct rpc *rpc, size_t len);
/* Returns true if output was lost because the peer does not read. The connection is then
 * unusable. */
bool rpc_is_stuck(const struct rpc *rpc);

/* Passes in bytes of the peer and calls the callbacks. */
void rpc_feed(struct rpc *rpc, const char *bytes, size_t len);
/* Moves the deadlines of all open requests. */
void rpc_delay(struct rpc *rpc, int64_t ms);
/* Ends overdue requests with RPC_TIMED_OUT. now_ms is time_monotonic_ms(). Returns when to call
 * again, on the same clock; -1: never. */
int64_t rpc_tick(struct rpc *rpc, int64_t now_ms);

/* Sends a request; `params` is JSON text, NULL: none. timeout_ms -1: no limit. Returns the
 * request's serial, which is above 0. */
int64_t rpc_ask(struct rpc *rpc, const char *method, const char *params, int timeout_ms);
/* Drops the answer to this request when it comes. */
void rpc_forget(struct rpc *rpc, int64_t serial);
/* Sends a notification. */
void rpc_tell(struct rpc *rpc, const char *method, const char *params);

/* Answers a request of the peer with `result`, JSON text, or refuses it with an error. Both return
 * false if no request with this ticket is open. */
bool rpc_reply(struct rpc *rpc, const char *ticket, const char *result);
bool rpc_refuse(struct rpc *rpc, const char *ticket, int code, const char *message);
/* Like rpc_refuse(), with `data` as JSON text. */
bool rpc_refuse_with(struct rpc *rpc, const char *ticket, int code, const char *message,
                     const char *data);
/* Closes a request of the peer without an answer, because the peer has withdrawn it. */
void rpc_drop(struct rpc *rpc, const char *ticket);
/* Returns the ticket of the open request with this id, by which a peer withdraws a request; NULL:
 * none. Valid until that request is answered. */
const char *rpc_ticket_of(const struct rpc *rpc, const struct json *id);
