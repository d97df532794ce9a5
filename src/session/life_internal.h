/*
 * Shared by the files that start and end a session, make one of an archive or a move, or find what
 * was left: life*.c, archive*.c, arrive.c, leave.c, migrate.c and retention.c.
 */
#pragma once

#include "code/project.h"
#include "session/life.h"
#include "store/index.h"
#include "store/stage.h"
#include "store/template.h"
#include "store/workspace.h"
#include "tmux/tmux.h"
#include "wall/probe.h"

/* Opens and locks a session's directory. The caller closes both descriptors. `who` is the verb. */
int life_hold(const struct life *life, const char *id, int wait_ms, const char *who, int *ret_dir,
              int *ret_lock, struct err *err);

/* Locks a session's open directory; fails if the session has been removed meanwhile. */
int life_lock(const struct life *life, int dir, const char *id, int wait_ms, const char *who,
              int *ret_lock, struct err *err);

/* Reads the metadata; the error names the verb. */
int life_load(const struct life *life, int dir, const char *id, const char *what,
              struct session *ret, struct err *err);

/* Writes the metadata and the index row of a session whose lock is held. */
int life_record(const struct life *life, int dir, const struct session *session, struct err *err);

/* Tries to restore the metadata `before` (session_format()) and its index row. */
void life_undo_record(const struct life *life, int dir, const char *id, const struct str *before);

/* Sets the tmux name of the session, with this many digits of its id, and its socket. */
int life_set_tmux_name(const struct life *life, struct session *session, size_t digits,
                       struct err *err);
/* Gives the session the first tmux name that no row has, beginning with length number `from`. The
 * caller holds the metadata lock. `staged` is the same as in index_ask(). */
int life_choose_name(const struct life *life, struct session *session, size_t from, size_t staged,
                     struct index_facts *facts, struct err *err);
/* Names the session, "" without a name; fails with MAS_CONFLICT if another session has that. The
 * caller holds the metadata lock. */
int life_give_name(const struct life *life, struct session *session, const char *name,
                   struct err *err);
/* Gives a session whose tmux name was taken another one, as life_choose_name() does, and records
 * it. A fixed name stays: fails if another session has it, or after a few attempts. `from` counts
 * the attempts. */
int life_rename(const struct life *life, int dir, struct session *session, size_t from,
                struct err *err);
/* Replaces a user's tmux name, which could contain a format; names by mas cannot. */
void life_normalise_name(struct session *session);

/* Moves a staged session into place. The caller holds the metadata lock. Its name must be free
 * (MAS_CONFLICT), and it gets a unique tmux name. */
int life_settle(const struct life *life, struct session *session, struct stage *stage,
                struct err *err);
/* Removes what was created, and releases the metadata lock if it is held. */
void life_undo_new(const struct life *life, const struct session *session, struct stage *stage,
                   int *metadata_lock);
/* Makes the repositories of a staged workspace. */
int life_make_code(const struct life *life, const struct life_options *options,
                   const struct project *project, const struct team *team,
                   const struct stage *stage, struct err *err);
/* What a new session will be, before anything of it is made. */
struct life_plan {
    struct project project; /* empty: without one */
    struct template template; /* its team as the options want it */
    struct session session;
    struct wall_probe probe; /* what this machine can hold, if agents will be started */
    char *name; /* of the template */
};

#define LIFE_PLAN_INIT                                                                             \
    {                                                                                              \
        .project = PROJECT_INIT, .template = TEMPLATE_INIT, .session = SESSION_INIT,               \
        .probe = WALL_PROBE_INIT                                                                   \
    }

/* Plans a session and looks for all that could prevent it; *plan is initially LIFE_PLAN_INIT. */
int life_plan(const struct life *life, const struct life_options *options, struct life_plan *plan,
              struct err *err);
void life_plan_free(struct life_plan *plan);
#define _cleanup_life_plan_ __attribute__((cleanup(life_plan_free)))
/* Checks for obstacles to starting the team's agents. `limits` as for launch_check_limits(). */
int life_check_start(const struct life *life, const struct team *team,
                     const struct session_limits *limits, bool prompts, struct wall_probe *probe,
                     struct err *err);
/* Like life_new(), but *stage (initially STAGE_INIT) keeps the session's directory and lock. */
int life_make(const struct life *life, const struct life_options *options, struct session *ret,
              struct stage *stage, struct err *err);
