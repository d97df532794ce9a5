/*
 * Shared by the parts of session/grow.h: grow.c adds, grow_remove.c removes, grow_check.c knows
 * what an agent may add, grow_talk.c what a fork knows, and grow_parts.c has what both begin and
 * end with.
 */
#pragma once

#include "code/repo.h"
#include "session/grow.h"
#include "session/life_internal.h"

/* A session whose lock is held, and whose team changes. */
struct growing {
    const struct life *life;
    const char *what; /* the verb */
    struct session session;
    struct team team; /* as it is on disk, and then as it is to be */
    struct repo repo; /* empty: without a project */
    struct agent *agent; /* the new one, in `team` */
    bool fresh; /* it has never run */
    const char *parent; /* that it is a fork of; NULL: none */
    const char *continuity; /* of a fork; see struct grown */
    int dir, lock;
};
#define GROWING_INIT                                                                               \
    {                                                                                              \
        .session = SESSION_INIT, .team = TEAM_INIT, .repo = REPO_INIT, .dir = -1, .lock = -1       \
    }

/* Takes the lock and reads the team, behind what a killed command has left. */
int grow_open(const struct life *life, const char *id, const char *what, struct growing *ret,
              struct err *err);
void growing_free(struct growing *growing);
#define _cleanup_growing_ __attribute__((cleanup(growing_free)))

/* Where the directories of an agent are, each before its name. */
enum { GROW_PLACES = 4 };
extern const char *const grow_places[GROW_PLACES];

/* The journal. */
int grow_begin(int dir, const char *agent, struct err *err);
int grow_end(int dir, struct err *err);
/* Removes what an agent has in the session. *ret_waiting is how many messages waited for it. */
int grow_drop_parts(const struct root *root, int dir, const char *id, const struct team *team,
                    const char *agent, int64_t *ret_waiting, struct err *err);
/* Makes the agent's part of the project, which itself may be gone: then it gets no files that git
 * ignores. */
int grow_make_code(const struct growing *growing, struct err *err);
/* Copies what was said with the agent that it is a fork of, and the session of its program. */
int grow_make_talk(struct growing *growing, struct err *err);
/* Fails if the agent is at work. One that does not answer is not. */
int grow_check_idle(const struct growing *growing, const char *agent, struct err *err);
/* Keeps what would be lost with the work tree of the agent, if anything would. `hosted`: its host
 * is there yet, and no such work. */
int grow_keep(const struct growing *growing, const char *agent, bool hosted, struct shrunk *ret,
              struct err *err);
/* Starts an agent of a session that runs, in its pane or a new one. Hosts that were just started
 * read their part of run/env first. */
int grow_start(struct growing *growing, const struct agent *agent, bool *ret_runs, struct err *err);
/* Writes the team, then the row. */
int grow_record(struct growing *growing, struct err *err);

/* Fails with MAS_FAILED if the agent may add none, or not there; before it is planned. */
int grow_check_rank(const struct growing *growing, const struct grow_wish *wish, struct err *err);
/* Likewise for what was planned; puts up a wall as high as its own. */
int grow_check_rights(struct growing *growing, const struct grow_wish *wish, struct err *err);
