/*
 * What the beginning and the end of a session's life share; for life*.c only.
 */
#ifndef MAS_SESSION_LIFE_INTERNAL_H
#define MAS_SESSION_LIFE_INTERNAL_H

#include "session/life.h"
#include "store/index.h"
#include "store/stage.h"
#include "store/workspace.h"

/* Opens and locks a session's directory; both descriptors are the caller's. `who` is the verb. */
int life_hold(const struct life *life, const char *id, int wait_ms, const char *who, int *ret_dir,
              int *ret_lock, struct err *err);

/* Reads its metadata, with an error that names the verb. */
int life_load(const struct life *life, int dir, const char *id, const char *what,
              struct session *ret, struct err *err);

/* Writes metadata and row of a session whose lock is held. */
int life_record(const struct life *life, int dir, const struct session *session, struct err *err);

/* Puts back the metadata `before` (session_format()) and its row, as well as that can be done. */
void life_undo_record(const struct life *life, int dir, const char *id, const struct str *before);

/* Names the session in tmux after so many digits of its id. */
int life_set_tmux_name(const struct life *life, struct session *session, size_t digits,
                       struct err *err);
/* Gives a staged session its place, under the metadata lock that the caller holds: its name must be
 * free (MAS_CONFLICT), and it gets a name in tmux that no other has. */
int life_settle(const struct life *life, struct session *session, struct stage *stage,
                struct err *err);
/* Takes back what was made of it, and drops the metadata lock where that is held. */
void life_undo_new(const struct life *life, const struct session *session, struct stage *stage,
                   int *metadata_lock);
/* life_new(), but *stage (STAGE_INIT before) keeps the session's directory and lock. */
int life_make(const struct life *life, const struct life_options *options, struct session *ret,
              struct stage *stage, struct err *err);
/* life_start() and life_stop() of a session whose lock is held; it does not run, or does. */
int life_start_held(const struct life *life, int dir, struct session *session, struct err *err);
int life_stop_held(const struct life *life, int dir, struct session *session, struct life_end *end,
                   struct err *err);
/* Gives the session the first name in tmux, from the `from`th length on, that no row has; the
 * caller holds the metadata lock. `staged` as in index_ask(). */
int life_choose_name(const struct life *life, struct session *session, size_t from, size_t staged,
                     struct index_facts *facts, struct err *err);
/* MAS_CONFLICT: another session has that name. */
int life_name_conflict(const char *name, struct err *err);

/* A legacy session that becomes an isolated one: its unit/ and workflows/ go from the root into the
 * workspace `dir`, by rename or, to another file system, by way of <root>/.migrate-<id>. */
enum { PARTS = 2 };
extern const char *const life_part_names[PARTS];
struct life_part {
    bool there; /* it has to be moved, or that has to be finished */
};
/* Says what there is to move; fails where something is in the way, MAS_CONFLICT. */
int life_find_parts(const struct life *life, int dir, const char *id, struct life_part ret[PARTS],
                    struct err *err);
/* Moves them, durably; after a failure what had been moved is taken back as far as that can be
 * done. Goes on where an earlier one was killed. */
int life_move_parts(const struct life *life, int dir, const char *id, struct err *err);
/* Puts back what is a rename away. */
void life_move_back(const struct life *life, int dir);
/* true while some of it may be on its way, so that the session must be left as it is. */
bool life_is_half_moved(const struct life *life, int dir, const struct session *session);
/* MAS_CONFLICT: an interrupted migration comes first. */
int life_migrate_first(const struct life *life, const char *what, const char *id, struct err *err);

/* Which processes of a session are to end, as their environment tells. */
struct life_hunt {
    const char *id;
    const char *agent; /* only those of one agent; NULL: of the whole team */
    bool inside; /* also those above this process: it is one of the team */
};

/* Ends them: waits hangup_ms, for somebody hung up on them before, then SIGTERM, SIGKILL. Adds to
 * *end what that took. */
int life_hunt_down(const struct life *life, const struct life_hunt *hunt, int hangup_ms,
                   struct life_end *end, struct err *err);

/* Asks the hosts to end their agents, all at the same time, and adds to *end what that took. Those
 * that do not answer are left to life_hunt_down(). */
void life_stop_hosts(const struct life *life, const char *id, struct life_end *end);
/* Waits for hosts that are just ending, and removes what is left of them in run/; MAS_CONFLICT
 * where one goes on. */
int life_await_hosts(const struct life *life, int dir, const char *id, const char *what,
                     struct err *err);
/* Removes what dead hosts have left in run/. */
void life_clean_run(int dir);

/* Fails (MAS_CONFLICT) where a session whose lock is held runs, and ends what is left of it. `what`
 * is the verb. */
int life_require_stopped(const struct life *life, int dir, const struct session *session,
                         const char *what, struct err *err);
/* Removes a session whose lock is held and that does not run: its row, then its workspace. */
int life_remove_held(const struct life *life, const char *id, struct err *err);

/* Ends what one agent has left. */
int life_end_agent(const struct life *life, const char *id, const char *agent, struct err *err);

#endif
