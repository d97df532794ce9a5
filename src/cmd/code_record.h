/*
 * Records what commands did with the code of a session, in the session's log and for mas serve.
 */
#pragma once

#include "cmd.h"
#include "code/land.h"
#include "code/merge.h"

/* Records that commits were merged into the integration branch, or that they conflict. `agent`
 * NULL: they are the project's. */
void code_record_merge(const struct call *call, const struct repo *repo, const char *agent,
                       const struct merge_result *result);
/* Records that the integration branch landed, or that it conflicts. */
void code_record_land(const struct call *call, const struct repo *repo,
                      const struct land_result *result);
/* Writes to the session's log that an agent's branch and work tree were moved forward. */
void code_record_sync(const struct call *call, const struct repo *repo, const char *agent);
/* Has all hosts of the session look at the code again. Call it without the lock of code.git. */
void code_record_end(const struct call *call, const struct repo *repo);
