/*
 * The life of a session: new, start, stop, remove.
 *
 * Each of them is all or nothing at any kill: what is on disk first says what is wanted (STATUS is
 * intent), then tmux is made to follow, and client/survey.h tells the truth in between.
 */
#ifndef MAS_SESSION_LIFE_H
#define MAS_SESSION_LIFE_H

#include "base/err.h"
#include "base/tree.h"
#include "model/team.h"
#include "store/config.h"
#include "store/root.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What agents that are started now are likely to take, and what there was before; bytes. */
struct life_memory {
    uint64_t needed; /* sum over all sessions that were started */
    uint64_t available; /* UINT64_MAX: not known */
};

struct life {
    const struct root *root;
    const struct config *config;
    tree_tick *tick; /* progress of a copy, and whether to give up; may be NULL */
    void *tick_arg;
    struct life_memory *memory; /* told by new and start; may be NULL */
};

struct life_options {
    const char *name; /* NULL: none */
    const char *template; /* NULL: the setting's */
    const char *preset; /* for the whole team; NULL: each agent's own */
    const char *id; /* NULL: a random one */
    const char *config; /* path of a file for prompts_from_file(); NULL: none */
    char *const *prompts; /* words for prompts_from_words(); NULL: none */
    bool private;
    bool start;
    bool migrating; /* a legacy one, for session/migrate.h */
};

/* Makes a session and, unless told otherwise, starts it. On failure nothing is left. */
int life_new(const struct life *life, const struct life_options *options, struct session *ret,
             struct err *err);

/* Starts a stopped session; *ret_was says that it ran already. */
int life_start(const struct life *life, const char *id, bool *ret_was, struct err *err);

enum { LIFE_NAMES_MAX = 1024 };

struct life_end {
    bool removing; /* set before: it is to be removed, so nothing need be written down */
    bool was; /* it was stopped already */
    bool down; /* its tmux session has been ended */
    size_t terminated; /* processes that did not follow the hang-up */
    size_t killed; /* nor SIGTERM */
    char names[LIFE_NAMES_MAX]; /* those, as far as their hosts told: "sleep(123)" */
    struct err
        untold; /* why tmux could not be told, MAS_OK where it was; its session may be left */
    struct err unwritten; /* why STATUS could not be written: it will be called crashed */
};

/* Stops a session: hang-up, then SIGTERM, then SIGKILL for what is left of the team's processes.
 * Works without tmux, a free process or room on the disk: *ret says what could not be done. */
int life_stop(const struct life *life, const char *id, struct life_end *ret, struct err *err);

/* Whose hosts are to be brought back. */
struct life_respawn {
    const struct team *team;
    const struct agent *const *agents; /* of the team */
    size_t count;
};
/* Ends what agents without a host have left, and starts hosts in their panes. */
int life_respawn(const struct life *life, const char *id, const struct life_respawn *options,
                 struct err *err);

/* Ends the processes that a session has left, unless it runs by now or a command works on it. */
int life_end_leftovers(const struct life *life, const char *id, struct err *err);
/* true if processes of a session are there; for one that does not run. */
bool life_has_leftovers(const struct life *life, const char *id);
/* Waits until an agent without a host has no process any more, timeout_ms at most (-1: as long as
 * that takes), and tells whether it came to that. */
int life_await_gone(const struct life *life, const char *id, const char *agent, int timeout_ms,
                    bool *ret_gone, struct err *err);
/* Ends the processes that a session which does not run has left. */
int life_sweep(const struct life *life, const char *id, struct err *err);

/* Ends a tmux session that has no workspace, with what is left of its processes. */
int life_end_orphan(const struct life *life, const char *socket, const char *id, struct err *err);

/* Makes what unit/ and workflows/ lack of what the session's template has; what is there stays as
 * it is. A template that is gone, or for a lazy session one that cannot be used, is needed only
 * where an agent, or workflows/, is without a directory that the snapshot does not have. Fails
 * where an agent has none even then. */
int life_fill(const struct life *life, const char *id, struct err *err);

enum { LIFE_WHY_MAX = 1000 };
/* Writes STATUS=error with this reason, one line, for a session that does not run; the next start
 * or stop takes it back. */
int life_mark(const struct life *life, const char *id, const char *why, struct err *err);

/* Makes a session private, or not, whether it runs or not. */
int life_set_private(const struct life *life, const char *id, bool private, struct err *err);

/* Removes a stopped session, or with `force` any; then *end says how it was stopped. */
int life_remove(const struct life *life, const char *id, bool force, struct life_end *end,
                struct err *err);

#endif
