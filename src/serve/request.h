/*
 * A request and its answer, independent of the transport: http_request.c fills a struct request
 * from a connection, api.c creates the answer.
 */
#pragma once

#include "base/hash.h"
#include "base/id.h"
#include "base/json.h"
#include "model/operation.h"
#include "serve/work.h"
#include "store/token.h"

enum { REQUEST_PARTS = 6, REQUEST_QUERIES = 16, REQUEST_URI_MAX = 4096 };

struct log_stream; /* serve/log_stream.h */
struct server;
struct request;

enum handled {
    HANDLED_NOW,
    HANDLED_LATER, /* http_answered() will be called later */
    HANDLED_STREAM, /* a stream of events after request->last_event */
};

struct answer {
    int status; /* 0: no answer yet */
    const char *type; /* NULL: JSON */
    const char *allow; /* for a 405 */
    bool replayed; /* it is that of an earlier request with the same Idempotency-Key */
    char etag[20]; /* with quotes; "": none */
    char range[72]; /* Content-Range; "": none */
    struct str cookie; /* for the browser to keep; "": none */
    bool page; /* a browser shows it: what that may do is limited */
    struct str body;
};

struct request {
    struct server *server;
    enum method method;
    const char *verb; /* the method as sent */
    char *uri; /* as sent; request_split() cuts it up */
    bool local; /* it came through a Unix socket */
    bool known; /* local, or with a token */
    enum right right; /* of the client */
    char who[TOKEN_NAME_MAX + 1]; /* the name of its token; "": none */
    char token[SHA256_TEXT]; /* its sum; "": none */
    struct guest guest; /* what its token is for */
    /* Headers, NULL if missing; they belong to the connection. */
    const char *host, *origin, *authorization, *if_none_match, *last_event, *idempotency_key;
    uint16_t port; /* where this server got the request; 0: no port */
    const char *fetch_site; /* where a browser says that the request comes from */
    const char *cookie_token, *page_token; /* the halves of a paired browser's token */
    bool paired; /* it is known by these */
    bool secure; /* it came over TLS */

    char *parts[REQUEST_PARTS]; /* of the path, between slashes */
    size_t part_count;
    struct query {
        const char *key, *value;
    } queries[REQUEST_QUERIES];
    size_t query_count;

    const struct operation *operation; /* NULL: there is nothing at this address */
    char id[ID_TEXT]; /* of the session in the path, or "" */
    const char *agent; /* the agent in the path, or NULL */
    const char *item; /* what stands for {item} in the path, or NULL */
    size_t body_max; /* bytes that its operation takes; 0: no body; TRANSFER_MAX: it goes into a
                        file */
    struct str body;
    int64_t start_us; /* monotonic */

    struct job job; /* while a worker executes it */
    void (*run)(struct job *job); /* what it is to do once a guest's right is known */
    struct json *json; /* its parameters, from the queries or the body: checked */
    int64_t survey_ms, tmux_ms, hosts_ms; /* the oldest data that may answer it, monotonic */
    struct request *next; /* in a list of requests that wait for the same */
    struct share *share; /* its place while it waits for the job of another; NULL: none */

    /* Sums of the Idempotency-Key and of what it stands for; "": there is none to keep. */
    char key_name[SHA256_TEXT], key_sum[SHA256_TEXT];

    const char *range, *if_range; /* headers, like those above */
    struct log_stream *log; /* the body of the answer; NULL: none */

    /* An archive that comes in or is sent, see serve/transfer.h. */
    struct transfer {
        char name[64]; /* of its file in sessions/; "": none */
        int fd;
        size_t size, excess;
        bool sends; /* it is the body of the answer */
        struct sha256 sum; /* if it comes with an Idempotency-Key */
    } transfer;

    struct answer answer;
};

/* Splits the URI into parts and queries. Returns false, after answering with an error, if it is
 * invalid. */
bool request_split(struct request *request);
/* Decodes what stands for {item} in the path, once its operation is known. Returns false after
 * answering with an error. */
bool request_decode_item(struct request *request);
/* Returns the value of a query, or NULL. It belongs to the request. */
const char *request_query(const struct request *request, const char *key);
/* Frees everything in the request, but not the request. */
void request_free(struct request *request);

/* Set the answer. The code of an error, a word, follows from its status, and so does the hint: what
 * a client can do about it. */
/* takes ownership of *body */
void answer_json(struct request *request, int status, struct str *body);
void answer_error(struct request *request, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Likewise, with a hint of its own and, unless that is NULL, a code. */
void answer_refusal(struct request *request, int status, const char *code, const char *hint,
                    const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Answers with an error; its code determines the status. `conflict` is the status for
 * MAS_CONFLICT. */
void answer_err(struct request *request, const struct err *err, int conflict);
/* Appends the member "error" with what an operation on a session or one of its agents (NULL: none)
 * failed with. */
void answer_put_failure(const struct err *err, const char *id, const char *agent,
                        struct json_out *out);
/* Adds an ETag with these 64 bits to the answer, a 200. It becomes a 304 if the client has this
 * tag. */
void answer_tag(struct request *request, uint64_t hash);
