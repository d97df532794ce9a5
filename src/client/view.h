/*
 * One session in a survey: what the index and its metadata say of it, and what of it runs now.
 */
#pragma once

#include "base/json.h"
#include "client/agent_counts.h"
#include "store/index.h"
#include "store/root.h"
#include "tmux/tmux.h"

struct view {
    struct row row; /* its texts belong to the survey */
    enum status status; /* the current one */
    bool crashed;
    bool migrating; /* `mas migrate` is working on it, or was killed */
    bool unknown; /* its tmux server did not answer: `live` proves nothing */
    bool elsewhere; /* another machine has it: `status` is what its metadata says */
    bool lease_lost; /* its agents have ended because its lease was not renewed */
    bool unreadable; /* its metadata could not be read; the reason may be temporary */
    bool outdated; /* its row in the index differs from its metadata */
    const struct err *failure; /* why its tmux server did not answer */
    bool lost; /* that runs, but the file of its socket is gone; see client/lost_server.h */
    char *machine; /* the machine that has it; NULL: unknown */
    char *moved_to; /* where it has gone; NULL: it is here */
    time_t lost_after; /* as in struct session */
    char *reason; /* why the status is error; otherwise NULL */
    char *socket; /* TMUX_SOCKET from the metadata; NULL if that was not read */
    char *name; /* its name from the metadata; NULL if that was not read */
    const struct tmux_session *live; /* NULL: it has no tmux session */
    const char *live_socket; /* the tmux server that has it */
    struct agent_counts *counts; /* what its hosts reported; NULL: nothing. See view_counts() */
    size_t place; /* position in the index */
    time_t used; /* last activity according to the metadata, after a crash also to what its agents
                  * have written; 0: unknown */
    ino_t metadata; /* inode of the .session that was read; another inode means another state */
    struct timespec written; /* ctime of that file */
};

/* Returns what the hosts reported, with SURVEY_HOSTS. Most sessions of a large root do not run, and
 * do without. */
const struct agent_counts *view_counts(const struct view *view);
/* Copies what the hosts reported; NULL: nothing. */
void view_set_counts(struct view *view, const struct agent_counts *counts);
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
