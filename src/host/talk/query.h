/* The conversation and the query that the agent is in: who changes them, and who is told. */
#pragma once

#include "host/talk/talk.h"

/* Tells the clients that another query is the present one, and why: "clear", "plan" or
 * "conversation". */
void query_tell(struct host *host, const char *reason);
/* Changes the conversation. Fails with MAS_CONFLICT if prompts are at work or wait. */
int query_change(struct host *host, enum conversation_choice choice, const char *id,
                 struct err *err);
/* Changes to the conversation of the next prompt, while others wait behind it. */
int query_enter(struct host *host, const char *conversation, struct err *err);
