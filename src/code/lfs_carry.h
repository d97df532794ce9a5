/*
 * Where the objects of git-lfs go with the commits of a session: from the project and from agents
 * into code.git, and from there into the project.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"
#include "code/stranger.h"
#include "git/lfs.h"

/* Brings the objects of a commit's files from the project into code.git, which has the commit.
 * Fails with MAS_USAGE if the project lacks one or has a damaged one. */
int lfs_from_project(const struct repo *repo, const struct project *project, const char *commit,
                     struct err *err);

/* Brings the objects of a commit, which work_fetch() has fetched from an agent, and of what leads
 * to it from the integration branch, into code.git. Fails with MAS_CONFLICT if one is nowhere, and
 * with MAS_DAMAGED if what the agent has is not what its name says. The caller holds the lock. */
int lfs_from_agent(const struct stranger *stranger, const char *commit, struct err *err);

/* Brings the objects of commits, a line for each in `oids`, that no ref of the project leads to
 * into the project. `git` reads both. `from` has the objects. What is missing stays a pointer
 * there, as it was; MAS_DAMAGED if an object is damaged. */
int lfs_to_project(const struct git *git, const char *oids, const struct lfs_sources *from,
                   const struct project *project, struct err *err);
