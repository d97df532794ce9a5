/*
 * Saves: archives of a session in a store, a directory on a disk that several machines share. From
 * the newest one the session comes back after its machine was lost.
 *
 *     <store>/<id>/                                   700
 *       save-<EPOCH>-<YYYYMMDD>T<HHMMSS>Z.tar.zst     600
 *
 * The newest is the one with the highest epoch, then the latest time. A save has its name once it
 * is whole and on disk; a writer that is killed leaves a temporary file, which the next one
 * removes. The two newest stay: if the last is damaged, the one before it still restores.
 */
#pragma once

#include "session/archive.h"
#include "session/life.h"

enum {
    SAVES_KEPT = 2,
    SAVES_LISTED = 16, /* the newest ones; more are not looked at */
    SAVES_LOOKED_AT = 100000, /* names in a session's directory; more are an error */
    SAVES_NAME = 64, /* bytes of a name, with its NUL */
};

struct save {
    uint64_t epoch;
    time_t when;
    char name[SAVES_NAME];
};

/* Finds the saves of a session, the newest first, and ignores every other name. *ret_count is 0 if
 * the store has none. Fails with MAS_NOT_FOUND if there is no store, and if the session's
 * directory is not one of this user. */
int saves_list(const char *store, const char *id, struct save ret[SAVES_LISTED], size_t *ret_count,
               struct err *err);

/* Saves a session of this machine, in its epoch, and removes all but the two newest saves. With
 * `live` it may run (archive_live()); else it is stopped. `store` "": the one of its last start, as
 * a job has it that was given --store. Fails with MAS_CONFLICT if the store has a save of a later
 * epoch: another machine has taken the session over. The caller releases *ret with
 * archive_report_free(). */
int saves_write(const struct life *life, const char *store, const char *id, bool live,
                struct archive_report *ret, struct err *err);

/* Restores the newest save that is whole: one that is damaged, or goes meanwhile, is told in
 * *ret_passed_over (a vector for strv_free(); NULL: none) and the one before it is tried. Fails
 * with MAS_NOT_FOUND if there is none, and with MAS_DAMAGED if all are damaged. `ret` as in
 * archive_restore(). */
int saves_restore(const struct life *life, const char *store, const char *id, struct session *ret,
                  char ***ret_passed_over, struct err *err);
