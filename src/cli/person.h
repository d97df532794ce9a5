/*
 * For what only a person may do.
 */
#pragma once

/* Fails if an agent runs this command: if it descends from an agent's supervisor, or if the
 * environment says so and it descends from none. A shell in a team is a person's. `what` is the
 * verb: "only a person may land". */
int person_check(const char *what, struct err *err);

/* Fails if this command descends from an agent of a session in this root (its path). An agent that
 * works on another one, such as a test of mas, goes by. NULL: of any root, for what reaches other
 * machines, which are in no root. */
int person_check_root(const char *root, const char *what, struct err *err);
