/*
 * Changes of a work tree that git does not see: within a second, with size and modification time
 * kept.
 */
#pragma once

#include "git/git.h"

/* Lists the files of the work tree of `git` that differ from the commit `old` and that a move to
 * the commit `new` would replace. Reads each of those, with an index of its own, the file `index`.
 * A file that is missing does not count. The caller releases *ret with strv_free(). */
int unseen_find(const struct git *git, const char *index, const char *old, const char *new,
                char ***ret, struct err *err);
