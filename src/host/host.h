/*
 * `mas host`: the process in an agent's pane.
 */
#ifndef MAS_HOST_HOST_H
#define MAS_HOST_HOST_H

#include "base/err.h"

/*
 * Starts the agent in this pane: takes the environment from run/env, adds what the team's processes
 * get (MAS_AGENT_ID, ...) and what belongs to the pane (TERM, TMUX, ...), enters unit/<agent>/,
 * gives the pane its title and becomes the agent's command. The root comes from MAS_ROOT. Returns
 * only on failure.
 */
int host_run(const char *id, const char *agent, struct err *err);

/*
 * Waits until the terminal has taken what was written to it, at most a second: tmux loses what a
 * pane's process prints just before it ends. A terminal answers a status request (ECMA-48 DSR) once
 * it has read all before it.
 */
void host_flush_terminal(void);

#endif
