/*
 * Tells hosts that the code of their session has changed.
 */
#pragma once

#include "client/roster.h"
#include "store/root.h"

/* Has the hosts of a session look at the work trees of their agents again, and looks at those of
 * agents without a host. Errors do not matter: a host that does not answer tells older figures. */
void look_again(const struct root *root, const char *id);
/* Has the host of an agent tell people that the agent's branch does not merge, because of these
 * files. Errors do not matter here either. */
void look_conflict(const struct root *root, const char *id, const char *agent, const char *files);

/* Looks at the work tree of an agent whose host has told nothing of it. */
void look_at(const struct root *root, struct roster *roster, size_t i);
