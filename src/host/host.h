/*
 * `mas host`: the process in an agent's pane.
 */
#pragma once

#include "host/commands.h"

/*
 * Runs the host of an agent as long as its pane lives. Starts the agent in unit/<agent>/, on a
 * terminal of its own or on pipes, with the environment from run/env and the variables of the
 * team's processes (MAS_AGENT_ID, ...). Relays, logs, and answers on run/<agent>.sock. Takes the
 * root from MAS_ROOT. Returns 0 after the pane or the team has ended and the agent's whole tree
 * with it; -1 if it cannot begin.
 */
int host_run(const char *id, const char *agent, const struct host_commands *commands,
             struct err *err);

/*
 * Waits until the terminal has read what was written to it, at most a second, because tmux loses
 * what a pane's process prints just before it ends. A terminal answers a status request (ECMA-48
 * DSR) after it has read everything before the request.
 */
void host_flush_terminal(void);
