/*
 * Which root a command works in: whether the user has accepted it, and where else sessions are.
 */
#ifndef MAS_CMD_ROOTS_H
#define MAS_CMD_ROOTS_H

#include "cmd.h"

/* After the root was opened: decides whether its settings may name programs. Refuses a command that
 * would run them (CMD_RUNS) in a root that was found from the current directory and that this user
 * neither made nor accepted; on a terminal it asks once. */
int roots_check(struct call *call, struct err *err);

/* Warns where a setting of such a root names a program that this command would have run. */
void roots_warn_disbelieved(const struct call *call);

/* Says on stderr that there is no session (`what` is "no sessions" or the like) in the root that
 * was searched, and which known roots have some, else how to begin. */
void roots_say_none(const struct call *call, const char *what);

/* The same as the hint of an error; returns -1. */
int roots_hint_none(const struct call *call, struct err *err);

/* Where the session `text` was not found: the hint names a known root that has it. Returns -1. */
int roots_hint_session(const struct call *call, const char *text, struct err *err);

#endif
