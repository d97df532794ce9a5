/*
 * `mas host`: the process in an agent's pane.
 *
 *     tmux server
 *      └ mas host ID AGENT         the pane's process: relays, logs, answers on run/<agent>.sock
 *         └ mas-supervisor         the agent's parent and subreaper; ends its whole tree
 *            └ the agent           leader of a session on its own pseudo-terminal
 *               └ ...              its children; orphans become children of the supervisor
 *
 * The host of an ACP agent, which is on pipes (its stderr goes to its log), has more children:
 *
 *     mas host ID AGENT
 *      ├ mas-chat                        the pane: a client like any other
 *      ├ mas-supervisor ─ the agent
 *      └ mas-supervisor ─ ...            a program that the agent asked for (terminal/create)
 *
 * Behind a wall, bubblewrap and mas-wall come between the supervisor and the agent (enter/init.h).
 *
 * What a host keeps in run/: <agent>.lock, whose flock(2) shows that it lives, <agent>.sock,
 * <agent>.agent for the agent's own commands, and <agent>.role/, what a program on a terminal
 * is told by files: its role, and its hooks; written at each start of the agent.
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
