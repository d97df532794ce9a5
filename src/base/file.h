/*
 * Files that survive: read whole with a limit, replaced whole, locked.
 *
 * file_replace() writes "<name>.new", syncs it, renames it over <name> and syncs the directory, so
 * a reader sees the old bytes or the new ones. Callers hold a lock that keeps them the only writer;
 * what a killed one left behind is overwritten by the next.
 */
#ifndef MAS_BASE_FILE_H
#define MAS_BASE_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads the regular file `name` in `dir`, at most `max` bytes, not following a link. The bytes are
 * NUL-terminated and the caller's. -1 with errno kept as it was (ENOENT where it is missing). */
int file_read(int dir, const char *name, size_t max, char **ret, size_t *ret_len, struct err *err);

/* Reads a descriptor (a pipe, a file that was opened by path) to its end, at most `max` bytes;
 * `name` is for messages. NUL-terminated and the caller's. */
int file_read_stream(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
                     struct err *err);

/* true for an errno of file_read() that says that what is there is wrong (missing, a link, no
 * regular file, too large); any other may pass. */
bool file_is_wrong(int error);

/* true if what is open (a file or a directory) is what has the name in `dir`; false where that
 * cannot be told. *ret, unless it is NULL, is what fstat() says of it. */
struct stat;
bool file_is_named(int dir, const char *name, int fd, struct stat *ret);

/* All bytes, or -1 with errno. */
int file_write_all(int fd, const void *bytes, size_t len);
/* How many bytes could be written; errno says why it is less than len. */
size_t file_write_most(int fd, const void *bytes, size_t len);

/*
 * Opens a file of mas's own that is written in place: a lock, a log. It must be a regular file with
 * this name alone, for who may write to the directory could have linked it to any other.
 * O_NOFOLLOW, O_NONBLOCK and O_CLOEXEC are added, and it is made with 0600. -1 with errno: ELOOP
 * for a symbolic link, EMLINK for a hard one, EINVAL for what is no file.
 */
int file_open_own(int dir, const char *name, int flags, struct err *err);
/* true for an errno of it that says that what is there can be no file of mas's own. */
bool file_is_no_own(int error);

/* Makes a new file with exactly this mode whatever the umask; EEXIST fails. Not synced. */
int file_create(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                struct err *err);

int file_replace(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                 struct err *err);

/* Makes the entries of a directory durable. Its error says: written, not known to be durable. */
int file_sync_dir(int dir, struct err *err);

/*
 * Locks (flock on a file that is never renamed or removed while in use; the kernel drops the lock
 * with the process). ret_fd is the caller's to close, which unlocks. The lock file's text names the
 * holder for those who have to wait. Any thread may wait.
 */
enum { LOCK_TRY = 0 }; /* or milliseconds to wait */

/* -1 with code MAS_DAMAGED where what is there can be no lock (see file_open_own()), and with
 * MAS_CONFLICT (MAS_TIMEOUT after a wait) when it is taken. The text is the reason alone, in the
 * latter case the holder: "pid 4711 (start) has it"; the caller adds what could not be locked.
 * `who` says what the holder does, e.g. "start". */
int file_lock(int dir, const char *name, int wait_ms, const char *who, int *ret_fd,
              struct err *err);

/* true if somebody holds the lock on this file now, or if that cannot be told; false where it is
 * free or missing. */
bool file_is_locked(int dir, const char *name);

#endif
