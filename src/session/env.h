/*
 * Environments: NULL-terminated vectors of "KEY=value", and what of them agents get.
 */
#ifndef MAS_SESSION_ENV_H
#define MAS_SESSION_ENV_H

#include "store/config.h"

#include <stdbool.h>

/* This process's environment after [env] of mas.ini: what agents that it starts are handed.
 * Released with strv_free(). */
char **env_handed_on(const struct config *config);

/* NULL where it is missing. */
const char *env_get(char *const *env, const char *name);
/* Replaces or adds one. */
void env_put(char ***env, const char *name, const char *value);

#endif
