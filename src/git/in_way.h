/*
 * What lies in the way of a move of a work tree. git removes what it ignores without a word: a
 * file, or a link to a directory where a directory is to be.
 */
#pragma once

#include "git/git.h"

/* Lists what stands in the work tree of `git` where the commit `new` has files and `old` does not
 * have it. Follows no link. Appends to a list that the caller releases with strv_free(). */
int in_way_find(const struct git *git, const char *old, const char *new, char ***ret,
                struct err *err);
/* Fails with MAS_CONFLICT, and names it, if there is any. */
int in_way_check(const struct git *git, const char *old, const char *new, struct err *err);
