/*
 * The submodules of a project, whose files each work tree of a session gets.
 *
 * Their commits come from the checkouts of the person who named the project, never from the
 * network; code.git has them, below refs/mas/submodules/COMMIT/. In the work tree of an agent each
 * has a repository in .git/modules, as git makes it, which borrows from code.git and belongs to the
 * agent: code/submodule/module.h reads it.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"
#include "code/stranger.h"

enum { SUBMODULE_DEPTH_MAX = 8 };

/* Fills the submodules of all work trees of a team. Those that the person has not checked out are
 * left out, and become *notes, unless it is NULL. Fails with MAS_USAGE if a checkout lacks the
 * commit that the project needs. */
int submodule_make(const struct repo *repo, const struct project *project, const struct team *team,
                   char ***notes, struct err *err);

/* Brings the submodules of the work tree code/NAME, whose files are those of `commit`, to what that
 * commit names: they may have been moved, added, removed, or be at another commit. Fails with
 * MAS_CONFLICT, and changes nothing, if one of these was changed there. Does nothing if the session
 * began without submodules. */
int submodule_follow(const struct repo *repo, const char *name, const char *commit,
                     struct err *err);

/* Brings the commits of submodules that the agent's commit `oid`, and those before it that the
 * integration branch lacks, name and code.git lacks, from the repositories in the agent's work
 * tree, with the checks of all that a stranger hands over. What is not there either is passed over.
 * The caller holds the lock of code.git. */
int submodule_bring(const struct stranger *stranger, const char *oid, struct err *err);

/* Brings the commits of submodules that `new`, and the commits before it that `old` lacks, name
 * from code.git into their checkouts in the project, below refs/mas/landed/: their files stay as
 * they are. Those of submodules that are not checked out there go into the project's own
 * repository. Fails with MAS_CONFLICT, and brings nothing, if a checkout lacks one that `new`
 * names, and so does the session: nobody could check it out. *ret_moved tells whether the files of
 * a checkout are now those of another commit than `new` names. */
int submodule_land(const struct repo *repo, const struct project *project, const struct git *git,
                   const char *old, const char *new, bool *ret_moved, struct err *err);
/* Likewise for what the integration branch names and has not landed, below refs/mas/lost/ID/. */
int submodule_save(const struct repo *repo, const struct project *project, const char *id,
                   struct err *err);

/* Commits of submodules, and the repositories that have them. */
struct submodule_commits {
    char **dirs, **oids;
};
void submodule_commits_free(struct submodule_commits *commits);
#define _cleanup_submodule_commits_ __attribute__((cleanup(submodule_commits_free)))
/* Finds those that a commit of the project names, also those in others, as the person has them
 * checked out: to be taken to another machine. Those that are not checked out become *notes. Fails
 * with MAS_USAGE if a checkout lacks its commit; where `notes` is NULL that is passed over, too. */
int submodule_list(const struct project *project, const char *commit, char ***notes,
                   struct submodule_commits *ret, struct err *err);
