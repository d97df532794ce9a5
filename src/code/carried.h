/*
 * Projects of another machine. `mas --host NAME new --project .` (fleet/carry.h) has them in
 *
 *     <root>/projects/NAME.git    a bare repository: what was pushed last
 *
 * NAME is the project's, and a hash of the machine and the path there. A session works on it as on
 * any bare project. It gets a branch as refs/heads/BRANCH; HEAD is refs/here/HEAD, because other
 * branches may be pushed next. Its configuration says where home is. Only a landing at home moves
 * the branch, by another push, so that what has landed here is told as ever (code/landed.h).
 *
 * carried_make() makes it as .new-NAME, under the lock projects/.lock, and renames it; a kill
 * leaves that, which the next one removes.
 */
#pragma once

#include "store/root.h"

#define CARRIED_DIR "projects" /* in the root */
#define CARRIED_HEAD "refs/here/HEAD"

enum { CARRIED_NAME_MAX = 96 };

struct carried {
    const char *name;
    const char *format; /* "sha1" or "sha256" */
    const char *user_name, *user_email; /* who commits */
    const char *place; /* where it is at home: "MACHINE:PATH" */
};

/* Returns true for what may be NAME. */
bool carried_is_name(const char *name);

/* Makes the repository if it is missing. Its path is *ret; the caller frees it. */
int carried_make(const struct root *root, const struct carried *carried, char **ret,
                 struct err *err);

/* Removes the branches that cannot be beside one that comes ("a" and "a/b/c" beside "a/b"): at home
 * it is there, so they are gone. */
int carried_make_room(const char *path, const char *branch, struct err *err);

/* Returns the path of a repository. The caller frees it. */
char *carried_path(const struct root *root, const char *name);
/* Returns NAME of the project at a path; NULL: it belongs to this machine. The caller frees it. */
char *carried_name(const struct root *root, const char *path);
/* Returns where a project that is not of this machine is at home. The caller frees it. */
char *carried_place(const char *path);
