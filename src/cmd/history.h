/*
 * A conversation as `mas history` prints it: for people, as JSON, as a document.
 */
#ifndef MAS_CMD_HISTORY_H
#define MAS_CMD_HISTORY_H

#include "memory/store.h"

#include <stdbool.h>

struct json_out;

enum history_form { HISTORY_TEXT, HISTORY_JSON, HISTORY_JSONL, HISTORY_MARKDOWN };

struct history {
    enum history_form form;
    const char *session_id;
    int width; /* of a line for people */
    int64_t query; /* of the message before; 0: none yet */
    int64_t count; /* printed so far */
};

/* A store_each of one: `arg` is the struct history. */
bool history_print(const struct store_item *item, void *arg);

/* Which message it is, when it was said and by whom: the line above one that was found. */
void history_add_head(struct str *to, const char *session, int64_t number, const char *agent,
                      enum store_role role, int64_t time_ms);

/* A query, for people or as JSON: a store_each_query. */
bool history_print_query(const struct store_query *query, void *arg);

#endif
