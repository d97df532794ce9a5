/*
 * Who waits for a person: the register of the root (store/limits/waiting.h), and what the hosts say
 * of its entries.
 */
#pragma once

#include "base/id.h"
#include "model/agent_status.h"
#include "model/team/team.h"
#include "store/config.h"
#include "store/limits/waiting.h"
#include "store/root.h"

/* An agent that waits, as its host says. */
struct waiter {
    char session[ID_TEXT];
    char agent[TEAM_WORD_MAX + 1];
    char pane[24]; /* "%12"; "": its host has none */
    enum agent_state state;
    enum turn_outcome turn; /* how its turn ended, if it waits for that; else TURN_NONE */
    int64_t since_ms;
};

/* Finds the agent that has waited longest; its host has said so just now. Leaves out the agent in
 * `here`, a pane of the session `here_id`, unless nobody else waits: if it waits itself, the agent
 * that comes after it is found, and after the last one the first. Either may be "". Returns 1; 0 if
 * nobody waits; -1 on failure. Entries whose hosts say otherwise are removed. If the register is
 * incomplete, asks all hosts and makes it again. */
int who_waits(const struct root *root, const struct config *config, const char *here_id,
              const char *here, struct waiter *ret, struct err *err);

/* Reads who waits, whoever has waited longest first, from the register; if that is incomplete, asks
 * all hosts and makes it again. An entry may be out of date: ask its host. The caller releases *ret
 * with waiting_free(). */
int who_wait(const struct root *root, const struct config *config, struct waiting_list *ret,
             struct err *err);

/* Tells the host of an agent that a person looks at it now. Ignores errors. */
void who_tell_seen(const struct root *root, const char *session, const char *agent);
