/*
 * Files: reading with a size limit, atomic replacement, locks.
 *
 * file_replace() writes "<name>.new", syncs it, renames it to <name> and syncs the directory, so a
 * reader sees either the old bytes or the new ones. Callers hold a lock that makes them the only
 * writer. A later call overwrites the "<name>.new" of a killed writer.
 */
#pragma once

/* Reads the regular file `name` in `dir`, at most `max` bytes, and does not follow a symbolic link.
 * *ret is NUL-terminated; the caller frees it. On failure err->number is ENOENT if the file is
 * missing, EINVAL if it is not a regular file, EFBIG if it is too large, or another cause. */
int file_read(int dir, const char *name, size_t max, char **ret, size_t *ret_len, struct err *err);
/* Returns true if it has just these bytes; false also if it cannot be read. */
bool file_is(int dir, const char *name, const char *text, size_t len);

/* The same for a file that need not exist. Returns 1, 0 if there is none, or -1. */
int file_read_if_there(int dir, const char *name, size_t max, char **ret, size_t *ret_len,
                       struct err *err);
/* Returns an empty file that no directory has, open to read and write, or -1 with errno. */
int file_in_memory(const char *name);
/* Reads the descriptor `fd` (a pipe, or a file opened by path) to its end, at most `max` bytes.
 * `name` is for messages. *ret is NUL-terminated; the caller frees it. err->number is EFBIG if
 * there is more. */
int file_read_stream(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
                     struct err *err);

/* Returns true if this error of file_read() means that the file itself is wrong: missing, a
 * symbolic link, not a regular file, or too large. Any other error may be temporary. */
bool file_is_wrong(const struct err *err);

/* Returns true if the file or directory open at `fd` is the one named `name` in `dir`; false if it
 * is not or if that cannot be determined. Unless `ret` is NULL, *ret receives the fstat() data. */
struct stat;
bool file_is_named(int dir, const char *name, int fd, struct stat *ret);

/* Writes all bytes. Returns 0, or -1 with errno. */
int file_write_all(int fd, const void *bytes, size_t len);
/* Writes as many bytes as possible and returns their number. If it is less than `len`, errno says
 * why. */
size_t file_write_most(int fd, const void *bytes, size_t len);

/*
 * Opens a file that mas owns and writes in place: a lock or a log. It must be a regular file
 * without other names, because anyone who can write to the directory could have linked it to
 * another file. O_NOFOLLOW, O_NONBLOCK and O_CLOEXEC are added to `flags`, and the mode of a new
 * file is 0600. Returns the descriptor, which the caller closes, or -1; err->number is then ELOOP
 * for a symbolic link, EMLINK for a hard link, EINVAL for anything but a regular file.
 */
int file_open_own(int dir, const char *name, int flags, struct err *err);
/* Returns true if this error of file_open_own() means that the existing file cannot be one of
 * mas. */
bool file_is_no_own(const struct err *err);

/* Returns the bits that the umask takes from what others may do. */
mode_t file_umask(void);

/* Creates a new file with exactly this mode, whatever the umask. On failure err->number is EEXIST
 * if the name exists, and nothing is left of a file that could not be written whole. Does not sync.
 */
int file_create(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                struct err *err);

/* Returns true if a file of `bytes` bytes finds no room on the disk of a directory, or none in its
 * quota. Tries it with a file that never gets a name: what statvfs(3) counts as free includes
 * blocks that nobody may use. */
bool file_disk_is_full(int dir, size_t bytes);

/* Replaces the file `name` atomically, as described above. The new file has exactly this mode. If
 * the last sync fails, the error says that the file is written but not known to be durable. */
int file_replace(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
                 struct err *err);

/* Makes the entries of a directory durable (fsync). On failure the error says that they are written
 * but not known to be durable. */
int file_sync_dir(int dir, struct err *err);

/* Makes durable all that has been written to the file system of `fd`. Returns 0, or -1 with errno.
 */
int file_sync_all(int fd);

/*
 * Locks use flock() on a file that is never renamed or removed while in use. The kernel releases
 * the lock when the process ends. The caller closes *ret_fd, which unlocks the file. The text of
 * the lock file names the holder for waiting processes. Any thread may wait.
 */
enum { LOCK_TRY = 0 }; /* or milliseconds to wait */

/* Locks the file `name` in `dir`, which is created if it is missing. Waits at most `wait_ms`. `who`
 * says what this process does, for example "start". Returns -1 with code MAS_DAMAGED if the file
 * cannot be a lock (see file_open_own()), or MAS_CONFLICT (MAS_TIMEOUT after a wait) if another
 * process holds it. The text is the reason only, in the latter case the holder: "pid 4711 (start)
 * has it". The caller adds what it wanted to lock. */
int file_lock(int dir, const char *name, int wait_ms, const char *who, int *ret_fd,
              struct err *err);

/* Returns true if a process holds the lock on this file now, or if that cannot be determined; false
 * if the lock is free or the file is missing. */
bool file_is_locked(int dir, const char *name);
