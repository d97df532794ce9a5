/*
 * Names of environment variables, and which of them a setting may pass to agents.
 */
#pragma once

/* Returns NULL if a setting may pass this variable to agents; otherwise static text that says why
 * not: it is not a valid name, or mas sets the variable itself. */
const char *env_check_name(const char *name);
/* The same of one that mas.ini sets, which may not describe the agent's own terminal either. */
const char *env_check_set(const char *name);
/* Returns true if `name` matches [A-Za-z_][A-Za-z0-9_]*. */
bool env_is_name(const char *name);
/* Returns true for "TERM=..." and other variables that describe the terminal of the agent rather
 * than the user who started it. `entry` is a name, optionally followed by = and a value. */
bool env_belongs_to_pane(const char *entry);
