/*
 * Commands that agents run.
 *
 * Where MAS_SOCKET is set, an agent runs mas: the command goes to the agent's host, which runs it
 * outside of the agent's wall, as this agent. What runs there (MAS_BROKERED is set, which a host
 * does) holds to the rules of call_check_agent(), for which its own parser finds the options:
 *
 * - only commands with WHO_AGENTS or WHO_AGENTS_SHARE;
 * - no other root, and no file but the standard ones, because the agent's wall does not hold here;
 * - no other session than the agent's own, except what [memory] lets commands with WHO_AGENTS_SHARE
 * see.
 *
 * As whom it acts, and towards whom, other hosts decide by the process.
 *
 * So in a command for agents the value of each option that names a file is FILE, DIR or PATH,
 * sessions are found by call_select(), and it starts no pager, editor or shell of the caller's
 * choice.
 */
#pragma once

#include "cmd.h"

/* Returns true if this process is an agent's, and its host runs such a command for it. */
bool brokered_wanted(const struct cmd *cmd);
/* Returns true if this process is an agent's, or runs for one. */
bool brokered_is_agent(void);
/* Has it run. argv[0] is the verb, or argc is 0. *ret_code is its exit code. */
int brokered_ask(const struct cmd *cmd, int argc, char **argv, const char *root, int *ret_code,
                 struct err *err);
