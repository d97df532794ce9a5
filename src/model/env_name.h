/*
 * Names of environment variables: which of them a setting may give to agents.
 */
#ifndef MAS_MODEL_ENV_NAME_H
#define MAS_MODEL_ENV_NAME_H

#include <stdbool.h>

/* NULL for the name of a variable that a setting may give to agents, else what is wrong with it:
 * it is no name, or mas sets that variable itself. */
const char *env_check_name(const char *name);
/* [A-Za-z_][A-Za-z0-9_]* */
bool env_is_name(const char *name);
/* true for "TERM=..." and others that say something about the terminal that the agent is in, and
 * not about who started it. `entry` may be a name with a = behind it. */
bool env_belongs_to_pane(const char *entry);

#endif
