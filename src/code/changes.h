/*
 * Takes along what is changed and not committed in a project.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"

/* Makes a commit in code.git of the tracked files of the project as they are in its work tree and
 * index, and sets refs/mas/changes to it. Only reads the project. *ret is the commit, or the
 * project's own if nothing is changed; the caller frees it. Fails with MAS_USAGE if the project
 * does not begin with the commit that is checked out there, or has files in conflict. */
int changes_commit(const struct repo *repo, const struct project *project, char **ret,
                   struct err *err);
