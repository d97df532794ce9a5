/*
 * What git may reach while it works on what an agent owns: its repository or its work tree.
 *
 * git runs outside of the agent's wall, and names files by their paths. An agent can put a link in
 * the place of a directory between two of them, as often as it likes; git, which has looked at the
 * directory before, would then read or write the user's files behind the link. So Landlock holds
 * git to code.git, the agent's work tree, and what any program reads of the system.
 *
 * Where the kernel has no Landlock nothing holds it; a wall that is required is refused there.
 */
#pragma once

#include "os/landlock.h"

enum { CONFINE_PATHS_MAX = 48 };

struct confine {
    struct landlock rules;
    struct landlock_path paths[CONFINE_PATHS_MAX];
    char **names; /* of paths that it owns */
};
#define CONFINE_INIT                                                                               \
    {                                                                                              \
        .names = NULL                                                                              \
    }

/* Makes the rules for the program git, the repository `dir` and the open work tree `tree` (-1:
 * none). *ret points into itself: it is not to be moved. The caller releases it with
 * confine_free(). */
void confine_make(const char *program, const char *dir, int tree, struct confine *ret);
/* Allows this access below a directory that no agent can write to; `path` is borrowed. */
void confine_allow(struct confine *confine, enum landlock_access access, const char *path);
void confine_free(struct confine *confine);
#define _cleanup_confine_ __attribute__((cleanup(confine_free)))
