/*
 * The command that somebody meant who typed a word that is none.
 */
#ifndef MAS_CMD_GUESS_H
#define MAS_CMD_GUESS_H

/* The command for a word that is none, as it is typed behind `mas`; NULL: nothing comes to mind. */
const char *guess_command(const char *typed);

#endif
