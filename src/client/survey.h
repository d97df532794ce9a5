/*
 * The current state of all sessions, from the index, the workspaces and the tmux servers.
 *
 * Status is computed, never taken from the files. A session is `active` if and only if its tmux
 * session exists. If it is missing although the intent is `active`, the session is `stopped` and
 * crashed. If its files cannot be read or are inconsistent, its status is `error` with a reason.
 * mas asks each live server once, all at the same time. It writes nothing, except an index that it
 * had to rebuild.
 */
#ifndef MAS_CLIENT_SURVEY_H
#define MAS_CLIENT_SURVEY_H

#include "base/err.h"
#include "base/json.h"
#include "client/agent_counts.h"
#include "store/config.h"
#include "store/index.h"
#include "store/root.h"
#include "tmux/tmux.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct view {
    struct row row; /* its texts belong to the survey */
    enum status status; /* the current one */
    bool crashed;
    bool migrating; /* `mas migrate` is working on it, or was killed */
    bool unknown; /* its tmux server did not answer: `live` proves nothing */
    const struct err *failure; /* why it did not answer */
    bool unreadable; /* its metadata could not be read; the reason may be temporary */
    bool outdated; /* its row in the index differs from its metadata */
    char *reason; /* why the status is error; otherwise NULL */
    char *socket; /* TMUX_SOCKET from the metadata; NULL if that was not read */
    char *name; /* its name from the metadata; NULL if that was not read */
    const struct tmux_session *live; /* NULL: it has no tmux session */
    const char *live_socket; /* the tmux server that has it */
    struct agent_counts counts; /* what its hosts reported, with SURVEY_HOSTS */
    size_t place; /* position in the index */
    time_t used; /* last activity according to the metadata; 0: unknown */
    ino_t metadata; /* inode of the .session that was read; another inode means another state */
    struct timespec written; /* ctime of that file */
};

struct tmux_server; /* defined in survey.c */

struct survey {
    struct index index;
    struct tmux_server *servers;
    size_t server_count;
    struct view *views; /* oldest first */
    size_t count;
    bool asks_hosts;
    struct agent_counting counting; /* only while survey_take() runs */
};

#define SURVEY_INIT                                                                                \
    {                                                                                              \
        .views = NULL                                                                              \
    }

/* A bit set. */
enum survey_depth {
    /* Checks the workspaces of rows that are active, live or in shared directories, or whose
     * .session is not the file that the row was made from. Trusts the other rows. */
    SURVEY_LIVE = 0,
    SURVEY_ALL = 1, /* checks every workspace */
    SURVEY_HOSTS = 2, /* also asks the hosts, while tmux works */
};

/* Makes a survey; `depth` is a set of survey_depth. Waits for tmux, and with SURVEY_HOSTS at most
 * HOSTS_ANSWER_MS for the hosts. The caller releases *ret with survey_free(). A server that cannot
 * be asked is no error; its views have `unknown` set. */
int survey_take(const struct root *root, const struct config *config, unsigned depth,
                struct survey *ret, struct err *err);
void survey_free(struct survey *survey);
#define _cleanup_survey_ __attribute__((cleanup(survey_free)))

/* Returns the view of session `id`, or NULL. Checks its workspace even if survey_take() trusted the
 * row. The view belongs to the survey. */
const struct view *survey_look(const struct root *root, struct survey *survey, const char *id);
/* Returns the session's name, "" if it has none. It belongs to the survey. */
const char *view_name(const struct view *view);
/* Writes the members of a view into an open JSON object, with the keys of the index and the current
 * state. */
void view_put_json(const struct root *root, const struct view *view, struct json_out *out);
/* Return the number of agents whose processes run, and of those that have ended. For hosts that did
 * not report, tmux's panes count. */
size_t view_running(const struct view *view);
size_t view_ended(const struct view *view);
/* Returns the time of the last activity, live or recorded. */
time_t view_activity(const struct view *view);

/* Finds the tmux session of `id` on one server. *ret_live is NULL if there is none; otherwise the
 * caller frees it with tmux_sessions_free(.., 1). Fails with MAS_TMUX if the server cannot be
 * asked. */
int survey_find_live(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct err *err);

/* The same for a session whose server is unknown: searches the shared server of the settings and
 * the session's own. If it is found, the caller frees *ret_socket; otherwise *ret_socket is
 * unchanged. */
int survey_find_anywhere(const struct root *root, const struct config *config, const char *id,
                         char **ret_socket, struct tmux_session **ret_live, struct err *err);

/*
 * Finds the session that a user means: a full id, a tmux name, a session name, a unique prefix of
 * the id with 4 or more characters, or @last for the newest. `ret` receives the id. Fails with
 * MAS_NOT_FOUND, or with MAS_CONFLICT and the candidates in the hint if several match.
 */
int survey_select(const struct root *root, const struct config *config, const char *text,
                  char ret[ID_TEXT], struct err *err);

/* Sets the error for a session that the root at this path does not have. Returns -1. */
int survey_no_session(const char *root, const char *text, struct err *err);

/* Returns true if `text` may mean a row of the index, without asking tmux. */
bool survey_has(const struct index *index, const char *text);

#endif
