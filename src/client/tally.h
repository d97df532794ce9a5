/*
 * How many agents of sessions are in which state, for listings: asks whoever listens in run/,
 * without a look at the team.
 */
#ifndef MAS_CLIENT_TALLY_H
#define MAS_CLIENT_TALLY_H

#include "client/hosts.h"
#include "model/agent_status.h"

#include <stddef.h>

struct tally {
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
    struct tally *totals; /* while tallies_finish() runs */
};

/* Begins to ask the hosts of the workspace open at `dir`. */
void tallies_ask(struct tallies *tallies, int dir, size_t place);
/* Waits for the answers and adds them to totals[place] (totals NULL: gives up). Releases all. */
void tallies_finish(struct tallies *tallies, int timeout_ms, struct tally *totals);

/* Of agents whose processes run, and of those that have ended. */
size_t tally_live(const struct tally *tally);
size_t tally_ended(const struct tally *tally);

#endif
