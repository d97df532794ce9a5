/*
 * For commands on agents of one session: [SESSION] TARGET.
 *
 * -s names the session. Inside a team's pane (MAS_SESSION_ID), the first operand is a TARGET if it
 * names agents of that team, and a SESSION otherwise. Elsewhere, the first operand is the SESSION.
 */
#pragma once

#include "client/roster.h"
#include "cmd.h"

enum targets_form {
    TARGETS_ONE, /* TARGET, then the command's other operands */
    TARGETS_MANY, /* TARGET...: all remaining operands */
    TARGETS_OPTIONAL, /* [TARGET]: all agents if omitted */
    TARGETS_ALL, /* [TARGET...]: all agents if omitted */
    TARGETS_NONE, /* [TARGET...]: no agent if omitted */
    /* These three may be omitted if the team has only one agent. */
    TARGETS_AGENT, /* AGENT: one */
    TARGETS_AGENT_TEXT, /* AGENT and words; omitted if the first word names no agent */
    TARGETS_AGENTS, /* TARGET... */
};

enum { TARGETS_COME_MS = 10000 }; /* time for a new host to begin to listen */

/* Removes SESSION and TARGET from the operands and adds the agents that they name to *roster. If
 * the command has --from, sets roster->from to the sender. */
int targets_parse(struct call *call, enum targets_form form, struct roster *roster,
                  struct err *err);
/* Fails with MAS_USAGE unless the operands named one agent. */
int targets_check_one(const struct call *call, const struct roster *roster, struct err *err);

/* Sets *ret to the sender: the agent in whose pane the command runs, else --from, else NULL for a
 * person. Fails if an agent writes to another session or uses --from for another agent. `what` is
 * the verb in error messages. */
int targets_sender(const struct call *call, const struct roster *roster, const char *what,
                   const char **ret, struct err *err);

/* Sets *ret_ms to the value of --timeout. Without that option it stays unchanged. */
int targets_timeout(const struct call *call, int *ret_ms, struct err *err);

/* Starts hosts for the agents of one running session whose calls ended as `missing`, HOST_ABSENT or
 * HOST_ENDED. Each host starts its agent. *ret_count is the number of these agents. */
int targets_bring_back(const struct call *call, struct roster *roster, enum host_answer missing,
                       size_t *ret_count, struct err *err);
