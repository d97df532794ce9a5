/*
 * Asks persons, and only persons, whether the setup of a project may run, and whether files of it
 * may go to another machine.
 */
#pragma once

#include "code/land/parcel.h"
#include "code/setup.h"

/* Returns true if this process acts for an agent: below an agent's supervisor or, where nobody has
 * a supervisor, with the environment of an agent. A person's shell in a pane is none. */
bool caller_is_agent(void);

/* Returns true if there is a terminal to ask on. */
bool consent_possible(void);
/* Reads the answer to a question on the terminal: *ret is 'y', 'n', or 0 for any other. Fails if
 * interrupted. */
int consent_read(char *ret, struct err *err);
/* Shows the beginning of the script and asks whether it may run; see struct life_setup. */
int consent_ask(const char *project, const struct setup_script *script, enum setup_answer *ret,
                struct err *err);
/* Shows the files that git ignores and asks whether they may go to a host. */
int consent_ask_files(const char *project, const struct parcel *files, const char *host, bool *ret,
                      struct err *err);
