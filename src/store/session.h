/*
 * One session's metadata: the file .session in its workspace, shell format (see base/kv.h), the
 * truth about the session. What it says of STATUS is intent; client/survey.h says what is so now.
 */
#ifndef MAS_STORE_SESSION_H
#define MAS_STORE_SESSION_H

#include "base/err.h"
#include "base/id.h"
#include "base/kv.h"
#include "base/str.h"
#include "store/root.h"
#include "store/workspace.h"

#include <stdbool.h>
#include <time.h>

enum { SESSION_NAME_MAX = 64, TMUX_NAME_MAX = 255 }; /* bytes */

enum status { STATUS_ACTIVE, STATUS_STOPPED, STATUS_ERROR, STATUS_COUNT };

/* Whether `migrate` works on a session, or was killed while it did, and what it is to leave. */
enum migrating { MIGRATING_NO, MIGRATING_STOPPED, MIGRATING_ACTIVE };

struct session {
    char id[ID_TEXT];
    char *tmux_name;
    char *tmux_socket; /* absolute path */
    char *name; /* "" where it has none */
    char *template;
    char *error; /* ERROR, "" where there is none */
    enum mode mode;
    enum status status;
    enum migrating migrating;
    bool private;
    bool prompted; /* its agents have been handed their first messages */
    time_t created;
    long created_nsec; /* of that second; 0 in sessions of earlier versions */
    time_t activity;
    time_t stopped; /* 0: never */
    bool moved; /* the path keys in the file are those of another place */
    struct kv extra; /* the user's own keys, which begin with X_ */
    char *strange; /* names of other keys that are not known: they go when the file is rewritten,
                      for a shell that reads it would take a PATH from there; NULL */
};

#define SESSION_INIT                                                                               \
    {                                                                                              \
        .id = ""                                                                                   \
    }

/* Reads the .session in the directory `dir` of session `id`. MAS_DAMAGED where it is missing, is no
 * regular file, is not what mas writes, or speaks of another session; MAS_FAILED where it cannot be
 * read just now. */
int session_load(const struct root *root, int dir, const char *id, struct session *ret,
                 struct err *err);
/* Replaces the file, durably. */
int session_save(const struct root *root, int dir, const struct session *session, struct err *err);
/* The file's text. */
void session_format(const struct root *root, const struct session *session, struct str *to);
void session_free(struct session *session);
#define _cleanup_session_ __attribute__((cleanup(session_free)))

/* What a person calls a session: its name, which no other of its root has, or its id where it has
 * none or that cannot be read. For what is said, and for commands in it that are to be pasted:
 *
 *     err_set(err, MAS_CONFLICT, "cannot stop '%s'", session_label(root, id).text);
 */
struct session_label {
    char text[SESSION_NAME_MAX + 1];
};
struct session_label session_label(const struct root *root, const char *id);

/* What every process of the team, and `mas env`, gets of the session: MAS_ROOT, MAS_SESSION_ID,
 * ... Fills *ret, which must be zeroed; release with kv_free(). */
void session_env(const struct root *root, const struct session *session, struct kv *ret);

/* When it was last used: stopped, or before that did something. */
time_t session_used(const struct session *session);

const char *status_name(enum status status);
bool status_parse(const char *text, enum status *ret);
const char *mode_name(enum mode mode);
bool mode_parse(const char *text, enum mode *ret);

/* NULL for a good session name, else what a good one is. It is no id, nor what could be the
 * beginning of one, in any case of letters: survey_select() takes four digits for that. */
const char *session_check_name(const char *name);

/* Lengths of a session's tmux name: 8 digits of the id, more where another session has those. */
enum { NAME_LENGTHS = 5 };
extern const size_t session_name_digits[NAME_LENGTHS];

/* tmux's name for a session: "mas-" and the first `digits` characters of the id. */
char *session_tmux_name(const char *id, size_t digits);

#endif
