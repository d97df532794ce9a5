/*
 * Runs the entries of store/every.h that are due: `mas tick`, which a timer of the user calls every
 * minute, and `mas every --run`. A run, under sessions/.every.lock, which one tick has at a time:
 *
 * 1. Read the entry, and the status of the agent from its host. If the session does not run, start
 *    it with the environment in every.env, or leave the entry as it is: it is due until it runs.
 * 2. If the prompt of the run before waits or is at work, count the run as skipped.
 * 3. Write the entry: which run is given (given_ms), and when the next one is due. However many
 *    were missed, that is the first time after now.
 * 4. Give the prompt: to an agent that tells as `ask`, tagged "every:<number>-<given_ms>", which
 *    its host takes once; to another one as `send`.
 * 5. Write the number of the prompt, and that nothing is being given; remove an entry of one time.
 *
 * Killed after 3, the next tick gives the run again: the host knows the tag if it has the prompt. A
 * program on a terminal that tells nothing may have the text: it is not typed twice, and the entry
 * says so.
 */
#pragma once

#include "session/errand/due.h"

/* Runs what is due now. Each entry and the session's log say what became of it. Does nothing if
 * another tick is at work. Fails only if it cannot begin; *ret_failed is how many entries could not
 * be run. */
int tick_run(const struct tick *tick, size_t *ret_failed, struct err *err);
/* Runs one entry of a session now, whenever it is due. Fails as the run does, with MAS_CONFLICT if
 * the run before still goes on. */
int tick_run_one(const struct tick *tick, const char *id, int64_t number, struct err *err);
/* Returns when a tick last ran in the root; 0: never. */
time_t tick_last(const struct root *root);

/* Finds when an entry is due next after now; for EVERY_AFTER which turn has ended, `seen`. Fails
 * with MAS_USAGE if its `when` is none, or never comes. */
int tick_plan(const struct root *root, struct every_entry *entry, int64_t now_ms, struct err *err);
