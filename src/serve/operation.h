/*
 * Operations: changes that take long. A request that begins one is answered with 202 and its id, by
 * which clients ask how it goes and cancel it; its end is an event, too. Each is a verb of mas in
 * its own process.
 *
 * The server keeps the newest OPERATIONS_MAX operations in memory, and forgets those that ended
 * OPERATION_KEPT_MS ago. If it is killed, their processes go on, and their ids are unknown.
 * Everything here belongs to the event loop.
 */
#ifndef MAS_SERVE_OPERATION_H
#define MAS_SERVE_OPERATION_H

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "serve/work.h"

#include <stdbool.h>

enum {
    OPERATIONS_MAX = 256,
    OPERATIONS_AT_ONCE = 12, /* others wait; a session has its share, see work.h */
    OPERATION_OUTPUT_MAX = 256 << 10, /* bytes of its output that are kept */
    OPERATION_KEPT_MS = 3600 * 1000,
};

struct body_member; /* serve/body.h */
struct server;
struct operation;
struct operations;

/* Creates the list; release it with operations_free(). `server` must outlive it. */
int operations_make(struct server *server, struct operations **ret, struct err *err);
void operations_free(struct operations *operations);
/* Operations end in jobs of this pool. It belongs to the operations. */
struct pool *operations_pool(const struct operations *operations);

/* What an operation does, and on what. */
struct operation_wish {
    const char *session; /* an id; "": on none */
    const char *agent; /* NULL: on none */
    const char *const *words; /* of the command line, ended by NULL */
    const char *input; /* its standard input; NULL: none */
    const struct body_member *members; /* static: the options among the words, for its error */
};

/* Begins an operation. Returns NULL if OPERATIONS_MAX operations, or as many as one session may
 * have, have not ended. The operation belongs to the list. */
const struct operation *operations_begin(struct operations *operations,
                                         const struct operation_wish *wish, struct err *err);
/* Returns the operation with this id, or NULL. */
struct operation *operations_find(struct operations *operations, const char *id);
/* Asks the process of an operation to end, as Ctrl-C does; one that waits never starts. Returns
 * false if it has ended. */
bool operation_cancel(struct operation *operation);
/* Write one operation, or all as a list with the oldest first, as JSON. */
void operation_put(const struct operation *operation, struct str *to);
void operations_put(const struct operations *operations, struct str *to);

#endif
