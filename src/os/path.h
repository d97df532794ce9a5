/*
 * Paths: opening below a directory, listing, resolving, finding programs.
 */
#pragma once

/* Flags of open(2) that need no right to read: for a directory from which other names are opened,
 * and for anything that is only looked at. */
#define PATH_PLACE (O_PATH | O_DIRECTORY)
#define PATH_ENTRY O_PATH

/*
 * Opens `rel` below the directory open at `dir`, never outside it and never through a symbolic
 * link. Uses openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS); on kernels before 5.6, or in a sandbox
 * that forbids that call, opens one component at a time. O_CLOEXEC is added. Returns a descriptor,
 * which the caller closes, or -1 with errno (ELOOP for a link, EXDEV for a path that leads
 * outside).
 */
int path_open_beneath(int dir, const char *rel, int flags);

/* Opens a directory by its name in `dir` (AT_FDCWD for a path). Does not follow a symbolic link in
 * the last component. Returns a descriptor, or -1 with errno. */
int path_open_dir(int dir, const char *name);

/* Creates a directory with exactly this mode, whatever the umask. Returns it open, or -1 with
 * errno. */
int path_make_dir(int dir, const char *name, mode_t mode);

/* Opens a directory below `dir`, a relative path, and creates with this mode what is missing of it,
 * or with PATH_BY_UMASK as mkdir(1) does. Follows no symbolic link and no "..". Returns a
 * descriptor, or -1 with errno. */
int path_make_below(int dir, const char *rel, mode_t mode);
#define PATH_BY_UMASK ((mode_t)0)
/* Likewise the directory in which a relative path ends. *ret_name is its last part. */
int path_make_above(int dir, const char *rel, mode_t mode, const char **ret_name);
/* The same without creating anything. */
int path_open_above(int dir, const char *rel, const char **ret_name);

/* Renames an entry, but never over another one: fails with EEXIST. Returns -1 with errno. Where the
 * file system cannot do that in one step (NFS, 9p, many of FUSE), it links and unlinks a file, so
 * that a kill can leave both names; a directory, and a file that cannot have two names, are renamed
 * after a look, which is as safe if the caller holds the lock under which that name is made. */
int path_rename_new(int from, const char *name, int to, const char *new_name);
/* Exchanges two entries of a directory. Where the file system cannot, `name` takes the place of
 * `other`, which then has the name `spare` for a moment: a kill can leave it there. */
int path_exchange(int dir, const char *name, const char *other, const char *spare);

/* Returns true if something is mounted at this entry; false too if that cannot be determined. */
bool path_is_mount(int dir, const char *name);

/* Lists the names in the directory open at `dir`, without . and .., in no particular order. A read
 * error is an error of the whole call, because a name that was not read would look missing. The
 * caller releases *ret with strv_free(). */
int path_list(int dir, char ***ret, struct err *err);
/* Like path_list(), for a directory given by its name in `dir`; a symbolic link is not followed. */
int path_list_in(int dir, const char *name, char ***ret, struct err *err);

/* Creates the missing directories of a path with mode 0755 less the umask, as mkdir -p does. */
int path_make_dirs(const char *path, struct err *err);

enum { PATH_FD_TEXT = 32 };
/* Writes a path to what is open at `fd` to `buf`, for calls that take no descriptor. It is good in
 * this process, as long as that is open. */
const char *path_fd(int fd, char buf[PATH_FD_TEXT]);
/* Returns where an open directory is, or NULL. The caller frees it. */
char *path_of(int fd);

/* Returns the absolute path without links, or NULL with errno. The caller frees it. */
char *path_canonical(const char *path);

/* Returns a directory of the user: the value of the environment variable if it is an absolute path,
 * otherwise `below` the home directory. NULL if neither is known. The caller frees it. */
char *path_user_dir(const char *variable, const char *below);

/*
 * Checks that only this user and root can change where an absolute path leads. Each directory and
 * link on the way must belong to one of the two. Other users must not be able to write to the
 * directory in which the path ends, nor to any directory on the way unless it is sticky, such as
 * /tmp. Missing components are not an error. The text of the error only says what is wrong with
 * which directory.
 */
int path_check_owned(const char *path, struct err *err);
/* Fails if the directory open at `dir` is not this user's, or others may write to it. */
int path_check_mine(int dir, const char *path, struct err *err);

/* Returns the directory of the running program, or NULL. The caller frees it. */
char *path_exe_dir(void);
/* Returns the path of the running program, or NULL. The caller frees it. */
char *path_exe(void);

/* Returns the path that execvp() would run for `name` with this PATH, or NULL. A name with a slash
 * and relative parts of PATH start from `dir`. With -1 nothing is found there: for what mas itself
 * needs, wherever it is, which is perhaps an agent's directory. The caller frees it. */
char *path_find_program(const char *name, const char *search, int dir);

/* Reads the words of the first line of a script, "#!/usr/bin/env node". Returns NULL if the file is
 * no script. The caller releases them with strv_free(). */
char **path_read_interpreter(int fd);

/* Returns a description of the type in st_mode: "a directory", "a symbolic link" and so on. Static
 * text. */
const char *path_type_name(mode_t mode);
/* Returns true if the target of a link `level` directories below the top of a tree leads out of it:
 * if it is absolute, if it goes up further than that, or if it goes up anywhere but at its
 * beginning, because a preceding link could then lead anywhere. */
bool path_link_leads_out(const char *target, size_t level);
