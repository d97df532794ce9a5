/*
 * Which programs of presets are there, and the offer to use the only one.
 */
#pragma once

#include "cmd.h"

/* Returns the program that the preset's command names, or the user's shell for an empty command.
 * The caller frees it. */
char *installed_program(const struct preset *preset);
/* Returns true if the program is found. A path relative to the agent's directory counts as found,
 * because that directory is not known here. */
bool installed_is(const struct preset *preset, const char *program);

/* Whether a file of a login is there, which nobody opens. */
enum installed_login { LOGIN_UNKNOWN, LOGIN_NONE, LOGIN_FOUND };
enum installed_login installed_login(const struct preset *preset);

/* Adds the names of the presets of agents' own screens whose program is installed, with ", "
 * between them. Returns how many there are; *ret_first is the first, or NULL. */
size_t installed_names(const struct config *config, struct str *out,
                       const struct preset **ret_first);

/* Says on a terminal how to begin, where there is no session yet: with which of the agents' own
 * programs that are installed here. */
void installed_say_ways(const struct call *call);

/*
 * If neither the command nor a setting names a preset, a person is at the terminal, and of the
 * agents' own programs exactly one is installed, asks whether the agents run it. An answer other
 * than Enter is kept as session.preset in the root's mas.ini, so that it is asked once.
 */
int installed_offer(struct call *call, struct err *err);
