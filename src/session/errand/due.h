/*
 * One entry of store/every.h while it is run: its agent, and the prompt that this gets. For
 * session/errand/tick.h and session/errand/errand.h.
 *
 * An entry says which run is given (given_ms) before that is. To an agent that tells the prompt
 * goes as `ask`, tagged "every:<number>-<given_ms>", which its host takes once; to another one as
 * `send`.
 */
#pragma once

#include "client/roster.h"
#include "store/config.h"
#include "store/every.h"

struct tick {
    const struct root *root;
    const struct config *config;
    const char *exe; /* of mas */
};

struct due {
    const struct tick *tick;
    struct roster roster; /* the agent, with its status */
    int dir;
    const char *id;
    struct every_entry *entry;
    int64_t now_ms, due_ms;
};

enum { DUE_MS = 10000 }; /* for a host to come, and to answer */

/* Sends a request of protocol/host.h that is answered by the status of the agent, with `coming`
 * also to a host that is starting. The caller collects the answers. */
int due_ask(struct due *due, const char *head, bool coming, struct err *err);
/* Asks the host of the agent for its status. *ret_runs: there is a host, which has told it. */
int due_look(struct due *due, bool coming, bool *ret_runs, struct err *err);
/* Returns 1 if the prompt of the run before waits or is at work, 0 if not. */
int due_goes(const struct due *due, struct err *err);
/* Returns the tag of the prompt of a run. The caller frees it. */
char *due_tag(const struct every_entry *entry);
/* Gives a prompt, and sets its number in the entry. *ret_unknown: it may have arrived, although
 * this fails. */
int due_give(const struct due *due, const char *text, bool *ret_unknown, struct err *err);

/* Runs a verb of mas as the person, with the environment in every.env. Fails in its words. */
int due_run_mas(const struct due *due, const char *const *words, int timeout_ms, struct err *err);

/* Records the entry, or with `gone` that it is no more. */
int due_keep(const struct due *due, bool gone, struct err *err);
/* Says it with control characters made visible, and cut. */
void due_set_why(struct every_entry *entry, const char *why);
/* Writes to the session's log what became of the entry. */
void due_note(const struct due *due, const char *what);
/* Records why it fails, and notes it once. */
void due_failed(const struct due *due, const char *why);
