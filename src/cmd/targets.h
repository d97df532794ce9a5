/*
 * Commands on agents of one session: [SESSION] TARGET.
 *
 * -s names the session. In a team (MAS_SESSION_ID) the first operand is a TARGET where it means
 * agents of that team, else a SESSION; elsewhere it is the SESSION.
 */
#ifndef MAS_CMD_TARGETS_H
#define MAS_CMD_TARGETS_H

#include "client/roster.h"
#include "cmd.h"

#include <stdbool.h>
#include <stddef.h>

enum targets_form {
    TARGETS_ONE, /* TARGET, then operands of the command's own */
    TARGETS_MANY, /* TARGET...: all operands that are left */
    TARGETS_OPTIONAL, /* [TARGET]: all agents where it is left out */
    TARGETS_NONE, /* [TARGET...]: none where it is left out */
    /* These three may be left out where the team has one agent. */
    TARGETS_AGENT, /* AGENT */
    TARGETS_AGENT_TEXT, /* AGENT and words, of which the first may be no agent's */
    TARGETS_AGENTS, /* TARGET... */
};

enum { TARGETS_COME_MS = 10000 }; /* a host that was just started listens by then */

/* Takes SESSION and TARGET out of the operands and puts the agents they mean into *roster. */
int targets_parse(struct call *call, enum targets_form form, struct roster *roster,
                  struct err *err);

/* Who asks: --from, or the agent in whose pane this is; it speaks for itself, and only in its own
 * session. *ret NULL: a person. */
int targets_sender(const struct call *call, const struct roster *roster, const char *what,
                   const char **ret, struct err *err);

/* What --timeout says; without it *ret_ms stays. */
int targets_timeout(const struct call *call, int *ret_ms, struct err *err);

/* Starts hosts for those agents of one session that roster_finish() found without one, though its
 * tmux session runs; each starts its agent itself. *ret_count: how many. */
int targets_bring_back(const struct call *call, struct roster *roster, size_t *ret_count,
                       struct err *err);

#endif
