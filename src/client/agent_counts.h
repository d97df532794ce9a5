/*
 * How many agents of sessions are in which state, for listings: asks whoever listens in run/,
 * without a look at the team.
 */
#ifndef MAS_CLIENT_AGENT_COUNTS_H
#define MAS_CLIENT_AGENT_COUNTS_H

#include "client/hosts.h"
#include "model/agent_status.h"

#include <stddef.h>

struct agent_counts {
    size_t told; /* how many hosts have said */
    size_t states[AGENT_STATE_COUNT];
};

/* What is asked, of any number of sessions. Zero-initialised. */
struct tallies {
    struct host_call *calls;
    size_t *places; /* beside each call: the caller's number of its session */
    size_t count;
    char ***names; /* of the agents of each session */
    size_t session_count;
    struct agent_counts *totals; /* while tallies_finish() runs */
};

/* Begins to ask the hosts of the workspace open at `dir`. */
void tallies_ask(struct tallies *tallies, int dir, size_t place);
/* Waits for the answers and adds them to totals[place] (totals NULL: gives up). Releases all. */
void tallies_finish(struct tallies *tallies, int timeout_ms, struct agent_counts *totals);

/* Of agents whose processes run, and of those that have ended. */
size_t agent_counts_live(const struct agent_counts *counts);
size_t agent_counts_ended(const struct agent_counts *counts);

#endif
