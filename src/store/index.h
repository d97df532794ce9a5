/*
 * The index: sessions/.sessions.index, a JSON registry of all sessions. It is a cache: the
 * workspaces are the truth, and what is missing, stale or broken is made anew from them.
 *
 * The file is JSON with one session object a line, so that an update copies the other lines as they
 * are and a listing of ten thousand takes them apart without building a document. A line that holds
 * escapes goes through the JSON parser; one that is not as it is written here makes the whole index
 * broken.
 */
#ifndef MAS_STORE_INDEX_H
#define MAS_STORE_INDEX_H

#include "base/err.h"
#include "base/id.h"
#include "store/root.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>

#define INDEX_FILE ".sessions.index"

enum { INDEX_FILE_MAX = 256 << 20 }; /* bytes */

struct row {
    const char *id; /* all texts belong to the index */
    const char *tmux_name;
    const char *created; /* as time_format() writes it */
    const char *activity;
    const char *name; /* "" where it has none */
    const char *template;
    const char *stamp; /* of the .session that it was made from; "" where that is not known */
    enum status status; /* intent, as in .session */
    enum mode mode;
    bool private;
    bool missing; /* there is no workspace of that id */
    bool unlisted; /* there is a workspace, but it was not in the index */
};

struct index {
    char *text; /* the file, cut up into rows */
    char **copies; /* texts of rows that needed the JSON parser or come from a workspace */
    size_t copy_count;
    struct row *rows;
    size_t count;
    char *broken; /* why the file could not be used and was made anew; NULL */
};

#define INDEX_INIT                                                                                 \
    {                                                                                              \
        .text = NULL                                                                               \
    }

/*
 * Reads the index. Where it is missing or broken it is made from the workspaces, in memory and, if
 * that can be done, on disk. Where the number of directories in sessions/ says that it is stale (or
 * `thorough`), rows and workspaces are compared and `missing` and `unlisted` are set.
 */
int index_read(const struct root *root, bool thorough, struct index *ret, struct err *err);
void index_free(struct index *index);
/* Adds the row of a workspace that the index does not list; false where there is none. */
bool index_add_unlisted(const struct root *root, struct index *index, const char *id);
#define _cleanup_index_ __attribute__((cleanup(index_free)))

/* true while the .session of a row is the file that the row was made from, by its size and time. */
bool index_is_current(const struct root *root, const struct row *row);

/* Says whether a row has this tmux name or session name (NULL: not asked) as either of the two, and
 * whether sessions/ holds other directories than those of the rows and the `staged` ones that the
 * caller makes. An index that is missing, broken or lacks a workspace is made anew first. The
 * caller holds the metadata lock. */
struct index_facts {
    bool tmux_name_taken;
    bool name_taken;
    bool others;
};
int index_ask(const struct root *root, const char *tmux_name, const char *name, size_t staged,
              struct index_facts *ret, struct err *err);

/* Puts in or replaces a session's row, or takes it out (session NULL). The caller holds the
 * metadata lock. */
int index_update(const struct root *root, const char *id, const struct session *session,
                 struct err *err);

/* Takes out the rows of many sessions at once. The caller holds the metadata lock. */
int index_remove(const struct root *root, const char *const *ids, size_t count, struct err *err);

/* Writes the index anew from the workspaces. The caller holds the metadata lock. */
int index_rebuild(const struct root *root, struct err *err);

#endif
