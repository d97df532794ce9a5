/*
 * A work tree that a killed command was moving from one commit to another.
 */
#pragma once

#include "code/repo.h"

struct leftover {
    const struct repo *repo;
    /* the work tree, and the repository whose index follows; with an index of mas's own, that one
     * is made */
    struct git git;
    char old[GIT_OID_TEXT], new[GIT_OID_TEXT];
};

/* Brings the files that lag to the new commit. Fails with MAS_CONFLICT, and leaves all as it is, if
 * a file that it would replace is neither as in the old commit nor as in the new one, nor missing,
 * nor the beginning of the new one, which git had begun to write; or if one of them was staged
 * since. */
int leftover_finish(const struct leftover *leftover, struct err *err);
