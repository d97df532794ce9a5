/*
 * The current state of all sessions, from the index, the workspaces and the tmux servers.
 *
 * Status is computed, never taken from the files. A session is `active` if and only if its tmux
 * session exists. If it is missing although the intent is `active`, the session is `stopped` and
 * crashed. If its files cannot be read or are inconsistent, its status is `error` with a reason.
 * A session of another machine has the status that its metadata says, since nothing of it can be
 * seen from here. mas asks each live server once, all at the same time; where a session has a
 * server of its own, its hosts answer instead if they can, see client/servers.h. It writes nothing,
 * except an index that it had to rebuild.
 *
 * What a list costs: it reads the index (one line per session, split in place) and the .session of
 * each session that is active in the index, or whose .session is not the file that its line was
 * made from (one fstatat(2) each); `--active` does without these, and `--all` and `--error` read
 * every .session. Each live server and the hosts of its sessions are asked at the same time, one
 * request each, with one wait for all. test/cli/tmux-processes.bats says how many processes of tmux
 * each command may start: a full id needs no look at tmux; a name needs one, because a user may
 * have renamed the tmux session.
 */
#pragma once

#include "client/agent_counts.h"
#include "client/servers.h"
#include "client/view.h"
#include "store/config.h"
#include "store/index.h"
#include "store/owner.h"
#include "store/root.h"
#include "tmux/tmux.h"

struct survey {
    struct index index;
    struct servers servers;
    struct view *views; /* oldest first */
    size_t count;
    struct owner self;
    bool spared; /* a tmux server was not asked, because hosts answered */
    /* only while survey_take() runs: */
    bool asks_hosts;
    bool asks_own; /* hosts of sessions that are not on the shared server */
    bool asked_own;
    struct agent_counting counting;
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
    SURVEY_ALL = 1, /* checks every workspace; alone, it asks every tmux server */
    SURVEY_HOSTS = 2, /* also asks the hosts, while tmux works */
    SURVEY_RUNNING = 4, /* leaves out stopped sessions unread, see index_read_running() */
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

/* Finds the tmux session of `id` on one server. *ret_live is NULL if there is none; otherwise the
 * caller frees it with tmux_sessions_free(.., 1). Fails with MAS_TMUX if the server cannot be
 * asked. */
int survey_find_live(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct err *err);
/* The same, and finds the panes of its agents by the same call of tmux. The caller frees
 * *ret_panes. */
int survey_find_team(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct tmux_pane **ret_panes,
                     size_t *ret_count, struct err *err);

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
