/*
 * Shared by the files that land; for land*.c only.
 */
#pragma once

#include "code/land/dry.h"
#include "code/land/land.h"
#include "code/project.h"

/* A landing at work. */
struct landing {
    const struct repo *repo;
    struct project project;
    char *objects; /* of the project */
    struct dry dry;
    const char *aside; /* directory for indexes: code.git, or that of a dry run */
    char *written; /* new objects of a dry run; NULL: they go into code.git */
    char *own; /* then: the objects of code.git */
    char *onto; /* full name of the branch */
    char old[GIT_OID_TEXT], new[GIT_OID_TEXT];
    char *tree; /* work tree that has the branch checked out; NULL: none */
};

/* ---- land_tree.c: the work tree of the branch */
/* Fails with MAS_CONFLICT if landing would overwrite something of the person's, as `git merge
 * --ff-only` does. */
int land_check_tree(const struct landing *landing, struct err *err);
/* Moves a work tree from one commit to another, as `git switch` does: a file that was changed is in
 * the way. */
int land_move_tree(const char *tree, const char *old, const char *new, struct err *err);
