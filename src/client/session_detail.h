/*
 * Everything about one session: its survey entry, agents, panes and disk usage.
 */
#pragma once

#include "client/roster.h"
#include "client/survey.h"
#include "code/repo.h"
#include "code/setup.h"
#include "code/tried.h"
#include "model/budget.h"
#include "model/limits.h"
#include "model/wall.h"
#include "store/config.h"
#include "store/usage.h"
#include "wall/plan.h"

/* ---- the budgets, limits and walls that hold for a session and each of its agents, and how much
 * of the budgets and limits is used. They are read from where they are kept: a stopped session has
 * them, too. */

/* The wall that an agent has at its next start. */
struct next_wall {
    const struct preset *preset; /* NULL: unknown, as there is no such preset, or no settings */
    enum wall_level level; /* WALL_UNSET: unknown */
    enum wall_source source;
};

struct session_bounds {
    struct config config; /* with the presets */
    bool has_config; /* it could be read */
    struct limits_held limits; /* set for the session, or in mas.ini; agents may have nearer ones */
    struct budget_held budget; /* of all agents together */
    struct budget_held *agents; /* one for each agent of the roster */
    struct next_wall *walls; /* likewise */
    struct err problem; /* why they cannot be read; MAS_OK: they can */
};

/* Fills *ret for a roster of one team whose hosts have answered. Sets the limits of the agents that
 * told none, and of all agents how much they use of their limits. Release it with
 * session_bounds_free(). */
void session_bounds_look(struct roster *roster, const struct usage *usage,
                         struct session_bounds *ret);
void session_bounds_free(struct session_bounds *bounds);

/* ---- everything */

/* The project of a session. All texts belong to `repo` and the roster. */
struct session_code {
    struct repo repo;
    const char *path; /* NULL: the session has no project */
    const char *branch; /* the integration branch, without refs/heads/ */
    const char *onto; /* the branch to land on, likewise; "": none */
    enum project_kind kind; /* what is at `path` */
    size_t unlanded; /* commits of the integration branch that were not landed */
    struct tried_place tried; /* where files of an agent are tried; without an agent: nowhere */
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
 * looks at its work tree itself; `git`: only with it, and what else needs git. The survey must
 * outlive *ret. Release *ret with session_detail_free(). */
void session_detail_look(const struct root *root, const struct view *view, bool git,
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
