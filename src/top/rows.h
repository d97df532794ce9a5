/*
 * The rows of the list: agents in the order in which a person looks at them, under headings. The
 * headings are what the agents do ("needs you", "working", ...) or, by team, the teams; a heading
 * can be folded. A team without any host is one row. What is sent at set times, and an errand, has
 * one if it has failed.
 */
#pragma once

#include "top/table.h"

enum row_kind { ROW_HEAD, ROW_AGENT, ROW_TEAM, ROW_ENTRY };

struct top_row {
    enum row_kind kind;
    enum attention class; /* of the agent; for a head by class, its class */
    struct top_team *team; /* NULL: a head by class */
    struct top_agent *agent; /* of ROW_AGENT; of ROW_ENTRY, to which it is sent */
    const struct every_entry *entry; /* of ROW_ENTRY: it has failed */
    size_t count; /* for a head: the agents and entries below it */
    bool folded; /* likewise */
};

/* Names a row, also after its agent is gone. */
struct row_key {
    enum row_kind kind;
    enum attention class;
    char team[ID_TEXT];
    char agent[33];
    int64_t number; /* of an entry */
};

struct rows {
    struct top_row *list;
    size_t count;
    size_t totals[ATTENTION_COUNT]; /* of each class, also those that the filter hides */
    size_t hidden; /* agents and entries that the filter hides */
    /* what the user has chosen */
    bool by_team;
    char *filter; /* NULL: none */
    bool folded[ATTENTION_COUNT]; /* heads by class */
    char **folded_teams; /* ids */
    size_t chosen; /* index of the chosen row */
    struct row_key key; /* names it; no team and no class: nothing was chosen yet */
    bool moved; /* the user has chosen a row; until then the first agent is chosen */
};

/* Zero-initialised. */
void rows_free(struct rows *rows);
/* Builds the list anew from the table. The chosen row stays chosen if it is still there. */
void rows_build(struct rows *rows, const struct top_table *table);
/* Chooses another row, as far as there is one. */
void rows_choose(struct rows *rows, long at);
/* Folds or unfolds the group of the chosen row, and chooses its head. The caller builds the list
 * anew. */
void rows_fold(struct rows *rows);
/* Returns the chosen row, NULL if the list is empty. */
const struct top_row *rows_chosen(const struct rows *rows);
/* Sets what is shown: agents with all words of the filter in "session/id", their role, state,
 * title, question or branch, and entries with them in "session/id", their text or why they failed.
 * "" or NULL: all. */
void rows_filter(struct rows *rows, const char *filter);
