/*
 * Paths: joining, opening below a directory, finding programs.
 */
#ifndef MAS_BASE_PATH_H
#define MAS_BASE_PATH_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens `rel` below the directory open at `dir`, never leaving it and never following a symbolic
 * link, by openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS) or, on kernels before 5.6 and where a
 * sandbox forbids it, part by part. O_CLOEXEC is added. Returns a descriptor, or -1 with errno
 * (ELOOP for a link, EXDEV for a path that leads out).
 */
int path_open_beneath(int dir, const char *rel, int flags);

/* Opens a directory by name in `dir` (AT_FDCWD for a path), not following a link in the last part.
 */
int path_open_dir(int dir, const char *name);

/* mkdir with exactly this mode, whatever the umask; returns it open, or -1 with errno. */
int path_make_dir(int dir, const char *name, mode_t mode);

/* The names in the directory open at `dir`, without . and .., in no order. An error in the middle
 * is an error: a name that was not read would look like one that is not there. *ret is released
 * with strv_free(). */
int path_list(int dir, char ***ret, struct err *err);
/* Those in a directory by its name in `dir`; a link is not followed. On failure errno is kept. */
int path_list_in(int dir, const char *name, char ***ret, struct err *err);

/* mkdir -p: makes what is missing with 0755, less what the umask takes. */
int path_make_dirs(const char *path, struct err *err);

/* Absolute path without links, or NULL with errno. The caller frees. */
char *path_canonical(const char *path);

/* A directory of the user's: what the variable names, where that is absolute, else `below` the home
 * directory; NULL where neither is known. The caller frees. */
char *path_user_dir(const char *variable, const char *below);

/*
 * Whether nobody but this user and root can put something else where an absolute path leads: each
 * directory and link on the way belongs to one of them, and others may write to no directory but a
 * sticky one, such as /tmp, nor to that in which the path ends. What is missing is no error. The
 * text of the error says only what is wrong with which directory.
 */
int path_check_owned(const char *path, struct err *err);

/* Directory of the running program, or NULL. The caller frees. */
char *path_exe_dir(void);
/* The running program itself. The caller frees. */
char *path_exe(void);

/* The path that execvp() would take for `name` with this PATH, or NULL. `dir` is where a name with
 * a slash, and relative parts of PATH, start from. The caller frees. */
char *path_find_program(const char *name, const char *search, int dir);

/* Words for the type in st_mode: "a directory", "a symbolic link", ... */
const char *path_type_name(mode_t mode);

#endif
