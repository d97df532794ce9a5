/*
 * JSON-RPC 2.0, one message a line, in both directions, without a descriptor: what the peer wrote
 * goes in, what it is to be sent comes out, and what it means is told by calls.
 *
 *     struct rpc *rpc = rpc_new(&spec, arg);
 *     serial = rpc_ask(rpc, "session/new", params, 30000);
 *     ... write rpc_out(), rpc_sent(); read, rpc_feed(); rpc_tick(time_monotonic_ms()) ...
 *
 * Both directions have ids of their own. Those of the peer are kept as they are: a number of any
 * form, any text, of RPC_ID_MAX bytes. A request of the peer is known by a ticket, a small number
 * as text, until it is answered; tickets are never used twice.
 *
 * What is no message is told by `garbage` and skipped: a line past line_max (its rest is dropped as
 * it comes), bad JSON, nesting past JSON_DEPTH_MAX, what is neither request nor answer. Where it
 * may have been a request it is answered with -32700 or -32600. \u0000 and halves of surrogate
 * pairs, which programs do write when they cut text, become U+FFFD. An answer that nobody waits for
 * any more is dropped.
 *
 * Callbacks may call everything here but rpc_feed() and rpc_tick(); after an rpc_free() in one of
 * them no other is called.
 */
#ifndef MAS_PROTOCOL_RPC_H
#define MAS_PROTOCOL_RPC_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_NO_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_TIMED_OUT = -1, /* ours */
};
enum {
    RPC_OPEN_MAX = 1024, /* requests of the peer that wait for an answer; more are refused */
    RPC_ID_MAX = 512, /* bytes of an id of the peer, as JSON: they are kept while it is open */
    RPC_TICKET_MAX = 24, /* bytes with the NUL */
};

/* What `garbage` is told of a line past line_max. */
#define RPC_TOO_LONG "the message is too long"

struct rpc;

struct rpc_request {
    const char *ticket; /* NULL: a notification, which is not answered */
    const char *method;
    const struct json *params; /* NULL none */
};

struct rpc_answer {
    int64_t serial; /* that rpc_ask() returned */
    bool ok;
    const struct json *result; /* NULL where not ok */
    int64_t code; /* where not ok */
    const char *message; /* likewise; "" where it says none */
    const struct json *data; /* likewise; NULL none */
};

struct rpc_spec {
    void (*request)(void *arg, const struct rpc_request *request); /* and notifications */
    void (*answer)(void *arg, const struct rpc_answer *answer);
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len); /* NULL: not told */
    size_t line_max; /* bytes of one message */
    size_t out_max; /* bytes that wait to be sent; what comes beyond is lost, see rpc_is_stuck() */
};

/* Both are kept by reference. */
struct rpc *rpc_new(const struct rpc_spec *spec, void *arg);
void rpc_free(struct rpc *rpc);

const char *rpc_out(const struct rpc *rpc, size_t *ret_len);
void rpc_sent(struct rpc *rpc, size_t len);
/* Something was lost because the peer does not read: the connection is of no more use. */
bool rpc_is_stuck(const struct rpc *rpc);

void rpc_feed(struct rpc *rpc, const char *bytes, size_t len);
/* Requests past their time get RPC_TIMED_OUT. Returns when to call again, on the same clock, -1
 * never. */
int64_t rpc_tick(struct rpc *rpc, int64_t now_ms);

/* A request; params is JSON text, NULL none. Returns its serial, above 0. timeout_ms -1: none. */
int64_t rpc_ask(struct rpc *rpc, const char *method, const char *params, int timeout_ms);
/* The answer is not waited for any more. */
void rpc_forget(struct rpc *rpc, int64_t serial);
/* A notification. */
void rpc_tell(struct rpc *rpc, const char *method, const char *params);

/* Answers a request of the peer; result is JSON text. false: none of that ticket is open. */
bool rpc_reply(struct rpc *rpc, const char *ticket, const char *result);
bool rpc_refuse(struct rpc *rpc, const char *ticket, int code, const char *message);
/* The same with `data`, JSON text. */
bool rpc_refuse_with(struct rpc *rpc, const char *ticket, int code, const char *message,
                     const char *data);
/* It is never answered: the peer has taken it back. */
void rpc_drop(struct rpc *rpc, const char *ticket);
/* Ticket of the open request that has this id, as a peer names one that it takes back; NULL none.
 * Valid until that is answered. */
const char *rpc_ticket_of(const struct rpc *rpc, const struct json *id);

#endif
