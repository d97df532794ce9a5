/*
 * Which of its accounts (struct host_accounts) the agent has, by what is known of their limits
 * (store/limits/login_limit.h): at the host's start the first one that takes prompts, after that
 * the next one whenever the present one takes none. `dir` is sessions/.limits, -1 if it is not
 * there.
 *
 * The first agent that is refused with one account writes of the next one that it has to be tried:
 * a limit whose wait is over. So one agent tries it, and the others follow when that is no limit.
 */
#pragma once

#include "host/talk/talk.h"

/* Chooses when the host starts; without accounts, it only names the login. */
void login_open(struct host *host, int dir);
/* The present one is refused now, and was not before. */
void login_refused(struct host *host, int dir);
/* Looks for another one while the present one is limited until known->due_ms, and takes it for the
 * agent's next process. *ret_trial is held if the agent is the one that tries it, else -1. Returns
 * false if there is none; then *known is the earliest of the waits. */
bool login_next(struct host *host, int dir, struct login_limit *known, int *ret_trial);
/* Returns true if what the agent's program tells is of another login than the one that it is to
 * have; and if it has to end for that. */
bool login_is_left(const struct host *host);
bool login_changes(const struct host *host);
