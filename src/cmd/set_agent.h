/*
 * `mas set SESSION AGENT [KEY=VALUE...]`: settings that an ACP agent offers.
 */
#pragma once

#include "cmd.h"

/* Sets the mode (mode=) or options of one agent, in the order given, without a clear. Checks all
 * words before it sets the first. An agent that has not run yet gets them when it starts. Fails
 * with MAS_NOT_FOUND if the agent has no such mode or option, with MAS_USAGE or MAS_FAILED if it
 * does not take the value. */
int set_agent(struct call *call, struct err *err);
/* Prints the mode and the options of one agent, with the values that they may have. Fails with
 * MAS_CONFLICT if it has told of none: it does not run yet, or offers none. */
int set_agent_show(struct call *call, struct err *err);
