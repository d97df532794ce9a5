/*
 * What the parts of the store share. Of no use outside src/memory/store*.c and its test.
 */
#ifndef MAS_MEMORY_STORE_INTERNAL_H
#define MAS_MEMORY_STORE_INTERNAL_H

#include "memory/db.h"
#include "memory/store.h"

enum { STORE_AGENT_MAX = 32 }; /* characters of an agent's id */

/* Whether message `m` is a prompt that waits: it was taken, and no turn has begun for it. Nothing
 * else says so, and so nothing can say otherwise. */
#define STORE_WAITS                                                                                \
    "m.role = 0 AND m.state = 0 AND m.stop_reason IS NULL AND NOT EXISTS (SELECT 1 FROM message c" \
    " WHERE c.query = m.query AND c.id > m.id AND c.trigger = m.id)"

/* A message that is open in this process. */
struct store_open_message {
    int64_t number;
    int64_t pieces; /* so far */
    size_t bytes; /* of text so far */
};

struct store {
    struct db *db;
    char *session_id;
    char *agent; /* NULL: a reader */
    bool write;
    struct store_open_message *open; /* those of this writer; a cache */
    size_t open_count;
};

/* The schema: step i carries a database from version i to i + 1. */
struct store_schema {
    const char *const *steps;
    int version; /* count of the steps */
};
/* Makes or carries forward (with `write`), and refuses what is not ours or damaged. *ret_version is
 * the version that was found, 0 where there is nothing yet. NULL: the schema of this program. */
int store_settle(struct db *db, const struct store_schema *schema, bool write, int *ret_version,
                 struct err *err);

int store_version(void);

/* MAS_FAILED unless the store was opened for writing. */
int store_may_write(const struct store *store, struct err *err);
/* db_sync() and BEGIN. */
int store_begin(struct store *store, enum store_sync sync, struct err *err);
/* COMMIT where rc is 0, else ROLLBACK; returns -1 unless both are well. */
int store_end(struct store *store, int rc, struct err *err);

/* Adds a message, without a thought of transactions. */
int store_insert(struct store *store, int64_t query, const struct store_message *message,
                 int64_t *ret, struct err *err);
/* Inside a transaction: joins the pieces of an open message to its text and sets its state. */
int store_close_message(struct store *store, int64_t number, enum store_state state,
                        struct err *err);

/* The numbers in the first column of all rows. */
struct store_numbers {
    int64_t *items;
    size_t count;
};
int store_list(struct store *store, sqlite3_stmt *stmt, struct store_numbers *ret, struct err *err);
void store_numbers_free(struct store_numbers *numbers);
#define _cleanup_numbers_ __attribute__((cleanup(store_numbers_free)))

/* Inside a transaction: all of the agent that was left open becomes interrupted, but for prompts
 * that wait. */
int store_mend(struct store *store, struct err *err);

/* JSON array of the further tags; *ret "" where there are none. MAS_USAGE for what is no tag. */
int store_pack_tags(char *const *tags, struct str *ret, struct err *err);

#endif
