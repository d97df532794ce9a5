/*
 * The filters that a repository configures for its files (gitattributes(5)), other than git-lfs.
 * mas runs none of them.
 */
#pragma once

#include "git/git.h"

/* Appends settings for struct git that turn the filters of the repository off, to a list that the
 * caller releases with strv_free(). */
int drivers_turn_off(const struct git *git, char ***ret, struct err *err);

/* Finds a file that is not the same in two commits, is in `new` and needs one of the filters that
 * `settings` turn off. *ret stays NULL if there is none; the caller frees it. `index` is a file
 * that the function makes and removes. */
int drivers_find(const struct git *git, char *const *settings, const char *index, const char *old,
                 const char *new, char **ret, struct err *err);
