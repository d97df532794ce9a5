/*
 * Files that mas puts into an agent's work tree and that git ignores there. They are no work unless
 * they are changed.
 *
 * code.git/placed/AGENT holds a line "<hash> <path>" for each; the hash of a symbolic link begins
 * with "link:".
 */
#pragma once

#include "code/land/parcel.h"
#include "code/project.h"
#include "code/repo.h"

#define PLACED_DIR "placed" /* in code.git */
#define PLACED_LIST ".worktreeinclude" /* in the project: patterns as in .gitignore */

/* Copies the files of the project's work tree that .worktreeinclude names, and that git ignores for
 * the person or in the new work trees, into those of the agents that write, and records them. With
 * a parcel, which may be NULL, all files of that instead. Lines that name no such file become
 * *notes, unless it is NULL. Fails with MAS_USAGE if a pattern or a file leads out of the project,
 * or beyond the limits. */
int placed_make(const struct repo *repo, const struct project *project, const struct parcel *parcel,
                const struct team *team, char ***notes, struct err *err);

/* Appends the parcel of those that git ignores for the person: nothing if there are none. */
int placed_pack(const struct project *project, struct str *ret, char ***notes, struct err *err);

/* Appends the files of an agent's work tree that git ignores there, each ended with NUL. */
int placed_list(const struct repo *repo, const char *agent, struct str *ret, struct err *err);

/* Records files of an agent's work tree as put there by mas, instead of those recorded before. */
int placed_record(const struct repo *repo, const char *agent, const struct str *names,
                  struct err *err);

/* Removes from a list of files, each ended with NUL, those that are as mas put them there. */
int placed_drop(const struct repo *repo, const char *agent, struct str *names, struct err *err);
