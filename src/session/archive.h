/*
 * Archives: a session in one file, `.tar.zst`, and back again. See mas-archive(5) for the format.
 *
 * The archive itself is written and read by the helper program mas-archive, so that mas does not
 * carry libarchive; it is handed descriptors and speaks through a socket (archive/talk.h).
 */
#ifndef MAS_SESSION_ARCHIVE_H
#define MAS_SESSION_ARCHIVE_H

#include "base/err.h"
#include "session/life.h"
#include "store/session.h"
#include "store/stage.h"
#include "store/workspace.h"

#include <stdbool.h>
#include <stdint.h>

#define ARCHIVE_STANDARD "-" /* standard output or input instead of a file */

/* Writes the archive of a session that does not run; the caller holds its lock, and `dir` is its
 * workspace. `file` NULL: below [archive] dir, named after the session and the time. An archive
 * that exists is not overwritten (MAS_CONFLICT). It has its name once it is whole and on disk;
 * *ret_file is its path and the caller's. life->tick is told of progress and may give up. Nothing
 * that somebody could miss is left out, so the session may be removed afterwards. */
int archive_write(const struct life *life, int dir, const struct session *session, const char *file,
                  char **ret_file, struct err *err);

/* What came of an archive; released with archive_report_free(). */
struct archive_report {
    char *file;
    char **warnings; /* what was left out, and the like; NULL: none */
    uint64_t entries, bytes; /* of the session */
    uint64_t written; /* bytes of the archive */
    uint64_t links; /* symbolic links in it that lead out of the session */
};

/* The same for a session by its id: takes its lock, refuses one that runs (MAS_CONFLICT), and with
 * `remove` removes it once the archive stands, under the same lock. */
int archive_session(const struct life *life, const char *id, const char *file, bool remove,
                    struct archive_report *ret, struct err *err);
void archive_report_free(struct archive_report *report);

/* Finds what killed commands left in [archive] dir and, unless `keep`, deletes it; what they left
 * elsewhere goes with the next archive that is written there. `each` may be NULL. */
void archive_sweep(const struct root *root, const struct config *config, bool keep,
                   workspace_stale *each, void *arg);

struct archive_restore {
    const char *file;
    const char *name; /* what it is called; NULL: as before */
    bool new_id; /* under a new random id, else its own (MAS_CONFLICT where that exists) */
    bool links; /* with symbolic links that lead out of the session */
    /* Of a new id: makes the copy's conversations its own, before it gets its place; NULL: nothing
     * is to be done. */
    int (*own)(int dir, const char *id, struct err *err);
};

/* Brings a session back: verified whole before it gets its place; on failure nothing is left.
 * MAS_DAMAGED where the archive is not what mas writes. */
int archive_restore(const struct life *life, const struct archive_restore *options,
                    struct session *ret, struct err *err);

#endif
