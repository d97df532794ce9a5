/*
 * The submodules of a project, which each work tree of a session gets as plain files.
 *
 * Their objects come from the checkouts of the person who named the project, never from the
 * network. An agent does not commit in them: code.git/submodules/TREE has an index for each, with
 * which mas finds what was changed there.
 */
#ifndef MAS_CODE_SUBMODULE_H
#define MAS_CODE_SUBMODULE_H

#include "base/err.h"
#include "base/str.h"
#include "code/project.h"
#include "code/repo.h"

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

/* Fails with MAS_CONFLICT if `new` has a submodule, other than `old`, at a commit that the
 * submodule's checkout in the project lacks: whoever gets `new` could not check it out. */
int submodule_check_landing(const struct project *project, const struct git *git, const char *old,
                            const char *new, struct err *err);

/* Counts the files that were changed in the submodules of the work tree code/NAME. Needs no lock of
 * code.git: it works with copies of the indexes there; who else looks waits. */
int submodule_count(const struct repo *repo, const char *name, size_t *ret, struct err *err);
/* Appends the files, each ended with NUL, that were changed in the submodules of the work tree
 * code/NAME. The caller holds the lock of code.git. */
int submodule_changed(const struct repo *repo, const char *name, struct str *ret, struct err *err);

#endif
