/*
 * Commands on several sessions: all are tried, the first failure decides.
 */
#ifndef MAS_CMD_EACH_SESSION_H
#define MAS_CMD_EACH_SESSION_H

#include "client/survey.h"
#include "cmd.h"
#include "session/life.h"

/* Does it to one session and prints what came of it. */
typedef int each_session_do(struct call *call, const struct life *life, const char *id,
                            struct err *err);

/* Whether a session is one of those that an option such as --all means. */
typedef bool each_session_want(const struct view *view);

/* Runs `act` for the sessions that the operands name, or for those that `want` picks (want not
 * NULL). Prints each failure but the first, which is left in *err for main. */
int each_session_run(struct call *call, each_session_do *act, each_session_want *want,
                     struct err *err);

/* Of several failures the first is left in *err for main, and the others are printed. */
void each_session_fail(const struct err *why, int *rc, struct err *err);

/* For commands that look at sessions: true if none is named, and this is no pane of one's team. */
bool each_session_means_all(const struct call *call);
typedef int each_session_parse(const struct call *call, const char *id, void *arg, struct err *err);
/* Takes those that are named, else the one that this process is in. */
int each_session_look(const struct call *call, each_session_parse *take, void *arg,
                      struct err *err);

#endif
