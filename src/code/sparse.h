/*
 * Sparse checkouts: the work trees of a session leave out the files that the person's checkout of
 * the project leaves out. The patterns are copied when the session is made.
 *
 * code.git/info/sparse-checkout has them, and git on code.git follows them when it moves a work
 * tree. An index of mas that was filled from a commit without a work tree lacks the marks of the
 * files that are left out, so that these would look deleted: sparse_mark() sets them.
 */
#pragma once

#include "code/project.h"
#include "git/git.h"

enum { SPARSE_PATTERNS_MAX = 1 << 20 }; /* bytes */

/* Returns true if the repository `git_dir` has patterns. */
bool sparse_is_used(const char *git_dir);

/* Gives code.git the patterns of the project's checkout, if that is sparse. Fails with MAS_USAGE if
 * they are too large or no regular file. */
int sparse_inherit(const char *code_git, const struct project *project, struct err *err);
/* Gives them, if there are any, to a repository whose directory is open at `to`, and appends its
 * settings to `config`; NULL: it has those of code.git. */
int sparse_copy(const char *code_git, int to, struct str *config, struct err *err);

/* Marks in the index of `git`, which was filled from `commit`, the files that the patterns of its
 * repository leave out. Does nothing without patterns, and touches no work tree. */
int sparse_mark(const struct git *git, const char *code_git, const char *commit, struct err *err);
