/*
 * What becomes of a pull request that is watched (`mas land --pr --watch`), an errand of
 * session/errand/errand.h. A step:
 *
 * 1. While the prompt of a round waits or is at work, wait for its end. Then merge the agent as
 *    `mas merge` does, ask the forge (2), look at what that has brought, and push it, only forward:
 *    what others have committed, and what changes what CI or git run by themselves, is left to a
 *    person.
 * 2. Ask the forge; the longer nothing has changed, or it has not answered, the more seldom. What
 *    is not open any more, or has a commit that mas did not push, ends it.
 * 3. If a check failed, or somebody who may write remarked something, that was not given before,
 *    note that it is given and to whom, in the entry, and give it (errand_give()): as data, each
 *    line behind "| ". (cli/errand/pr_prompt.h).
 *
 * Killed in 1, all of it is done again: a merge and a push that are done already change nothing.
 * Killed in 3, the same text is given under the same tag, and counts once.
 */
#pragma once

#include "cmd.h"
#include "code/land/pr.h"
#include "code/repo.h"
#include "session/errand/errand.h"

int pr_watch_step(struct errand *errand, int *ret_wait_ms, struct err *err);

/* For `mas land`, before the push: takes the options. Fails if the session has a watch, or none
 * could do anything. */
int pr_watch_plan(const struct call *call, const char *id, const struct team *team,
                  struct every_entry *ret, struct err *err);
/* Begins to watch what was opened for the branch `onto` from that which the forge calls `head`. */
int pr_watch_begin(const struct call *call, const char *id, const struct repo *repo,
                   const struct pr_forge *forge, const char *head, const char *onto,
                   struct every_entry *entry, struct err *err);
/* Waits until the pull request is green or merged. */
int pr_watch_wait(const struct call *call, const char *id, int64_t number, struct err *err);
