/*
 * Archives: a session in one file, `.tar.zst`, and back again. See mas-archive(5) for the format.
 *
 * The archive itself is written and read by the helper program mas-archive, so that mas does not
 * carry libarchive; it is handed descriptors and speaks of its progress through a pipe.
 */
#ifndef MAS_CORE_ARCHIVE_H
#define MAS_CORE_ARCHIVE_H

#include "base/err.h"
#include "core/life.h"
#include "core/session.h"

#include <stdbool.h>

/* Writes the archive of a session that does not run; the caller holds its lock, and `dir` is its
 * workspace. `file` NULL: below [archive] dir, named after the session and the time. An archive
 * that exists is not overwritten (MAS_CONFLICT). It has its name once it is whole and on disk;
 * *ret_file is its path and the caller's. life->tick is told of progress and may give up. */
int archive_write(const struct life *life, int dir, const struct session *session, const char *file,
                  char **ret_file, struct err *err);

/* The same for a session by its id: takes its lock, refuses one that runs (MAS_CONFLICT), and with
 * `remove` removes it once the archive stands, under the same lock. */
int archive_session(const struct life *life, const char *id, const char *file, bool remove,
                    char **ret_file, struct err *err);

/* Brings a session back from an archive: verified whole before it gets its place; on failure
 * nothing is left. `new_id`: under a new random id, else its own (MAS_CONFLICT where that exists).
 */
int archive_restore(const struct life *life, const char *file, bool new_id, struct session *ret,
                    struct err *err);

#endif
