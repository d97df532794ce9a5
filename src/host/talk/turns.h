/* How many turns may be on at the same time, in the root and in the session. */
#pragma once

#include "host/talk/talk.h"

void turns_open(struct host *host);
void turns_free(struct agent_turns *turns);
/* Returns true while too many turns are on. Otherwise the slots for a turn are taken. */
bool turns_hold(struct host *host);
/* Gives back the slots of a turn that does not begin, and of one that has ended. */
void turns_give_up(struct host *host);
void turns_ended(struct host *host);
/* Returns true if the next turn waits for a slot. */
bool turns_are_waited_for(const struct talk *talk);
void turns_want(const struct host *host, struct loop *loop);
void turns_serve(struct host *host, struct loop *loop);
/* Returns when to look again. */
int64_t turns_tick(struct host *host, int64_t now);
