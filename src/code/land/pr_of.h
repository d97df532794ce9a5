/*
 * What the programs of forges print, made into the answer of [forge] command (code/land/pr.h). All
 * of it was written by others. Each fails with MAS_DAMAGED for what is no JSON. Members that are
 * missing stay missing.
 */
#pragma once

enum { PR_ANSWER_MAX = 8 << 20 };

/* Makes it of what `gh pr view --json` and `gh api .../comments` have printed. */
int pr_of_gh(const struct str *view, const struct str *lines, struct str *ret, struct err *err);
/* Makes it of what `glab api graphql` has printed. */
int pr_of_glab(const struct str *view, struct str *ret, struct err *err);
/* Finds the number of the first merge request from a branch of this project ("o/r"), as that of
 * another one, a fork of anybody, may have the same name. The caller frees *ret. */
int pr_of_glab_number(const struct str *found, const char *project, char **ret, struct err *err);
