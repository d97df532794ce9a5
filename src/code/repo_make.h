/*
 * Makes the repositories of a session, in the workspace's stage.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"
#include "model/team.h"
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
