/*
 * What is so now: the index, the workspaces and the tmux servers brought together.
 *
 * Status is computed, never believed: `active` if and only if the tmux session is there; intent
 * `active` without one is `stopped` and crashed; what cannot be read or does not fit is `error`
 * with a reason. Each live server is asked once, all of them at the same time. Nothing is written
 * but an index that had to be made anew.
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
    struct row row; /* texts belong to the survey */
    enum status status; /* as it is now */
    bool crashed;
    bool migrating; /* `migrate` is at work on it, or was killed */
    bool unknown; /* its tmux server could not be asked, so nothing may be concluded from `live` */
    const struct err *failure; /* why not */
    bool unreadable; /* its metadata could not be read, for a reason that may pass */
    bool outdated; /* its row in the index says something else than its metadata */
    char *reason; /* why the status is error, else NULL */
    char *socket; /* TMUX_SOCKET, where the metadata was read, else NULL */
    char *name; /* its name by the metadata, where that was read, else NULL */
    const struct tmux_session *live; /* NULL where no tmux session is there */
    const char *live_socket; /* the server it is on */
    struct agent_counts counts; /* what its hosts said, with SURVEY_HOSTS */
    size_t place; /* in the index */
    time_t used; /* when it last did something, by the metadata that was read; 0: not known */
    ino_t metadata; /* of the .session that was read: another file is another state */
    struct timespec written; /* when that file was changed last */
};

struct server; /* in survey.c */

struct survey {
    struct index index;
    struct server *servers;
    size_t server_count;
    struct view *views; /* oldest first */
    size_t count;
    bool asks_hosts;
    struct tallies tallies; /* while it is taken */
};

#define SURVEY_INIT                                                                                \
    {                                                                                              \
        .views = NULL                                                                              \
    }

/* A set of these. */
enum survey_depth {
    SURVEY_LIVE =
        0, /* checks the workspaces of rows that are active, live or legacy, or whose .session is
              another than the one that the row was made from; trusts others */
    SURVEY_ALL = 1, /* checks every workspace */
    SURVEY_HOSTS = 2, /* asks the hosts too, while tmux works */
};

int survey_take(const struct root *root, const struct config *config, unsigned depth,
                struct survey *ret, struct err *err);
void survey_free(struct survey *survey);
#define _cleanup_survey_ __attribute__((cleanup(survey_free)))

/* The view of a session, or NULL; its workspace is checked, also where survey_take() trusted the
 * row. */
const struct view *survey_look(const struct root *root, struct survey *survey, const char *id);
/* The session's name, "" where it has none. */
const char *view_name(const struct view *view);
/* Writes a view's members into an open object, spelled as in the index, with what is so now. */
void view_put_json(const struct root *root, const struct view *view, struct json_out *out);
/* Agents whose processes run, and those that have ended; where hosts did not say, tmux does. */
size_t view_running(const struct view *view);
size_t view_ended(const struct view *view);
/* Newest activity, live or recorded. */
time_t view_activity(const struct view *view);

/* The tmux session of one id on one server. *ret_live is NULL where there is none; else it is the
 * caller's, with tmux_sessions_free(.., 1). */
int survey_find_live(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct err *err);

/* The same for a session that cannot say where it runs: on the shared server of the settings, or on
 * one of its own. *ret_socket is the caller's where one was found. */
int survey_find_anywhere(const struct root *root, const struct config *config, const char *id,
                         char **ret_socket, struct tmux_session **ret_live, struct err *err);

/*
 * Finds the session that a user means: a full id, a tmux name, a session name, a unique prefix of 4
 * or more digits, or @last. ret gets the id. MAS_NOT_FOUND, or MAS_CONFLICT with the candidates in
 * the hint.
 */
int survey_select(const struct root *root, const struct config *config, const char *text,
                  char ret[ID_TEXT], struct err *err);

/* true if a row of the index is one that `text` may mean, whatever tmux says. */
bool survey_has(const struct index *index, const char *text);

#endif
