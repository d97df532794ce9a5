/*
 * Makes the repositories of a session, in the workspace's stage.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"
#include "model/team/team.h"
#include "os/tree.h"

/* Makes code.git in the workspace that is open at `dir`. On failure the caller removes the
 * workspace. */
int repo_make(const struct repo *repo, int dir, const struct project *project, tree_tick *tick,
              void *arg, struct err *err);
/* Copies the project's own objects into objects/ of an open directory, by hard links where the file
 * system allows it: git never changes an object in place. `tick` may be NULL. */
int repo_copy_objects(int to, const struct project *project, tree_tick *tick, void *arg,
                      struct err *err);
/* Then makes the integration branch and the work trees of the team, which begin with
 * project->base. Does not sync. */
int repo_make_trees(const struct repo *repo, int dir, const struct project *project,
                    const struct team *team, tree_tick *tick, void *arg, struct err *err);

/* Makes the work tree of an agent that joins the team later, or the view if it is the first to read
 * it. It begins with project->base, a commit of code.git. The caller holds the lock of code.git;
 * after a failure it calls repo_drop_agent(). Does not sync. */
int repo_add_agent(const struct repo *repo, int dir, const struct project *project,
                   const struct agent *agent, struct err *err);
/* Likewise for one whose work tree is to be as that of `parent`, which is only read: with its
 * commit on the new branch, and its files, but for those that git ignores. project->base becomes
 * that commit. */
int repo_fork_agent(const struct repo *repo, int dir, const char *parent, struct project *project,
                    const struct agent *agent, struct err *err);
/* Fills what repo_add_agent() has to know of the project from code.git, so that it may be gone by
 * now: all but `path` and `top`. The caller releases *ret with project_free(). */
int repo_remember_project(const struct repo *repo, struct project *ret, struct err *err);
/* Returns true if work trees of the session have submodules, or ignored files of the project. */
bool repo_has_rest(const struct repo *repo);
/* Removes what code.git keeps for an agent. Its work tree is the caller's. The caller holds the
 * lock. What is not there is no failure. */
int repo_drop_agent(const struct repo *repo, const char *agent, struct err *err);
