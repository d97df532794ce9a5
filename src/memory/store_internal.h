/*
 * Shared by the parts of the store, for src/memory/store*.c and its test only.
 */
#pragma once

#include "memory/db.h"
#include "memory/store.h"

enum { STORE_AGENT_MAX = 32 }; /* characters of an agent's id */

/* True if message `m` is a waiting prompt: it was accepted and no turn has begun for it. This
 * condition is the only record of that, so nothing can contradict it. */
#define STORE_WAITS                                                                                \
    "m.role = 0 AND m.state = 0 AND m.stop_reason IS NULL AND NOT EXISTS (SELECT 1 FROM message c" \
    " WHERE c.query = m.query AND c.id > m.id AND c.trigger = m.id)"

/* A message that is open in this process. */
struct store_open_message {
    int64_t number;
    int64_t pieces; /* number so far */
    size_t bytes; /* of text so far */
};

struct store {
    struct db *db;
    char *session_id;
    char *agent; /* NULL: a reader */
    bool write;
    int version; /* of its schema: a reader's may be older */
    struct store_open_message *open; /* the open messages of this writer; a cache */
    size_t open_count;
    size_t cut_turns; /* ended when it was opened */
};

/* Creates the tables in an empty database and those that an older one lacks (with `write`), and
 * refuses one that is damaged or not of mas. *ret_version is that of its schema then; 0: it is
 * empty. */
int store_settle(struct db *db, bool write, int *ret_version, struct err *err);

/* Fails with MAS_FAILED unless the store was opened for writing. */
int store_may_write(const struct store *store, struct err *err);
/* Calls db_sync() and begins a transaction. */
int store_begin(struct store *store, enum store_sync sync, struct err *err);
/* Commits if rc is 0, otherwise rolls back. Returns 0 only if rc is 0 and the commit succeeded,
 * else -1. */
int store_end(struct store *store, int rc, struct err *err);

/* Adds a message. The caller handles the transaction. */
int store_insert(struct store *store, int64_t query, const struct store_message *message,
                 int64_t *ret, struct err *err);
/* Joins the pieces of an open message to its text and sets its state. Call it inside a
 * transaction. */
int store_close_message(struct store *store, int64_t number, enum store_state state,
                        struct err *err);

/* A list of message numbers. */
struct store_numbers {
    int64_t *items;
    size_t count;
};
/* Reads the first column of all rows. The caller releases *ret with store_numbers_free(). */
int store_list(struct store *store, sqlite3_stmt *stmt, struct store_numbers *ret, struct err *err);
void store_numbers_free(struct store_numbers *numbers);
#define _cleanup_numbers_ __attribute__((cleanup(store_numbers_free)))

/* Marks the agent's open messages as interrupted, except waiting prompts, and its turns without an
 * end as stopped. Call it inside a transaction. */
int store_mend(struct store *store, struct err *err);

/* Ends the agent's turns that a kill has cut off. Call it inside a transaction. */
int store_usage_mend(struct store *store, struct err *err);

/* Adds what is told of the last turn of an agent session. Call it inside a transaction. */
struct store_spending;
int store_usage_add(struct store *store, int64_t query, const char *agent_session,
                    const struct store_spending *more, struct err *err);

/* store_transcript_write() inside a transaction. */
struct store_transcript;
int store_transcript_add(struct store *store, int64_t query, const struct store_transcript *at,
                         const struct store_spending *more, struct err *err);
