/*
 * The prompt of a round of cli/errand/pr_watch.h.
 */
#pragma once

#include "code/land/pr.h"
#include "code/repo.h"

/* Returns the agent that gets what is about no file: the manager, else the first one, of those that
 * have a repository and tell when their turns end. NULL: there is none. */
const struct agent *pr_prompt_agent(const struct config *config, const struct team *team);
/* Returns the one whose commit, of those in `head`, was the last on a file that the text names,
 * else that one. */
const struct agent *pr_prompt_find_agent(const struct config *config, const struct team *team,
                                         const struct repo *repo, const char *head,
                                         const char *text);

/* Appends what is to be done and was not given before: checks that failed, with the end of their
 * logs, and what those who may write have remarked; as much as there is room for. All of it is
 * data, each line behind "| ". Adds it to *given, and who was asked about to *known, 17 characters
 * for each; the caller frees them. Returns true if a log was not there yet: once more, and the
 * check is given without it. */
bool pr_prompt_collect(const struct pr_forge *forge, const struct pr *pr, char **given,
                       char **known, struct str *to);
