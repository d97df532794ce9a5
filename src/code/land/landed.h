/*
 * Tells whether commits of a session are in its project.
 *
 * A commit is there if a branch of the project has it, or if one of the branches that were looked
 * at has what it changes: if merging it would change nothing there, now or at an earlier commit of
 * the branch (squash), or if the branch has commits with the same changes: one for each
 * (cherry-pick, rebase) or one for all. Those branches are the one to land on and the
 * remote-tracking ones, where a team's work comes back from after somebody else has merged it.
 */
#pragma once

#include "code/repo.h"
#include "code/stranger.h"

struct landed {
    const struct repo *repo;
    char *objects; /* of the project; NULL: it cannot be read */
    char **lenders; /* directories of more objects: that it borrows from, and of submodules */
    char *top; /* work tree of the project; NULL: none */
    char **tips; /* commits of the branches that are looked at; NULL: none */
    struct str known; /* "^ID" lines: commits that need no look */
    struct err untold; /* why the project cannot be read; MAS_OK: it can */
};
#define LANDED_INIT                                                                                \
    {                                                                                              \
        .repo = NULL                                                                               \
    }

/* Reads the project's branches. A project that cannot be read has only what the session began with.
 * The caller releases *ret with landed_free(). */
void landed_open(const struct repo *repo, const struct team_project *project, struct landed *ret);
void landed_free(struct landed *landed);
#define _cleanup_landed_ __attribute__((cleanup(landed_free)))

/* Copies what was read, for a thread of its own. The caller releases *ret with landed_free(). */
void landed_copy(const struct landed *landed, struct landed *ret);

/* From here on, a commit is also there if the project's checkout of this submodule has it. Returns
 * the repository of that, NULL if it is not checked out. The caller frees it. */
char *landed_lend(struct landed *landed, const char *path);

/* From here on, what `oid` has needs no look. */
void landed_know(struct landed *landed, const char *oid);
/* Returns true for one of the commits that need no look. */
bool landed_knows(const struct landed *landed, const char *oid);

/* Returns git on code.git that also sees the objects of the project and, if it is not NULL, of an
 * agent's repository. */
struct git landed_git(const struct landed *landed, const struct stranger *stranger);

/* Counts the commits of `oids` (a line each) that neither a branch of the project nor what is known
 * has. */
int landed_count(const struct landed *landed, const struct git *git, const char *oids, size_t *ret,
                 struct err *err);

/* Counts the commits of `oid` that are not in the project in any way: 0 or all that landed_count()
 * counts. */
int landed_missing(const struct landed *landed, const struct git *git, const char *oid, size_t *ret,
                   struct err *err);
