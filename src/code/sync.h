/*
 * Brings the integration branch to agents, and what is new in the project to the integration
 * branch.
 *
 * Steps of sync_agent(), under the lock of code.git:
 *
 * 1. Check that the agent's branch is behind and that nothing in its work tree differs from its
 *    commit (find_obstacle(), with an index of mas). This writes nothing there.
 * 2. Create index.lock and the lock of the branch in the agent's repository, as git does, and look
 *    again whether its git has been at work meanwhile (check_still()).
 * 3. Move the files with `git read-tree -m -u`, which stops before it overwrites a file that has
 *    changed since.
 * 4. Replace the branch, then the index, each by a rename. Remove both locks.
 *
 * Killed in 3, the agent finds files of the new commit that look changed; killed between the two
 * parts of 4, its index lags and looks like staged changes. Nothing is lost, because nothing there
 * was its own. Both leave git's locks, by which the next sync, or `doctor --fix`, knows that it has
 * to finish this first (sync_finish()).
 *
 * sync_project() first copies the project's commits into code.git as step 2 of code/merge.h does,
 * then merges like its steps 4 to 6.
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
