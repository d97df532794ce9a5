/*
 * The work tree of an agent made anew, at the integration branch.
 *
 * 1. Take the session's lock; wait for it. Refuse for an agent that is at work. End the agent, so
 * that nobody writes there any more.
 * 2. Keep what would be lost, if anything would, as `remove -f` does (session/grow.h): stashes,
 *    linked work trees, submodules and operations in progress lie in the agent's repository, and
 *    count. If this fails, for instance because lost/ has no room, the tree stays.
 * 3. Rename code/AGENT to code/.old-AGENT.
 * 4. Make code/AGENT as for an agent that joins the team. One syncfs(2).
 * 5. Make .old-AGENT trash, and delete it.
 * 6. If the session runs, start the agent as a restart does. Log.
 *
 * Killed before 3, the agent has its tree, and no host if the session runs. Killed between 3 and 5,
 * .old-AGENT is there: its host does not start the agent, so that nothing is done in a tree that is
 * half made, and the next reset goes on with 1. If 4 fails, the old tree gets its place back.
 */
#pragma once

#include "session/grow.h"

/* Fails with MAS_USAGE if the agent has no repository of its own, or this command runs in its
 * pane, and without `force` with MAS_CONFLICT if it is at work. *ret_kept is as in struct shrunk.
 * *ret_runs: the agent was started again. */
int reset_agent(const struct life *life, const char *id, const char *agent, bool force,
                struct shrunk *ret_kept, bool *ret_runs, struct err *err);
