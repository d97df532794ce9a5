/*
 * Who needs a person, and in which order. `mas top`, `mas next`, the status line of a session and
 * notifications all ask here, so that they agree.
 */
#pragma once

#include "model/agent_status.h"

/* In the order in which a person looks at them. */
enum attention {
    ATTENTION_NEEDED, /* it waits for a person, has crashed, or is paused by a budget */
    ATTENTION_FAILED, /* its turn has failed or was stopped, and nobody has looked since */
    ATTENTION_WORKING, /* it works, starts, or waits for its provider */
    ATTENTION_DONE, /* it has ended its turn, and nobody has looked since */
    ATTENTION_IDLE, /* everything else */
    ATTENTION_COUNT
};

/* The name of a class: "needs you", "failed", "working", "done", "idle". */
const char *attention_name(enum attention attention);
/* A crashed agent that restarts by itself needs nobody yet: it counts as working. */
enum attention attention_of(const struct agent_status *status);
/* Returns true if the agent stays as it is until a person does something, or looks at it. */
bool attention_needs_person(const struct agent_status *status);
/* Returns when what attention_of() says began, in ms since 1970. */
int64_t attention_since(const struct agent_status *status);
/* Compares two agents for sorting: negative if a person should look at `a` first. Those who need a
 * person come first, the longest wait first; within the other classes the latest change does. 0:
 * the same rank; the caller decides, by session and id. */
int attention_compare(const struct agent_status *a, const struct agent_status *b);
