/*
 * Check that the user has accepted the root, and find other roots that have sessions.
 */
#pragma once

#include "cmd.h"

/* Warns if a setting of a root that is not accepted names a program that this command would have
 * run. */
void roots_warn_disbelieved(const struct call *call);

/* Prints on standard error that the root has no session (`what` is "no sessions" or similar), and
 * the commands that list up to 3 known roots with sessions, or how to begin. */
void roots_say_none(const struct call *call, const char *what);

/* Adds the same information to an error as its hint. Returns -1. */
int roots_hint_none(const struct call *call, struct err *err);

/* For a session `text` that was not found: adds a hint if a known root has it. Returns -1. */
int roots_hint_session(const struct call *call, const char *text, struct err *err);
