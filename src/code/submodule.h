/*
 * The submodules of a project, which each work tree of a session gets as plain files.
 *
 * Their objects come from the checkouts of the person who named the project, never from the
 * network. An agent cannot commit in them: code.git/submodules/TREE has an index for each, with
 * which mas finds what was changed there.
 */
#ifndef MAS_CODE_SUBMODULE_H
#define MAS_CODE_SUBMODULE_H

#include "base/err.h"
#include "base/str.h"
#include "code/project.h"
#include "code/repo.h"

enum { SUBMODULE_DEPTH_MAX = 8 };

/* Fills the submodules of all work trees of a team. Fails with MAS_USAGE if the person has not
 * checked one out, or without the commit that the project needs. */
int submodule_make(const struct repo *repo, const struct project *project, const struct team *team,
                   struct err *err);

/* Appends the files, each ended with NUL, that were changed in the submodules of the work tree
 * code/NAME. */
int submodule_changed(const struct repo *repo, const char *name, struct str *ret, struct err *err);

#endif
