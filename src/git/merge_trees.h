/*
 * Merges without a work tree.
 */
#pragma once

#include "git/git.h"

/* Merges two commits of a repository into a tree. *ret_tree is "" if they conflict; then
 * *ret_files, if it is not NULL, lists the files. The caller releases it with strv_free(). */
int merge_trees(const struct git *git, const char *ours, const char *theirs,
                char ret_tree[GIT_OID_TEXT], char ***ret_files, struct err *err);
