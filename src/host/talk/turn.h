/* The prompt at work: what holds it back, its begin and its end. */
#pragma once

#include "host/talk/talk.h"

enum { TURN_CANCEL_MS = 5000 }; /* an agent that has not ended its turn by then is ended */

struct limit_refusal;

/* Begins the next turn, if the agent is ready for it and a prompt waits. */
void turn_run(struct host *host);
/* The agent has begun the turn of the prompt at this index of the queue by itself. */
void turn_begin_told(struct host *host, size_t index);
/* Ends the turn, in the store and for those who wait for its end. */
void turn_end(struct host *host, const char *stop_reason, int64_t code, const char *error);
/* Puts the prompt of the turn back in front of the queue. Nobody is told. */
void turn_put_back(struct host *host);
/* The same for a turn that the provider has refused: what it has left open is ended. */
void turn_refused(struct host *host, const struct limit_refusal *told);
/* The agent has taken a prompt of the queue in the middle of the turn: it belongs to it. */
void turn_take(struct host *host, size_t index);
/* Asks the agent to end the turn; without a turn, ends the prompt that waits longest. Returns false
 * if there is neither. */
bool turn_cancel(struct host *host);
/* The same for one prompt, which may wait. */
bool turn_cancel_prompt(struct host *host, int64_t number);
/* Returns true if a prompt that is added now begins its turn at once. */
bool turn_begins_at_once(struct host *host);
