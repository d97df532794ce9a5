/*
 * Where unit/ and workflows/ of a session are.
 *
 * An isolated session has them in its workspace. A legacy session works in those of the root, which
 * belong to the root: they may be older than the session, they outlive it, and only one session at
 * a time can use them. store/placement_stage.h creates them, session/legacy.h finds that session
 * and session/migrate.h turns it into an isolated one. No other module compares modes.
 */
#pragma once

#include "store/root.h"

enum mode { MODE_ISOLATED, MODE_LEGACY, MODE_COUNT };

/* Returns true if the directories are the root's. */
bool placement_is_shared(enum mode mode);

/* Returns the descriptor of the directory that holds unit/ and workflows/: that of the workspace
 * `dir` or that of the root. The caller does not close it. */
int placement_dir(const struct root *root, int dir, enum mode mode);
/* Returns the path of unit/ or workflows/ of a session, or of something below them ("unit/00"). The
 * caller frees it. */
char *placement_path(const struct root *root, const char *id, enum mode mode, const char *part);
/* Opens one of them; `dir` is the workspace. Returns a descriptor of PATH_PLACE, or -1 with errno.
 */
int placement_open(const struct root *root, int dir, enum mode mode, const char *part);

/* Returns the mode that the files of the workspace `dir` show, for a session whose metadata is
 * unreadable: a legacy session has a team but no directories for it. */
enum mode placement_detect(int dir);
