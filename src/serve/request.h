/*
 * One request and its answer, without a word of how they travel: http_request.c fills a struct
 * request from a connection, api.c makes the answer.
 */
#ifndef MAS_SERVE_REQUEST_H
#define MAS_SERVE_REQUEST_H

#include "base/id.h"
#include "base/json.h"
#include "base/str.h"
#include "serve/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_PARTS = 6, REQUEST_QUERIES = 16, REQUEST_URI_MAX = 4096 };

enum method { METHOD_GET, METHOD_POST, METHOD_DELETE, METHOD_OTHER };

struct server;
struct request;

enum step {
    STEP_ANSWERED,
    STEP_LATER, /* http_answered() will be called */
    STEP_STREAM, /* of events, from request->last_event on */
};

struct route {
    enum method method;
    const char *path; /* {id} is a session, {agent} an agent */
    size_t body_max; /* bytes; 0: it takes none */
    bool open; /* needs no token */
    enum step (*handle)(struct request *request);
    const char *const *queries; /* that it knows, NULL-terminated; NULL: none */
};

struct answer {
    int status; /* 0: there is none yet */
    const char *type; /* NULL: JSON */
    const char *allow; /* of a 405 */
    char etag[20]; /* with its quotes; "": none */
    struct str body;
};

struct request {
    struct server *server;
    enum method method;
    const char *verb; /* the method as it was sent */
    char *uri; /* as it was sent; cut up by request_split() */
    bool local; /* it came over the Unix socket */
    bool known; /* it did, or it shows the token */
    /* Headers, NULL where there are none; they belong to the connection. */
    const char *host, *origin, *authorization, *if_none_match, *last_event;

    char *parts[REQUEST_PARTS]; /* of the path, between its slashes */
    size_t part_count;
    struct query {
        const char *key, *value;
    } queries[REQUEST_QUERIES];
    size_t query_count;

    const struct route *route; /* NULL: none */
    char id[ID_TEXT]; /* of the session that the path names; "" */
    const char *agent; /* that the path names, or NULL */
    struct str body;
    int64_t start_us; /* monotonic */

    struct job job; /* while a worker has it */
    struct json *json; /* the body, read */
    int64_t survey_ms, tmux_ms, hosts_ms; /* what answers it was asked for then, or later */
    struct request *next; /* in the list of those who wait for a survey */

    struct answer answer;
};

/* Takes the uri apart. false, with an answer, where it is none of ours. */
bool request_split(struct request *request);
/* The value of a query, or NULL. */
const char *request_query(const struct request *request, const char *key);
void request_free(struct request *request);

/* Answers. The code of an error, a word, follows from its status. */
void answer_json(struct request *request, int status, struct str *body); /* takes *body */
void answer_error(struct request *request, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* From what went wrong; `conflict` is the status that MAS_CONFLICT means here. */
void answer_err(struct request *request, const struct err *err, int conflict);
/* The error object alone. */
void answer_put_error(int status, const char *message, const char *hint, struct str *to);
/* Gives the answer, a 200, the tag of these 64 bits; it becomes a 304 where the client has it. */
void answer_tag(struct request *request, uint64_t hash);
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t len);

#endif
