/*
 * The work tree of a person: that of the project. How files stand in it, for example with CRLF at
 * the end of lines, is what the person's own settings say. No filter of the person runs.
 *
 *     _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
 *     if (checkout_open(tree, &checkout, err) == -1 ||
 *         git_must(&checkout.git, GIT_ARGS("read-tree", ...), NULL, NULL, err) == -1)
 */
#pragma once

#include "git/git.h"

struct checkout {
    int cwd;
    char *dir, *common; /* its repository; that of the project, or one that is linked to it */
    char **settings; /* how files stand there, and that no filter of the project runs */
    char **off; /* those of them that turn filters off */
    struct git git;
};
#define CHECKOUT_INIT                                                                              \
    {                                                                                              \
        .cwd = -1                                                                                  \
    }

int checkout_open(const char *tree, struct checkout *ret, struct err *err);
void checkout_free(struct checkout *checkout);
#define _cleanup_checkout_ __attribute__((cleanup(checkout_free)))

/* Appends what the settings of the person, of the machine and of a repository say of how files
 * stand in the work tree open at `cwd` and of which of them git ignores, as "KEY=VALUE". Sets
 * *ret_hooks, which may be NULL, to the directory of hooks that they name, which the caller frees:
 * a path, from the top of the work tree if it is relative; NULL: none. */
int checkout_settings(int cwd, char ***ret, char **ret_hooks, struct err *err);
