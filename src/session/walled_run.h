/*
 * Runs a program behind the wall of an agent, with the standard files of this process, and waits
 * for its end.
 */
#ifndef MAS_SESSION_WALLED_RUN_H
#define MAS_SESSION_WALLED_RUN_H

#include "base/err.h"
#include "model/team.h"
#include "store/config.h"
#include "store/root.h"

/* The settings include the presets. Without a wall, the program runs as it is. *ret_status is the
 * exit code, or 128 + signal. */
int walled_run(const struct root *root, const struct config *config, const char *id,
               const struct team *team, const struct agent *agent, const char *program,
               char *const *argv, int *ret_status, struct err *err);

#endif
