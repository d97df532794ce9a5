/*
 * What other verbs print of a session that they have made.
 */
#pragma once

#include "cmd.h"
#include "store/session.h"

/* Prints a new session: its names, its workspace, and the command that attaches to it or, if
 * `started` is false, starts it. With -q, prints only the id; with --json, as `mas show`. */
int print_made(const struct call *call, const struct session *session, bool started,
               struct err *err);
