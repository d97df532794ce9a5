/*
 * For commands on several sessions: try all of them; the first failure decides the exit code.
 */
#pragma once

#include "client/survey.h"
#include "cmd.h"
#include "session/life.h"

/* Acts on one session and prints the result. */
typedef int each_session_do(struct call *call, const struct life *life, const char *id,
                            struct err *err);

/* Returns true if an option such as --all selects the session. */
typedef bool each_session_want(const struct view *view);

/* Runs `act` for the sessions that -s and the operands name or, if `want` is not NULL, for those
 * that it selects. Naming sessions and `want` together is a usage error. Reports failures as
 * each_session_fail() does. */
int each_session_run(struct call *call, each_session_do *act, each_session_want *want,
                     struct err *err);

/* Records a failure: copies the first one to *err, which main() prints, and sets *rc to -1; prints
 * each further one. *rc is 0 before the first call. */
void each_session_fail(const struct err *why, int *rc, struct err *err);

/* For commands that only read: true if the command line names no session and the process is not in
 * a team's pane. */
bool each_session_means_all(const struct call *call);
typedef int each_session_parse(const struct call *call, const char *id, void *arg, struct err *err);
/* Calls `take` for each named session, or for the session of this process's pane if none is named.
 * Reports failures as each_session_fail() does. */
int each_session_look(const struct call *call, each_session_parse *take, void *arg,
                      struct err *err);
