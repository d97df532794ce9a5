/*
 * Print a conversation for `mas history`: as text, as JSON or as a Markdown document.
 */
#pragma once

#include "memory/store.h"

struct json_out;

enum history_form { HISTORY_TEXT, HISTORY_JSON, HISTORY_JSONL, HISTORY_MARKDOWN };

struct history {
    enum history_form form;
    const char *session_id;
    int width; /* columns of a line of text */
    bool on_terminal;
    int64_t query; /* query of the previous message; 0: no message yet */
    int64_t count; /* printed so far */
};

/* Prints one message. It is a store_each callback; `arg` is the struct history. */
bool history_print(const struct store_item *item, void *arg);

/* Appends the line above a found message: "SESSION:NUMBER  AGENT ROLE  TIME". */
void history_add_head(struct str *to, const char *session, int64_t number, const char *agent,
                      enum store_role role, int64_t time_ms);

/* Prints one query, as text or as JSON. It is a store_each_query callback; `arg` is the struct
 * history. */
bool history_print_query(const struct store_query *query, void *arg);
