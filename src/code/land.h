/*
 * Brings the integration branch into the project, and knows what was brought there.
 *
 * Steps, under the lock of code.git:
 *  1. Merge in code.git, where the project's objects are only read.
 *  2. Copy the objects that the project lacks.
 *  3. If the branch is checked out, check that nothing changed there is in the way. Write the
 *     journal code.git/landing: branch, old and new commit, work tree.
 *  4. Move the branch from the old commit to the new one, in one step.
 *  5. Move the work tree; remove the journal; set refs/mas/landed.
 *
 * Killed before 4, the project has at most some objects that it does not need. Killed after 4, the
 * branch has landed and its work tree lags; land_finish() moves it. A git that was killed in 4
 * leaves locks in the project, which land_finish() removes if nobody has them open.
 */
#pragma once

#include "code/repo.h"

enum land_way {
    LAND_AUTO, /* forward if possible and there is no message, otherwise a merge */
    LAND_MERGE, /* always a merge commit */
    LAND_SQUASH, /* one commit */
    LAND_REBASE, /* each commit of the integration branch again, without its merges */
};

struct land_options {
    enum land_way way;
    const char *onto; /* a branch; NULL: the one that the session began with */
    const char *message; /* of the commit; NULL: one of mas */
};

struct land_result {
    char *onto; /* full name of the branch */
    char oid[GIT_OID_TEXT]; /* its commit now */
    size_t commits; /* how many the integration branch had that it lacked */
    bool checked_out; /* a work tree of the project followed */
    char **files; /* not NULL: those in conflict; nothing was changed */
    char **others; /* then: what conflict_others() says of the project's branch */
    char at[GIT_OID_TEXT]; /* of LAND_REBASE: the commit that conflicts */
};
#define LAND_RESULT_INIT                                                                           \
    {                                                                                              \
        .onto = NULL                                                                               \
    }
void land_result_free(struct land_result *result);
#define _cleanup_land_ __attribute__((cleanup(land_result_free)))

/* Lands. The caller holds the lock of code.git. *ret must be LAND_RESULT_INIT. Fails with
 * MAS_CONFLICT if landing would overwrite changes in the work tree of the branch, or if the branch
 * moved meanwhile. */
int land(const struct repo *repo, const struct team_project *project,
         const struct land_options *options, struct land_result *ret, struct err *err);

/* Pushes a branch that has landed ("refs/heads/...") as `git push` does: with the person's own
 * configuration, credentials and hooks, and never by force. Prints what git prints. */
int land_push(const struct team_project *project, const char *onto, struct err *err);

/* Pushes the integration branch to the project's remote as mas/LABEL and opens a pull request with
 * GitHub's gh. No branch of the project moves. The caller holds the lock. */
int land_request(const struct repo *repo, const struct team_project *project,
                 const struct land_options *options, struct err *err);

/* Finishes a landing that was killed. *ret tells whether there was one. The caller holds the lock.
 * Fails with MAS_CONFLICT, and leaves all as it is, if files that it would replace were changed. */
int land_finish(const struct repo *repo, bool *ret, struct err *err);
