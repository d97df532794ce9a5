/*
 * `mas host`: the process in an agent's pane.
 */
#ifndef MAS_HOST_HOST_H
#define MAS_HOST_HOST_H

#include "base/err.h"

/*
 * Is the host of an agent for as long as its pane lives: starts the agent on a terminal of its own,
 * in unit/<agent>/, with the environment from run/env and what the team's processes get
 * (MAS_AGENT_ID, ...); relays, logs, answers on run/<agent>.sock. The root comes from MAS_ROOT.
 * Returns 0 when the pane or the team ends, after the agent and all that it started; -1 where it
 * could not begin.
 */
int host_run(const char *id, const char *agent, struct err *err);

/*
 * Waits until the terminal has taken what was written to it, at most a second: tmux loses what a
 * pane's process prints just before it ends. A terminal answers a status request (ECMA-48 DSR) once
 * it has read all before it.
 */
void host_flush_terminal(void);

#endif
