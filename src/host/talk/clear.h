/*
 * A clear:
 *
 * 1. Tell the agent to end the running turn; for mas it has ended.
 * 2. One transaction: the query ends with its agent sessions, waiting prompts end as cleared, the
 *    next query begins, --then is its first prompt.
 * 3. Tell the waiting clients (`cancelled`, `cleared`), the listeners, and the client that asked
 *    for the clear.
 * 4. When the turn has ended in the agent too, it leaves its session for a new one; there is
 * nothing to resume.
 *
 * Killed before 2, nothing was cleared and nothing reported. Killed after it, the next start finds
 * the new query.
 */
#pragma once

#include "host/talk/talk.h"

struct clear_options {
    const char *reason; /* "clear", "plan" */
    const char *mode; /* NULL: as it is */
    const char *then_text; /* NULL: no first prompt */
    size_t then_len;
    const char *from;
    char *const *tags;
    const struct store_adoption *adopts; /* see memory/store.h; NULL: nothing */
};
/* Begins the next query. *ret_then is the number of its first prompt, 0: none. */
int clear_context(struct host *host, const struct clear_options *options, int64_t *ret_then,
                  struct err *err);
