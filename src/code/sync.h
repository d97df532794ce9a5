/*
 * Brings the integration branch to agents, and what is new in the project to the integration
 * branch.
 */
#pragma once

#include "code/merge.h"
#include "code/repo.h"
#include "code/stranger.h"

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

/* Returns true if a sync of this agent was killed after it took the locks. The caller holds the
 * lock of code.git, or nobody has it. */
bool sync_is_left(const struct stranger *stranger);
/* Does for a killed sync what the next sync_agent() would do first: finishes it, or only removes
 * its locks. The caller holds the lock of code.git. */
int sync_finish(const struct repo *repo, const char *agent, struct err *err);

/* Merges the project's branch into the integration branch. *ret must be MERGE_RESULT_INIT. */
int sync_project(const struct repo *repo, const struct team_project *project,
                 struct merge_result *ret, struct err *err);
