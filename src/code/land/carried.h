/*
 * Projects of another machine. `mas --host NAME new --project .` (fleet/carry.h) has them in
 *
 *     <root>/projects/NAME.git    a bare repository: what was pushed last
 *
 * NAME is the project's, and a hash of the machine and the path there. A session works on it as on
 * any bare project. It gets a branch as refs/heads/BRANCH; HEAD is refs/here/HEAD, because other
 * branches may be pushed next; commits of submodules are refs/here/submodules/COMMIT. Its
 * configuration says where home is. Only a landing at home moves the branch, by another push, so
 * that what has landed here is told as ever (code/land/landed.h).
 *
 * carried_make() makes it as .new-NAME, under the lock projects/.lock, and renames it; a kill
 * leaves that, which the next one removes.
 *
 * What is big comes first, as one pack, NAME.git/incoming-SUM, which is appended to as often as the
 * connection is lost; SUM is the sum at its end. Once it is whole, git takes it, and HEAD is what
 * it brings.
 *
 * The files that git ignores and that a session is to have (code/land/parcel.h) come before it is
 * made, as projects/.files-ID, which `mas new` removes. The process that has brought them waits,
 * with that file locked, and removes it if the other end of its connection is gone first; what a
 * kill of that leaves, the next carried_make() removes.
 */
#pragma once

#include "base/id.h"
#include "store/root.h"

#define CARRIED_DIR "projects" /* in the root */
#define CARRIED_SUFFIX ".git"
#define CARRIED_REFS "refs/here/"
#define CARRIED_HEAD CARRIED_REFS "HEAD"
#define CARRIED_SUBMODULES CARRIED_REFS "submodules/" /* and the commit */

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

/* Prints the refs of a repository, "COMMIT REF" and a newline for each, those made last first, at
 * most CARRIED_REFS_MAX. The caller frees *ret. */
enum { CARRIED_REFS_MAX = 400 };
int carried_refs(const char *path, char **ret, struct err *err);

/* Tells in *ret how many bytes of a pack are there. Others that have not come whole are removed. */
int carried_pack_begun(const char *path, const char *sum, off_t *ret, struct err *err);
/* Takes bytes of a pack from a pipe until its end. *ret tells whether there are `len` then; then
 * standard input is that pack. */
int carried_pack_take(const char *path, const char *sum, off_t from, off_t len, bool *ret,
                      struct err *err);
/* Makes the commit that a pack has brought the HEAD of the repository, and removes the pack's file.
 */
int carried_pack_end(const char *path, const char *sum, const char *commit, struct err *err);

/* Takes a parcel of `len` bytes with this SHA-256 from a pipe, for a session that is to come. Until
 * the caller closes *ret_lock nobody else removes it. */
int carried_hold(const struct root *root, const char *id, size_t len, const char *sum, int from,
                 int *ret_lock, struct err *err);
/* Reads the parcel of a session; the caller frees *ret. Fails with MAS_CONFLICT if there is none.
 */
int carried_read(const struct root *root, const char *id, char **ret, size_t *ret_len,
                 struct err *err);
/* Removes the parcel of a session, if it has one. */
void carried_drop(const struct root *root, const char *id);

/* Returns the path of a repository. The caller frees it. */
char *carried_path(const struct root *root, const char *name);
/* Returns NAME of the project at a path; NULL: it belongs to this machine. The caller frees it. */
char *carried_name(const struct root *root, const char *path);
/* Returns true for the path of any such repository. */
bool carried_is(const char *path);
/* Returns where a project that is not of this machine is at home. The caller frees it. */
char *carried_place(const char *path);
