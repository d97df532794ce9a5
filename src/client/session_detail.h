/*
 * Everything about one session: its survey entry, agents, panes and disk usage.
 */
#pragma once

#include "client/roster.h"
#include "client/session_bounds.h"
#include "client/survey.h"
#include "code/repo.h"
#include "code/setup.h"
#include "store/usage.h"

/* The project of a session. All texts belong to `repo` and the roster. */
struct session_code {
    struct repo repo;
    const char *path; /* NULL: the session has no project */
    const char *branch; /* the integration branch, without refs/heads/ */
    const char *onto; /* the branch to land on, likewise; "": none */
    enum project_kind kind; /* what is at `path` */
    size_t unlanded; /* commits of the integration branch that were not landed */
    struct session_setup { /* of its work trees */
        bool exists;
        bool from_project;
        size_t counts[SETUP_CHANGED + 1]; /* work trees, by enum setup_state */
        struct err problem; /* why that cannot be told; MAS_OK: it can */
    } setup;
    struct err problem; /* why they cannot be counted; MAS_OK: they are */
};

struct session_detail {
    struct view view; /* a copy with the hosts' reports added; its texts belong to the survey */
    struct roster roster; /* empty if the team cannot be read */
    struct tmux_pane *panes;
    size_t pane_count;
    struct usage usage;
    struct session_code code;
    struct session_bounds bounds;
};

#define SESSION_DETAIL_INIT                                                                        \
    {                                                                                              \
        .roster = ROSTER_INIT, .usage = USAGE_INIT                                                 \
    }

/* Fills *ret, which must be SESSION_DETAIL_INIT. Waits at most HOSTS_ANSWER_MS for the hosts. Parts
 * that cannot be read stay empty; the view gives the reason. If an agent's host does not answer,
 * looks at its work tree itself. The survey must outlive *ret. Release
 * *ret with session_detail_free(). */
void session_detail_look(const struct root *root, const struct view *view,
                         struct session_detail *ret);
void session_detail_free(struct session_detail *detail);
#define _cleanup_session_detail_ __attribute__((cleanup(session_detail_free)))

/* Returns the pane of an agent, or NULL. It belongs to `detail`. */
const struct tmux_pane *session_detail_pane(const struct session_detail *detail, const char *agent);
/* Returns what tmux knows of an agent whose host does not answer: "stopped" (no pane), "exited" or
 * "running". */
const char *session_detail_pane_word(const struct tmux_pane *pane);
/* Returns the exit status of an agent, 128 + signal if a signal ended it; -1 if it has not
 * ended. */
int session_detail_exit_status(const struct roster_agent *agent, const struct tmux_pane *pane);

/* Returns the directory in which an agent behind a wall finds mas, also in login shells, which set
 * PATH anew: that of its host's program. NULL: it has no wall, or that is unknown. The caller frees
 * it. */
char *session_detail_mas_dir(const struct roster_agent *agent);

/* Writes an object as `mas show --json` prints it. */
void session_detail_put_json(const struct root *root, const struct session_detail *detail,
                             struct json_out *out);
