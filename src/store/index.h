/*
 * The index: sessions/.sessions.index, a JSON registry of all sessions. The index is a cache of the
 * workspaces: if it is missing, stale or broken, mas rebuilds it from them.
 *
 * The file is JSON with one session object per line. An update copies the other lines unchanged,
 * and a listing of ten thousand sessions parses the lines without building a document. A line with
 * escapes goes through the JSON parser. A line in any format other than the one written here makes
 * the whole index broken.
 */
#pragma once

#include "base/id.h"
#include "store/placement.h"
#include "store/root.h"
#include "store/session.h"

#define INDEX_FILE ".sessions.index"

enum { INDEX_FILE_MAX = 256 << 20 }; /* bytes */

struct row {
    const char *id; /* the index owns all texts */
    const char *tmux_name;
    const char *created; /* in the format of time_format() */
    const char *activity;
    const char *name; /* "" if the session has none */
    const char *template;
    const char *stamp; /* identifies the .session that the row was made from, see index.c; "" if
                        * unknown, and of a session that moves, which has to be read */
    enum status status; /* intended status, as in .session */
    enum mode mode;
    bool private;
    bool missing; /* no workspace has this id */
    bool unlisted; /* a workspace exists, but the index did not list it */
};

struct index {
    char *text; /* the file, split into rows */
    char **copies; /* texts of rows that needed the JSON parser or come from a workspace */
    size_t copy_count;
    struct row *rows;
    size_t count;
    size_t left_out; /* rows that index_read_running() did not read */
    char *broken; /* why the file was unusable and rebuilt; or NULL */
};

#define INDEX_INIT                                                                                 \
    {                                                                                              \
        .text = NULL                                                                               \
    }

/*
 * Reads the index. If it is missing or broken, mas rebuilds it from the workspaces in memory and,
 * if possible, on disk. If the number of directories in sessions/ shows that it is stale, or if
 * `thorough` is set, compares rows and workspaces and sets `missing` and `unlisted`. The caller
 * releases *ret with index_free().
 */
int index_read(const struct root *root, bool thorough, struct index *ret, struct err *err);
/*
 * The same, without the rows of stopped sessions, so that what is active costs nothing for what is
 * not: their lines are counted, not read. A session that was started but has such a row, as after a
 * kill in between, is left out unless there is a socket of a tmux server of its own; one on the
 * shared server is known from that server. Reads all rows if the file is not whole.
 */
int index_read_running(const struct root *root, struct index *ret, struct err *err);
void index_free(struct index *index);
/* Adds the row of a workspace that the index does not list. Returns false if there is no such
 * workspace. */
bool index_add_unlisted(const struct root *root, struct index *index, const char *id);
#define _cleanup_index_ __attribute__((cleanup(index_free)))

/* Returns true while the .session of a row is the file that the row was made from, judged by its
 * size and time. */
bool index_is_current(const struct root *root, const struct row *row);
/* Returns true if the workspace of such a row has no repository of code; false too if the row does
 * not tell. */
bool index_has_no_code(const struct row *row);
/* Returns the machine that has the session, as .session has it; "" if the row does not tell. */
const char *index_machine(const struct row *row);

/* Reports whether a row has this tmux name or this session name as either of its names (NULL: do
 * not check), and whether sessions/ contains directories other than those of the rows and the
 * `staged` ones that the caller makes. Rebuilds an index that is missing, broken or incomplete
 * first. The caller holds the metadata lock. */
struct index_facts {
    bool tmux_name_taken;
    bool name_taken;
    bool others;
};
int index_ask(const struct root *root, const char *tmux_name, const char *name, size_t staged,
              struct index_facts *ret, struct err *err);

/* Adds or replaces the row of a session, or removes it (session NULL). The caller holds the
 * metadata lock. */
int index_update(const struct root *root, const char *id, const struct session *session,
                 struct err *err);

/* Removes the rows of several sessions at once. The caller holds the metadata lock. */
int index_remove(const struct root *root, const char *const *ids, size_t count, struct err *err);

/* Rebuilds the index from the workspaces. The caller holds the metadata lock. */
int index_rebuild(const struct root *root, struct err *err);
