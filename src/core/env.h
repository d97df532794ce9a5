/*
 * Environments: NULL-terminated vectors of "KEY=value", what of them agents get, and which
 * variables a setting may give them.
 */
#ifndef MAS_CORE_ENV_H
#define MAS_CORE_ENV_H

#include "core/config.h"

#include <stdbool.h>

/* NULL for the name of a variable that a setting may give to agents, else what is wrong with it:
 * it is no name, or mas sets that variable itself. */
const char *env_check_name(const char *name);
/* [A-Za-z_][A-Za-z0-9_]* */
bool env_is_name(const char *name);
/* true for "TERM=..." and others that say something about the terminal that the agent is in, and
 * not about who started it. `entry` may be a name with a = behind it. */
bool env_belongs_to_pane(const char *entry);

/* This process's environment after [env] of mas.ini: what agents that it starts are handed.
 * Released with strv_free(). */
char **env_handed_on(const struct config *config);

/* NULL where it is missing. */
const char *env_get(char *const *env, const char *name);
/* Replaces or adds one. */
void env_put(char ***env, const char *name, const char *value);

#endif
