/*
 * A copy of an agent's files to look at: no repository, without what is held back (code/held.h), so
 * that nothing in it has a program run only because it lies there.
 *
 * It is run/<agent>.look in the workspace. While somebody looks, it is locked; look_close() removes
 * it. What a killed command has left, the next look at the agent removes, and `mas remove`, `mas
 * rm` and `mas doctor --fix`.
 */
#pragma once

#include "code/repo.h"

#define LOOK_ENDING ".look"

struct file_look {
    int run, dir; /* its directory, locked */
    char *name, *path;
    char **held; /* what was held back */
};
#define LOOK_INIT                                                                                  \
    {                                                                                              \
        .run = -1, .dir = -1                                                                       \
    }

/* Makes it in the workspace open at `workspace`. The caller holds the lock of code.git, and calls
 * look_close() in any case. Fails with MAS_CONFLICT while somebody else looks. */
int look_open(const struct repo *repo, int workspace, const char *agent, struct file_look *ret,
              struct err *err);
void look_close(struct file_look *look);
#define _cleanup_look_ __attribute__((cleanup(look_close)))
