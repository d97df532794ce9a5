/*
 * Brings the integration branch to agents, and what is new in the project to the integration
 * branch.
 */
#ifndef MAS_CODE_SYNC_H
#define MAS_CODE_SYNC_H

#include "base/err.h"
#include "code/merge.h"
#include "code/repo.h"

enum sync_outcome {
    SYNC_CURRENT, /* the agent's branch has all of the integration branch */
    SYNC_MOVED, /* branch and work tree were moved forward */
    SYNC_BEHIND, /* nothing was changed, because the agent has work of its own: it has to merge */
};

/* Moves an agent's branch and work tree to the integration branch if that only moves them forward
 * and nothing in the work tree is changed. The caller holds the lock of code.git. *ret_why is
 * constant text for SYNC_BEHIND. As git does, it locks the agent's index and branch meanwhile;
 * MAS_CONFLICT: they are locked. Killed in the middle, it leaves both locks; the next call finishes
 * what it did, unless the files were changed since, and removes them. */
int sync_agent(const struct repo *repo, const char *agent, enum sync_outcome *ret,
               const char **ret_why, struct err *err);

/* Merges the project's branch into the integration branch. *ret must be MERGE_RESULT_INIT. */
int sync_project(const struct repo *repo, const struct team_project *project,
                 struct merge_result *ret, struct err *err);

#endif
