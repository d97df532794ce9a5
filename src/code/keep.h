/*
 * Finds work that would be lost with a session: what is neither in the project nor as mas made it.
 *
 * Work counts as landed if its commits are in a branch of the project, if each has the same changes
 * as a commit there (cherry-pick, rebase), or if merging it would change nothing there (squash).
 * Files are compared by content.
 */
#ifndef MAS_CODE_KEEP_H
#define MAS_CODE_KEEP_H

#include "base/err.h"
#include "code/repo.h"

#include <stddef.h>

/* Appends a sentence for each kind of work of each agent that would be lost, to a list that the
 * caller releases with strv_free(): "21: 2 files are not committed: a, b". *ret stays NULL if there
 * is none. The caller holds the lock of code.git. A repository that cannot be read counts as work.
 */
int keep_find(const struct repo *repo, const struct team *team, char ***ret, struct err *err);

/* Copies the work of each agent, also what is not committed, and the integration branch into the
 * project, as refs/mas/lost/ID/AGENT and refs/mas/lost/ID/main. The caller holds the lock. */
int keep_save(const struct repo *repo, const struct team *team, const char *id, struct err *err);

#endif
