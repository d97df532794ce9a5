/*
 * Suggestions for a mistyped command.
 */
#ifndef MAS_CMD_SUGGEST_H
#define MAS_CMD_SUGGEST_H

/* Returns the command to type after `mas` that `typed` most likely means, such as "rm" for
 * "delete", or NULL if none is close. */
const char *suggest_command(const char *typed);

#endif
