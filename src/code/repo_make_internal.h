/*
 * How a work tree is made; for repo_make.c and repo_join.c only.
 */
#pragma once

#include "code/repo_make.h"

/* The files of another work tree. */
struct repo_like {
    int cwd;
    const char *index,
        *tree; /* the path of one, and the oid of the other, that say what they are */
};
/* Makes the first work tree, which the others are copies of. Its HEAD is the commit itself until
 * repo_finish_tree(). `code` is the directory of the work trees. `like`: it gets these files
 * instead of the commit's; or NULL. */
int repo_make_first(const struct repo *repo, int code, const char *name,
                    const struct project *project, const struct repo_like *like, struct err *err);
/* Gives a work tree its branch. */
int repo_finish_tree(const struct repo *repo, int code, const char *name,
                     const struct project *project, struct err *err);
