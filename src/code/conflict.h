/*
 * Who is on the other side of a conflict.
 */
#pragma once

#include "code/repo.h"

/* Lists the newest commits that `other` has, `mine` lacks, and that changed the files in conflict:
 * "1a2b3c4d5e6f (agent 21) Subject", shown as git_show_names() shows names. `git` is on code.git.
 * Returns NULL if that cannot be told; the caller releases it with strv_free(). */
char **conflict_others(const struct repo *repo, const struct git *git, const char *mine,
                       const char *other, char *const *files);

/* Appends "; there it was changed by: A; B", or nothing. */
void conflict_show_others(char *const *others, struct str *to);
