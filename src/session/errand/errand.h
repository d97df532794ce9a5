/*
 * Errands: what mas goes on with in a session after the command has returned, such as `mas goal`.
 * An errand is an entry of store/every.h, from EVERY_GOAL on, and a process, `mas errand ID N`:
 *
 * 1. A command adds the entry (every_add(), with the environment) and begins the process
 *    (errand_begin()), which holds the lock run/<N>.errand as long as it lives: there is one.
 * 2. It follows the agent's host, and takes a step whenever that tells of a change, or the time
 *    that the last step asked for has come. A step does one bounded thing, and records it in the
 *    entry. To give a prompt, it records that it gives it; gives it, under a tag that the host
 *    takes once; and records its number (errand_give()).
 * 3. When it is over, the entry says how (errand_over()) and stays in the list.
 *
 * The process ends when the errand is over, its entry is gone or paused, or the host has gone. It
 * begins again with `mas start`, `mas restart`, `mas reset` and each tick. It has the variables of
 * the session and the agent in its environment, by which stop, start, rm, archive, move, reset and
 * remove find it and end it with what it has started, and MAS_ERRAND=N, by which `--off` does. What
 * it starts must end with it (`bound` of os/proc.h, or a supervisor).
 *
 * Killed before 1 is done, there is no errand, or one that the next tick begins. Killed in 2, the
 * step is taken again: see errand_give().
 */
#pragma once

#include "session/errand/due.h"

struct errand {
    struct due due; /* due.entry is of `every`; due.roster follows its agent */
    struct every every; /* as it was read before the step */
};

/* A kind of errand. A step changes errand->due.entry and calls one of the functions below. It sets
 * how long until the next one is due if nothing changes before that: ms; -1: any time. After a
 * failure, which the entry then says, the next one comes in a minute. */
struct errand_kind {
    enum every_kind kind;
    int (*step)(struct errand *errand, int *ret_wait_ms, struct err *err);
};

/* The process. Takes steps until it has to end; a table of kinds says which. Does nothing if
 * another process has the errand. */
int errand_run(const struct tick *tick, const char *id, int64_t number,
               const struct errand_kind *kinds, size_t count, struct err *err);

/* ---- for a step */

/* Returns 1 if the prompt of the round before waits or is at work, 0 if not. */
int errand_goes(const struct errand *errand, struct err *err);
/* Gives a prompt to the agent that the entry names now, and counts a round; ends the errand if its
 * time is up. After a kill, a prompt
 * that the agent has is found by its tag before the next step. If given_ms of the entry is not 0 at
 * the beginning of a step, the agent has none: the step may look at all anew, and what it gives
 * then gets the same tag. */
int errand_give(struct errand *errand, const char *text, struct err *err);
/* Records the entry. */
int errand_keep(struct errand *errand, struct err *err);
/* Tells people of it, and the session's log: a notice. */
void errand_tell(const struct errand *errand, bool well, const char *what);
/* Ends the errand: `word` is how, `why` is for people, who get a notice. */
int errand_over(struct errand *errand, const char *word, bool well, const char *why,
                struct err *err);

/* ---- for commands */

/* Begins the process of an errand of the session in `dir`, unless there is one. Does not wait. */
int errand_begin(const struct tick *tick, int dir, const char *id, const struct every_entry *entry,
                 struct err *err);
/* Begins those of a session that has just been started. */
int errand_begin_all(const struct root *root, const struct config *config, const char *id,
                     struct err *err);
/* For tick: begins one if the session runs; with `now`, also one that is paused. */
int errand_tick(struct due *due, bool now, struct err *err);
/* Ends the process of an errand, whose entry is gone, and what it has started. */
void errand_end(const struct root *root, int64_t number);
