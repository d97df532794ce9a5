/*
 * Environments: NULL-terminated vectors of "KEY=value", and which variables may be set where.
 */
#ifndef MAS_CORE_ENV_H
#define MAS_CORE_ENV_H

#include <stdbool.h>

/* NULL for the name of a variable that a setting may give to agents, else what is wrong with it:
 * it is no name, or mas sets that variable itself. */
const char *env_check_name(const char *name);
/* A name as such, of what [A-Za-z_][A-Za-z0-9_]* matches. */
bool env_is_name(const char *name);

#endif
