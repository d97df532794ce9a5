/*
 * The text of the index, for index.c: lines are made, cut up and copied here (index_text.c),
 * without a look at any file.
 */
#ifndef MAS_STORE_INDEX_INTERNAL_H
#define MAS_STORE_INDEX_INTERNAL_H

#include "base/str.h"
#include "store/index.h"

/* The members of a row in the order in which they are written. */
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
    INDEX_PRIVATE, /* from here on missing in an index of an earlier version */
    INDEX_STAMP,
    INDEX_N
};

/* A set of sessions. */
struct index_ids {
    const char *const *sorted;
    size_t count;
};
int index_compare_ids(const void *a, const void *b);
/* `ids` NULL is the empty set. */
bool index_has_id(const struct index_ids *ids, const char *id);

/* Making a file: its head, its lines, its tail. */
void index_begin(struct str *to);
void index_add_line(struct str *to, const char *line, size_t len);
void index_end(struct str *to);
/* The line of a session; `stamp` says which .session it was read from. */
void index_put_row(const struct root *root, const struct session *session, const char *stamp,
                   struct str *to);
/* Copies all lines behind what is in *to, but for those of the `ids`: `row` stands in the place of
 * the first of these, or at the end (NULL: nowhere). false where the file is no good. */
bool index_copy_lines(const char *text, size_t len, const struct index_ids *ids,
                      const struct str *row, struct str *to);

/* Reading one: adds the rows of index->text, which is cut up; false where it is not as it should
 * be. */
bool index_cut_up(struct index *index, size_t len);
/* One line without its newline and comma; it stays where it is. */
bool index_read_row(struct index *index, char *line, size_t len);
/* A copy that goes with the index. */
char *index_keep(struct index *index, const char *text);
/* How many rows a file has, by its lines. false: it is none. */
bool index_count_rows(const char *text, size_t len, size_t *ret);
/* true if a row has this value (NULL: never). */
bool index_holds(const char *text, size_t len, enum index_member member, const char *value);

#endif
