/*
 * The directories that the agents of a session start in.
 *
 * A host that cannot enter them ends, and says so only in a pane. So who starts hosts looks first.
 */
#pragma once

#include "model/team/team.h"
#include "store/root.h"
#include "store/session.h"

/* Fails with MAS_FAILED, naming agent and directory, if the agent cannot start in its directory, or
 * in its part of the project. `dir` is the workspace. */
int places_check_agent(const struct root *root, int dir, const struct session *session,
                       const struct team *team, const struct agent *agent, struct err *err);
/* The same for a team, and for the directory of its logs. `wanted`, by index in team->agents, says
 * who is to start; NULL: all. */
int places_check(const struct root *root, int dir, const struct session *session,
                 const struct team *team, const bool *wanted, struct err *err);

#define PLACES_OLD ".old-" /* before the agent's name: what a reset has put aside in code/ */
/* Returns true if a reset of the agent was killed: then its work tree is missing or half made. */
bool places_half_reset(int dir, const char *agent);
