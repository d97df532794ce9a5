/*
 * The ports of agents: ten in a row each, of which MAS_PORT is the first. They stay an agent's own
 * until it leaves its team, or its session is removed, in whichever root of the user that is.
 *
 * They are recorded in a file below ${XDG_STATE_HOME:-~/.local/state}, one line for each agent:
 *
 *     PORT ID AGENT ROOT
 *
 * The host that finds its agent without ports takes some for its whole team, under a lock, and
 * replaces the file. A kill before that leaves the old file, and the next host takes them. Ports
 * are taken outside of what the kernel gives to any program (ip_local_port_range), and if nobody
 * listens on one of the ten. A line that mas would not write does not count, so a damaged file
 * costs the agents named there their ports, and no start. The line of a session that its root does
 * not have any more is left out whenever ports are taken; that of a root which is not there, whose
 * disk may be away, only if no others are left.
 */
#pragma once

#include "model/team/team.h"
#include "store/root.h"

enum { PORTS_EACH = 10 };

/* Returns the first port of each agent of the team, in its order, as it is recorded; 0: none. The
 * caller frees it. */
int *ports_find(const struct root *root, const char *id, const struct team *team);
/* Sets *ret to the first port of an agent, and takes ports for those of its team that have none. */
int ports_take(const struct root *root, const char *id, const struct team *team,
               const struct agent *agent, int *ret, struct err *err);
/* Returns the first of ten ports that are free now and no agent's here, `from` on; 0: there are
 * none. Nobody else is kept from taking them. */
int ports_spare(int from);
/* Gives back the ports of a session that is removed, or of one agent; NULL: of all. Without that
 * they are given back when ports are taken next. */
void ports_drop(const struct root *root, const char *id, const char *agent);
