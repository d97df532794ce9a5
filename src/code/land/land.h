/*
 * Brings the integration branch into the project, and knows what was brought there.
 *
 * Steps, under the lock of code.git:
 *
 * 1. Finish a landing that was killed (land_finish()).
 * 2. Make the commit in code.git, where git also reads the project's objects. The project is only
 *    read.
 * 3. Copy what the project lacks as in step 2 of code/merge.h, in one pack, and the objects of
 *    git-lfs (lfs_to_project()).
 * 4. If the branch is checked out, check that nothing that landing would replace was changed there
 *    (land_tree.c), also nothing that git does not see (unseen_find()), and that no file needs a
 *    filter (drivers_find()). Write the journal code.git/landing: branch, old and new commit, work
 *    tree.
 * 5. Move the branch with `git update-ref`, which compares the old value.
 * 6. Move the work tree with `git read-tree -u -m`, remove the journal, set refs/mas/landed.
 *
 * Killed before 5, the project has at most a pack that no ref needs, which its `git gc` removes,
 * objects of git-lfs, which its `git lfs prune` removes, and the journal names a commit that the
 * branch does not have: the next landing drops it. Killed in 6, the branch has landed and the work
 * tree lags. The next landing compares each file that landing changes with both commits by content,
 * with an index of its own: a file that is neither as before nor as after stops it, and nothing is
 * changed. Otherwise it writes those that lag. A git that was killed leaves locks in the project,
 * which land_finish() removes first, if nobody has them open.
 *
 * A check runs between 2 and 3, in code.git, which gets what it lacks of the commit. A dry run ends
 * before 3: it needs no lock, git writes its new objects and indexes to a directory in /tmp
 * (code/land/dry.h), and the checks of 4 read them there. (Where a merge makes a tree that is there
 * already, git sets the time of the pack that has it.)
 */
#pragma once

#include "code/check.h"
#include "code/land/pr.h"
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
    const struct check *check; /* has to succeed on the commit that lands; NULL: none */
    bool dry_run; /* change nothing, not even in the session */
};

struct land_result {
    char *onto; /* full name of the branch */
    char oid[GIT_OID_TEXT]; /* its commit now */
    size_t commits; /* how many the integration branch had that it lacked */
    bool lags; /* the work tree followed, but not the files of its submodules */
    char **files; /* not NULL: those in conflict; nothing was changed */
    char **others; /* then: what conflict_others() says of the project's branch */
    char at[GIT_OID_TEXT]; /* of LAND_REBASE: the commit that conflicts */
    struct check_result check; /* why != NULL: it did not succeed; nothing was changed */
    bool forward; /* the branch goes forward to the commit of the team */
};
#define LAND_RESULT_INIT                                                                           \
    {                                                                                              \
        .onto = NULL                                                                               \
    }
void land_result_free(struct land_result *result);
#define _cleanup_land_ __attribute__((cleanup(land_result_free)))

/* Lands. The caller holds the lock of code.git, but for a dry run. *ret must be LAND_RESULT_INIT.
 * Fails with MAS_CONFLICT if landing would overwrite changes in the work tree of the branch, or if
 * the branch moved meanwhile. */
int land(const struct repo *repo, const struct team_project *project,
         const struct land_options *options, struct land_result *ret, struct err *err);

/* Pushes a branch that has landed ("refs/heads/...") as `git push` does: with the person's own
 * configuration, credentials and hooks, and never by force. Prints what git prints. */
int land_push(const struct team_project *project, const char *onto, struct err *err);

/* Returns the branch for which a pull request is: `onto`, or if that is NULL, the one at which the
 * session began. NULL: it began at none. */
const char *land_base(const struct team_project *project, const char *onto);
/* Returns the fetch URL of the remote that land_request() pushes to for such a branch, "" if there
 * is none. The caller frees it. */
char *land_url(const struct team_project *project, const char *onto);

/* What became of a pull request. */
struct land_asking {
    char *push; /* the command that pushes the branch; NULL: all is done */
    char *head; /* what the forge calls the branch; NULL: it was not asked */
    char *page; /* that of the pull request, or on which the forge opens one; NULL: not known */
};
void land_asking_free(struct land_asking *asking);
#define _cleanup_asking_ __attribute__((cleanup(land_asking_free)))

/* Pushes the integration branch to the project's remote as mas/LABEL and opens a pull request,
 * unless there is an open one. No branch of the project moves. Without a program for that, the
 * project only gets the objects, and *ret says what to do. `forge` NULL: only push, where
 * nobody sees it, within half an hour. The caller holds the lock. */
int land_request(const struct repo *repo, const struct team_project *project,
                 const struct land_options *options, const struct pr_forge *forge,
                 struct land_asking *ret, struct err *err);

/* Returns true if a landing was killed. */
bool land_was_killed(const struct repo *repo);
/* Finishes a landing that was killed. *ret tells whether there was one. The caller holds the lock.
 * Fails with MAS_CONFLICT, and leaves all as it is, if files that it would replace were changed. */
int land_finish(const struct repo *repo, bool *ret, struct err *err);
