/*
 * Limits on resources of each process (setrlimit), and capabilities.
 */
#ifndef MAS_ENTER_LIMITS_H
#define MAS_ENTER_LIMITS_H

#include "base/err.h"

#include <stdbool.h>

/* Sets a limit from "NAME=VALUE": memory, files, file-size and core in bytes or files, with a unit;
 * processes of the user, CPU seconds. A value over the hard limit sets that one. */
int limit_set(const char *text, struct err *err);

/* Drops all capabilities, for good. An agent of root keeps its user, but not what root may. With
 * `nested` it keeps CAP_SETFCAP if it has that: without it, root may not map itself into a user
 * namespace. */
int limit_capabilities(bool nested, struct err *err);

#endif
