/*
 * Environments: NULL-terminated vectors of "KEY=value", and which variables agents get.
 */
#ifndef MAS_SESSION_ENV_H
#define MAS_SESSION_ENV_H

#include "store/config.h"

#include <stdbool.h>

/* Returns this process's environment, filtered and extended by [env] of mas.ini: the one that
 * agents started by this process get. The caller releases it with strv_free(). */
char **env_handed_on(const struct config *config);

/* Returns the value of a variable, or NULL. */
const char *env_get(char *const *env, const char *name);
/* Removes a variable from a vector that owns its entries; NULL is an empty one. */
void env_drop(char **env, const char *name);
/* Replaces or adds a variable. Copies both texts. */
void env_put(char ***env, const char *name, const char *value);

#endif
