/*
 * Suggestions for a mistyped command.
 */
#ifndef MAS_CMD_SUGGEST_H
#define MAS_CMD_SUGGEST_H

/* The command that a mistyped one is most like, as typed after `mas`; NULL if none is close. */
const char *suggest_command(const char *typed);

#endif
