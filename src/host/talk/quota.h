/*
 * What is used of the windows of the agent's provider (store/limits/login_quota.h). With [limits]
 * quota a prompt that no person has sent waits while more of one is used; a person's goes past it.
 */
#pragma once

#include "host/talk/talk.h"
#include "protocol/line.h"

/* Keeps what a line of the agent's transcript, or an update of its session, says of a window. */
void quota_told(struct host *host, const struct line_rule *rule, const struct line_told *line);
/* Returns true if the first prompt of the queue waits. Moves the first one of a person before it
 * instead, if there is one. */
bool quota_holds(struct host *host);
/* Returns true if a prompt waits for that. */
bool quota_is_on(const struct talk *talk);
/* Returns when to look again. */
int64_t quota_tick(struct host *host, int64_t now);