/* Makes this machine the owner of a session whose lock is held, before it is started, as
 * life->takeover allows. Does nothing if it is the owner already. */
int life_take_over(const struct life *life, int dir, struct session *session, struct err *err);
/* The lease of a session (store/lease.h); each does nothing for a session without one. `take`,
 * before a start: sets STORE, LEASE and EPOCH, which the caller writes. `refresh`, when the team
 * stands: renews it if that took long. `give_back`, when nothing of the team runs any more: waits
 * for the store at most 2 s. */
int life_lease_take(const struct life *life, struct session *session, struct err *err);
int life_lease_refresh(const struct life *life, const struct session *session, struct err *err);
void life_lease_give_back(const struct session *session);
/* Before a session is removed: removes what the store has of its lease, see lease_forget(). Killed
 * after that, the session is there and takes a new lease when it starts. */
void life_lease_forget(const struct session *session);
/* Takes the lease of a running session again if it was lost, before hosts are started again. */
int life_lease_again(const struct life *life, int dir, struct session *session, struct err *err);
/* Like life_start() and life_stop(), for a session whose lock is held: a stopped one, or a running
 * one. */
int life_start_held(const struct life *life, int dir, struct session *session, struct err *err);
int life_stop_held(const struct life *life, int dir, struct session *session, struct life_end *end,
                   struct err *err);
/* Like life_respawn(), likewise. *ret_runs: the session runs; otherwise nothing was done. */
int life_respawn_held(const struct life *life, int dir, struct session *session,
                      const struct life_respawn *options, bool *ret_runs, struct err *err);
/* Returns the parameters of a team in tmux; `host` is left to the caller. */
struct tmux_team life_tmux_team(const struct life *life, const struct session *session,
                                const struct team *team, int dir);
/* Turning a legacy session into an isolated one: its unit/ and workflows/ move from the root into
 * the workspace `dir`, by rename or, to another file system, through <root>/.migrate-<id>. */
enum { PARTS = 2 };
extern const char *const life_part_names[PARTS];
struct life_part {
    bool there; /* it must be moved, or its move must be finished */
};
/* Reports which parts must be moved. Fails with MAS_CONFLICT if something is in the way. */
int life_find_parts(const struct life *life, int dir, const char *id, struct life_part ret[PARTS],
                    struct err *err);
/* Moves the parts durably. On failure tries to move them back. Continues a move that was killed. */
int life_move_parts(const struct life *life, int dir, const char *id, struct err *err);
/* Moves back the parts for which a rename is enough. */
void life_move_back(const struct life *life, int dir);
/* Returns true if a part may be between the two places; then the session must not be changed. */
bool life_is_half_moved(const struct life *life, int dir, const struct session *session);
/* Sets the error MAS_CONFLICT: an interrupted migration must be finished first. */
int life_migrate_first(const struct life *life, const char *what, const char *id, struct err *err);

/* Selects processes of a session to end, by their environment. */
struct life_hunt {
    const char *id;
    const char *agent; /* of one agent only; NULL: of the whole team */
    bool inside; /* include the ancestors of this process: it belongs to the team */
};

/* Asks all hosts, or that of one agent, at the same time to end their agents, and adds the counts
 * to *end. The processes of hosts that do not answer remain for life_hunt_down(). */
void life_stop_hosts(const struct life *life, const char *id, const char *agent,
                     struct life_end *end);
/* Waits for hosts that are exiting and removes their files in run/. Fails with MAS_CONFLICT if a
 * host continues. */
int life_await_hosts(const struct life *life, int dir, const char *id, const char *what,
                     struct err *err);
/* Removes the files of dead hosts in run/. */
void life_clean_run(int dir);

/* Fails with MAS_CONFLICT if a session whose lock is held runs; otherwise ends its remaining
 * processes. `what` is the verb. */
int life_require_stopped(const struct life *life, int dir, const struct session *session,
                         const char *what, struct err *err);
/* Ends the guests of a session that is being removed, first: one that is restored has none. The
 * caller holds the lock of the root. */
int life_end_guests(const struct root *root, const char *id, struct err *err);
/* Removes a stopped session whose lock is held: first its guests, then its row, then its workspace.
 */
int life_remove_held(const struct life *life, const char *id, struct err *err);

/* Ends the remaining processes of one agent. */
int life_end_agent(const struct life *life, const char *id, const char *agent, struct err *err);
