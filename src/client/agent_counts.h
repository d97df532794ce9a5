/*
 * Counts the agents of sessions by state, for listings. It asks every host that has a socket in
 * run/ and does not read the team.
 */
#pragma once

#include "client/hosts.h"
#include "model/agent_status.h"

enum { AGENT_COUNTS_CURRENCIES = 4 };

/* What the agents of a session have done in their work trees, all together. */
struct code_counts {
    size_t agents; /* whose work trees mas has looked at; 0: the rest is unknown */
    int64_t ahead, behind, changed; /* sums of the members of struct code_figures */
    int64_t looked_ms; /* epoch, the oldest look */
};

struct agent_counts {
    size_t told; /* hosts that reported a state */
    size_t states[AGENT_STATE_COUNT];
    int64_t tokens; /* of all turns of these agents; 0: unknown */
    struct money costs[AGENT_COUNTS_CURRENCIES]; /* likewise; a currency of "" ends them */
    struct code_counts code;
    int64_t cpu_ms, memory; /* of the processes of these agents, as far as known */
    struct agent_pane pane; /* of the newest activity; server 0: their hosts tell nothing, or not
                             * the same */
};

/* Requests in progress for any number of sessions. Zero-initialised; agent_counts_finish() releases
 * it. */
struct agent_counting {
    struct host_call *calls;
    size_t *places; /* for each call, the caller's number of its session */
    size_t count;
    char ***names; /* agents of each session */
    size_t session_count;
    struct agent_counts *totals; /* while agent_counts_finish() runs */
};

/* Sends a status request to every host of the workspace open at `dir`, without blocking. `place` is
 * the caller's number of the session: the index into `totals`. The caller may close `dir`
 * afterwards. */
void agent_counts_ask(struct agent_counting *counting, int dir, size_t place);
/* Waits at most timeout_ms (-1: no limit) for the answers and adds them to totals[place]. If
 * `totals` is NULL, it gives up at once. Releases everything. */
void agent_counts_finish(struct agent_counting *counting, int timeout_ms,
                         struct agent_counts *totals);

/* Adds what one host reported. */
void agent_counts_add(struct agent_counts *counts, enum agent_state state,
                      const struct agent_usage *usage, const struct code_figures *code,
                      const struct agent_resources *resources);
/* Adds what mas saw last in the work trees of a session whose hosts tell nothing. */
void agent_counts_add_looked(struct agent_counts *counts, int workspace);
/* Adds what it told of its pane; NULL: nothing. Call it after agent_counts_add(). */
void agent_counts_add_pane(struct agent_counts *counts, const struct json *object);

/* Return the number of agents whose processes run, and of those that have exited or crashed. */
size_t agent_counts_live(const struct agent_counts *counts);
size_t agent_counts_ended(const struct agent_counts *counts);
/* Returns true if both say the same. */
bool agent_counts_equal(const struct agent_counts *a, const struct agent_counts *b);
