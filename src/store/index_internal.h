/*
 * The text of the index, for index.c. index_text.c formats, splits and copies lines and accesses no
 * files.
 */
#pragma once

#include "store/index.h"

/* The members of a row, in the order in which they are written. */
/* A new one comes last, and goes into index_text.c, struct row, and check_workspace() and
 * add_unknown() in client/survey.c. */
enum index_member {
    INDEX_ID,
    INDEX_TMUX,
    INDEX_STATUS,
    INDEX_CREATED,
    INDEX_ACTIVITY,
    INDEX_DIR,
    INDEX_MODE,
    INDEX_NAME,
    INDEX_TEMPLATE,
    INDEX_PRIVATE, /* the members before it are enough: a script may write a row */
    INDEX_STAMP,
    INDEX_N
};

/* A set of sessions. */
struct index_ids {
    const char *const *sorted;
    size_t count;
};
/* Compares two pointers to ids, for qsort() and bsearch(). */
int index_compare_ids(const void *a, const void *b);
/* Returns true if the set contains `id`. `ids` NULL is the empty set. */
bool index_has_id(const struct index_ids *ids, const char *id);

/* Write a file: its head, its lines, its tail. */
void index_begin(struct str *to);
void index_add_line(struct str *to, const char *line, size_t len);
void index_end(struct str *to);
/* Appends the line of a session. `stamp` identifies the .session that it was read from;
 * the line has none if that must be read each time. */
void index_put_row(const struct root *root, const struct session *session, const char *stamp,
                   struct str *to);
/* Appends all lines to *to except those of the `ids`. `row` replaces the first of these, or goes to
 * the end (NULL: nowhere). Returns false if the file is invalid. */
bool index_copy_lines(const char *text, size_t len, const struct index_ids *ids,
                      const struct str *row, struct str *to);

/* Reads a file: adds the rows of index->text, which it modifies. Returns false if the file is
 * invalid. */
bool index_cut_up(struct index *index, size_t len);
/* The same for the begin of a file without its head, up to its last whole row: reads the rows that
 * may be those of sessions that run, copied from `text`, which it modifies, and counts the others.
 * `servers`: the names of tmux servers that there are. Returns where the first line begins that it
 * has not used. */
char *index_cut_running(struct index *index, const struct index_ids *servers, char *text,
                        size_t len);
/* Return the rows of a file, or NULL if it does not begin as one; and true if nothing but the end
 * of a file is in the text. */
char *index_after_head(char *text);
bool index_is_tail(const char *at, const char *end);
/* Reads one line without its newline and comma. The row points into `line`. */
bool index_read_row(struct index *index, char *line, size_t len);
/* Copies a text; the index owns the copy. */
char *index_keep(struct index *index, const char *text);
/* Sets *ret to the number of rows of a file, counted by lines. Returns false if it is not an
 * index. */
bool index_count_rows(const char *text, size_t len, size_t *ret);
/* Returns true if a row has this value (NULL: always false). */
bool index_holds(const char *text, size_t len, enum index_member member, const char *value);
