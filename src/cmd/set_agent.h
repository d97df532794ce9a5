/*
 * `mas set SESSION AGENT KEY=VALUE...`: settings that an ACP agent offers.
 */
#ifndef MAS_CMD_SET_AGENT_H
#define MAS_CMD_SET_AGENT_H

#include "cmd.h"

/* Sets the mode (mode=) or options of one agent, in the order given, without a clear. Checks all
 * words before it sets the first. An agent that has not run yet gets them when it starts. Fails
 * with MAS_NOT_FOUND if the agent has no such mode or option. */
int set_agent(struct call *call, struct err *err);

#endif
