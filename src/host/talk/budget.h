/*
 * The limits of what the agent and its team may use.
 *
 * One statement begins a turn and counts those that have begun, so that two hosts never begin one
 * turn too many. A limit that is reached only keeps the next turn from beginning; nothing is sent
 * to the agent, and the prompt waits as any other does. So a kill at any step leaves the turn
 * either not begun, or begun and counted. Hosts do not tell each other: each reads the sums when
 * its next turn would begin, and a paused one looks every 2 s whether another process has written
 * to memory.db.
 */
#pragma once

#include "host/talk/talk.h"

/* Finds out which limits are reached, and tells it if that has changed; with `keep` it is stored.
 */
void budget_look(struct host *host, bool keep);
/* The same when a turn has ended. */
void budget_turn_ended(struct host *host);
/* Returns true if the next turn may not begin, because a limit is reached. Otherwise it begins in
 * the store. */
bool budget_holds(struct host *host);
/* Lets the agent go on: by `more` ("2 USD", "turns=5"), or with NULL by the same again for each
 * limit that is reached. Appends what it may use now to *ret_words. MAS_NOT_FOUND: no limit is
 * reached. */
int budget_extend(struct host *host, const char *more, struct str *ret_words, struct err *err);
/* Looks again whether a limit was changed. Returns when to call again. */
int64_t budget_tick(struct host *host, int64_t now);
