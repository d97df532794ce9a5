/*
 * Watches the agents of one session, for `mas run`: whether all have ended, and since when none has
 * anything to do.
 *
 * Each host is asked to tell its agent's status at each change. A host that is not there is looked
 * for when something changes in run/.
 */
#pragma once

#include "store/root.h"

struct run_watch;

/* The caller releases *ret with run_watch_close(). */
int run_watch_open(const struct root *root, const char *id, struct run_watch **ret,
                   struct err *err);
void run_watch_close(struct run_watch *watch);
void run_watch_closep(struct run_watch **watch);
#define _cleanup_run_watch_ __attribute__((cleanup(run_watch_closep)))

/* Waits once for agents, for the descriptor `also`, or until the time `until`
 * (time_monotonic_ms(); -1: without limit). */
int run_watch_wait(struct run_watch *watch, int also, int64_t until, struct err *err);

/* Returns true once all agents have ended, and none starts again by itself. */
bool run_watch_has_ended(const struct run_watch *watch);
/* Returns since when (time_monotonic_ms()) each agent is idle, asleep or has ended, and has no
 * message that waits; -1 if one has something to do, or waits for a person. */
int64_t run_watch_quiet_since(const struct run_watch *watch);
/* Returns true if all agents have crashed or failed, and appends how. */
bool run_watch_put_crashed(const struct run_watch *watch, struct str *to);
