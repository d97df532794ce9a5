/*
 * What a round of cli/errand/pr_watch.h would push, looked at first: only what the agent that was
 * asked has committed leaves the machine unasked, and nothing that is run by itself there.
 */
#pragma once

#include "code/repo.h"

struct pr_guard {
    const struct repo *repo;
    const struct team_project *project;
    const char *agent;
    const char *head, *main; /* the commit that was pushed last, and the one that would be */
};

/* Returns 0 if it may be pushed, 1 if there is nothing to push, 2 if a person has to look:
 * *ret_why, which the caller frees, goes on behind "PR #12 ". */
int pr_guard_look(const struct pr_guard *guard, char **ret_why, struct err *err);
