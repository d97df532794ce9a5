/*
 * What the providers of agents have told them to wait for, in sessions/.limits/, for all agents of
 * the root: agents with the same login share its limits. It is a cache, which may be removed.
 *
 *     <login>        what is known of the limit; replaced as a whole, removed when it is over
 *     <login>.try    locked by the agent that tries first when the wait is over
 *     <login>.lock   locked while the first one is changed
 *
 * A login is a hash: nothing of it can be read here. The kernel frees the locks of a killed
 * process.
 */
#pragma once

#include "store/root.h"

#define LIMITS_DIR ".limits" /* in sessions/ */

enum {
    LOGIN_ID = 33, /* bytes of a login's name, with its NUL */
    LIMIT_RETRY_MAX_MS = 600000
};

/* Times in ms since 1970. */
struct login_limit {
    int attempts; /* refusals in a row; 0: there is no limit */
    int64_t until_ms; /* as the provider says; 0: it does not */
    int64_t due_ms; /* when to try again: that time, or one of mas */
    int64_t since_ms; /* when this was noted */
};

/* Opens the directory, which is made if it is missing; -1 with errno. */
int login_limit_open(const struct root *root);
/* Reads what is known of a login; no limit if nothing, or nothing valid, is. */
struct login_limit login_limit_read(int dir, const char *login);
/* Returns the time of the attempt that follows the given number of refusals, if nobody has told
 * one. */
int64_t login_limit_due(int attempts, int retry_ms, int64_t now_ms);
/* Notes a refusal of a request that began at `began_ms`. One that began before the limit was known
 * says nothing new, unless the provider tells a time now. *ret is what is known then. */
int login_limit_note(int dir, const char *login, const struct login_limit *told, int64_t began_ms,
                     int retry_ms, struct login_limit *ret, struct err *err);
/* Takes the place of the agent that tries first. Returns a descriptor that holds it until it is
 * closed; -1 if another agent has it. */
int login_limit_try(int dir, const char *login);
/* Notes that the limit is over. */
void login_limit_over(int dir, const char *login);
