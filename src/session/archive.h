/*
 * Archives: a session in one file, `.tar.zst`, and its restoration. mas-archive(5) describes the
 * format.
 *
 * The helper program mas-archive reads and writes archives, so that mas does not link libarchive.
 * mas passes it descriptors and talks to it through a socket (archive/parent.h).
 *
 * archive
 *
 * 1. Take the session's lock, or give up at once. If the session runs, refuse. Remove what a
 *    killed add or remove has left (grow_mend()). Create the missing directories of lazy agents.
 * 2. Create .mas-archive-<id>.new beside the target file, and take a lock on it.
 * 3. Start mas-archive with both directories and the file. It lists the files, writes them, lists
 *    them again: a difference is an error.
 * 4. Sync the file, rename it, never over a file, sync the directory. With --rm: steps 2 and 3 of
 *    rm (session/life.h).
 *
 * Killed before 4, mas leaves a temporary file whose lock is free: the next archive removes it.
 *
 * restore
 *
 * 1. Under the metadata lock create sessions/.new-<random id>/ and take its lock.
 * 2. Start mas-archive with it. It reads the manifest; mas checks that the id and the name are free
 *    and that there is enough space, and sends `go`. mas-archive fills the directory and verifies
 *    all of it.
 * 3. Read .session and config.json like those of any session; rewrite .session: stopped, with the
 *    paths and the tmux server of this root. One syncfs(2). Rename to .new-<own id>.
 * 4. Under the metadata lock check that the names are still free. Rename into place, write the row.
 *
 * Killed before 4, mas leaves a staging directory as new does. mas-archive dies with mas
 * (PR_SET_PDEATHSIG), and holds the lock of the staging directory until it ends.
 */
#pragma once

#include "base/sha.h"
#include "session/life.h"
#include "store/session.h"
#include "store/stage.h"
#include "store/workspace.h"

#define ARCHIVE_STANDARD "-" /* standard output or input instead of a file */

/* Writes the archive of a stopped session. The caller holds its lock; `dir` is its workspace. If
 * `file` is NULL, the archive goes below [archive] dir and is named after the session and the time.
 * An existing file is not overwritten (MAS_CONFLICT). The archive gets its name when it is complete
 * and on disk. *ret_file is its path, which the caller frees. life->tick receives the progress and
 * can stop the command. The archive contains everything of value, so the session may be removed
 * afterwards. */
int archive_write(const struct life *life, int dir, const struct session *session, const char *file,
                  char **ret_file, struct err *err);

struct archive_report;
/* Writes the archive of such a session to the descriptor `to`. Fails rather than leave out a file.
 * The caller releases *ret with archive_report_free(). */
int archive_to(const struct life *life, int dir, const struct session *session, int to,
               struct archive_report *ret, struct err *err);

/* The result of archiving; release it with archive_report_free(). */
struct archive_report {
    char *file;
    char **warnings; /* such as what was left out; NULL: none */
    uint64_t entries, bytes; /* of the session */
    uint64_t written; /* size of the archive in bytes */
    uint64_t links; /* symbolic links in it that point outside the session */
    char digest[SHA256_TEXT]; /* of its list of checksums */
};

/* Archives a session by its id. Takes its lock and refuses a running session (MAS_CONFLICT). With
 * `remove`, removes the session under the same lock when the archive is complete. */
int archive_session(const struct life *life, const char *id, const char *file, bool remove,
                    struct archive_report *ret, struct err *err);
/* Archives a session that may run, without its lock: nothing waits for it, and it delays no host.
 * memory.db is of one moment and the git repositories are consistent; other files are as they are
 * when they are read. What changed meanwhile is a warning (see archive/pack.h), and so is, unless
 * `strict`, a file that cannot be read. If git packs a repository anew again and again, fails with
 * MAS_CONFLICT; to standard output there is one attempt. */
int archive_live(const struct life *life, const char *id, const char *file, bool strict,
                 struct archive_report *ret, struct err *err);
void archive_report_free(struct archive_report *report);

/* Finds files that killed commands left in [archive] dir and, unless `keep`, deletes them. Files
 * left elsewhere are deleted when the next archive is written there. `each` may be NULL. */
void archive_sweep(const struct root *root, const struct config *config, bool keep,
                   workspace_stale *each, void *arg);

struct archive_restore {
    const char *file;
    const char *id; /* that it has to have; NULL: any */
    const char *name; /* new name; NULL: its own */
    bool new_id; /* use a new random id instead of its own (MAS_CONFLICT if that exists) */
    bool links; /* also symbolic links that point outside the session */
    bool takeover; /* also if another machine may still have it */
    const char *moved_to; /* MOVED_TO of the restored session; NULL: "" */
    struct str *no_accounts; /* output: agents that do not keep their accounts, "a, b", as another
                              * machine wrote the archive, and the accounts of this one are meant
                              * by chance; NULL: all keep them */
    char *digest; /* output: SHA256_TEXT bytes, as in struct archive_report; NULL: not wanted */
    /* With a new id: makes the conversations belong to the copy, before it is moved into place.
     * NULL: do nothing. */
    int (*own)(int dir, const char *id, struct err *err);
};

/* Restores a session. Verifies the complete archive before it moves the session into place; on
 * failure nothing is left behind. Fails with MAS_DAMAGED if the archive is not in the format that
 * mas writes. The caller releases *ret with session_free(). */
int archive_restore(const struct life *life, const struct archive_restore *options,
                    struct session *ret, struct err *err);
