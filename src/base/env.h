/*
 * Environments as vectors of "NAME=value", as execve() takes them.
 */
#pragma once

/* Returns the value of a variable, or NULL. */
const char *env_get(char *const *env, const char *name);
/* Sets a variable. *env is a vector for strv_free(). */
void env_put(char ***env, const char *name, const char *value);
/* Returns a copy for programs that start where others may write: of what tells the loader where
 * libraries are (LD_*), only absolute paths stay. The caller releases it with strv_free(). */
char **env_load_nothing_here(char *const *env);
/* Removes a variable. */
void env_drop(char **env, const char *name);
