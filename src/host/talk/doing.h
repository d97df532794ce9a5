/* What the agent does now, for lists and clients. */
#pragma once

#include "host/talk/talk.h"

enum agent_state doing_state(const struct host *host);
/* Fills in what is known of any agent that tells; *ret points into the host. `ret->state` is set,
 * and `ret->note` is what counts if there is nothing else to be said. */
void doing_fill(const struct host *host, struct agent_status *ret);
