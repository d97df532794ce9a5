/*
 * Finds work that would be lost with a session: what is neither in the project nor as mas made it.
 * code/land/landed.h tells which commits are in the project. Files are compared by content.
 */
#pragma once

#include "code/repo.h"

/* Gets how many of the repositories have been looked at. */
typedef void keep_progress(size_t done, size_t count, void *arg);

/* Appends a sentence for each kind of work of each agent that would be lost, to a list that the
 * caller releases with strv_free(): "21: 2 files not committed: a, b". *ret stays NULL if there is
 * none. The caller holds the lock of code.git. A repository that cannot be read counts as work.
 * Fails only if git cannot be run. `progress` may be NULL. */
int keep_find(const struct repo *repo, const struct team *team, keep_progress *progress, void *arg,
              char ***ret, struct err *err);

/* Likewise for one agent alone: what the integration branch has is no such work, nor, while the
 * agent `runs`, is a process that works there. */
int keep_find_agent(const struct repo *repo, const struct team *team, const char *agent, bool runs,
                    char ***ret, struct err *err);

/* Copies all commits that the project lacks into it, also of files that are not committed. The refs
 * below refs/mas/lost/ID/ are main (the integration branch) and, for each agent, AGENT/work (its
 * files on top of what is checked out), AGENT/staged, AGENT/stash/N and its own refs, such as
 * AGENT/heads/BRANCH; likewise AGENT/worktrees/NAME/ for linked work trees, and view/. Files that
 * .gitignore names are not copied. The caller holds the lock. If one agent's work cannot be copied,
 * that of the others is; *err is the first reason. `one`: only that agent's, beside what
 * the team has; NULL: all.
 */
int keep_save(const struct repo *repo, const struct team *team, const char *one, const char *id,
              struct err *err);
