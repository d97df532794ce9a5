/*
 * The view of a session's project: code/view/, a work tree of the integration branch for agents
 * that only read. It has no branch of its own, and belongs to mas.
 */
#pragma once

#include "code/repo.h"

/* Makes the view in code/, open at `code`, of the workspace open at `dir`. It is linked to code.git
 * as `git worktree add` does it, but by relative paths, so that the session can be moved. */
int view_make(const struct repo *repo, int dir, int code, const char *commit, struct err *err);
/* Moves the view, if the team has one, to a commit of the integration branch. Fails, and leaves the
 * view as it was, if a file that was changed there is in the way. After a kill the view may be
 * behind; the next call moves it. */
int view_move(const struct repo *repo, const char *commit, struct err *err);
/* Reads the commit that the view shows: one of the integration branch, or one that an agent has
 * checked out there. */
int view_head(const struct repo *repo, char ret[GIT_OID_TEXT], struct err *err);
