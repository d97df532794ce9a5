/*
 * How a work tree is made; for repo_make.c and repo_join.c only.
 */
#pragma once

#include "code/repo_make.h"

/* Makes the first work tree, which the others are copies of. Its HEAD is the commit itself until
 * repo_finish_tree(). `code` is the directory of the work trees. */
int repo_make_first(const struct repo *repo, int code, const char *name,
                    const struct project *project, struct err *err);
/* Gives a work tree its branch, and its index the inodes of the copied files. */
int repo_finish_tree(const struct repo *repo, int code, const char *name,
                     const struct project *project, struct err *err);
