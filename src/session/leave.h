/*
 * A session that leaves this machine: what happens here. fleet/move.h says in which order, and what
 * holds if any of it is killed.
 *
 * MOVED_TO in .session says how far it has come:
 *
 *     ""            the session is here
 *     "NAME"        its files are on host NAME; NAME may have been told to release them
 *     "NAME?"       it was given up: NAME is told to drop them, and then the session is here again
 *     "DESK:HASH"   as NAME, but that machine pulls it and is no host here, see fleet/pull.h
 *     "(arriving)"  on the other machine: the files have come, but the session is not here yet
 *     "(arriving from NAME)"   likewise, where that machine pulls it from its host NAME
 *
 * Only with "" a session can be started.
 */
#pragma once

#include "session/archive.h"
#include "session/life.h"
#include "store/session.h"

/* A session on its way; its locks are held until leave_close(). */
struct leaving {
    struct session session;
    int dir, lock;
    int code_lock; /* -1: it has no project */
    char *project; /* its project's directory; NULL: none */
};

#define LEAVING_INIT                                                                               \
    {                                                                                              \
        .session = SESSION_INIT, .dir = -1, .lock = -1, .code_lock = -1                            \
    }

/* Takes the locks of a session and reads it. Fails with MAS_CONFLICT for one that shares
 * directories with its root (legacy) or is half migrated. The caller releases *ret with
 * leave_close(), also after a failure. */
int leave_open(const struct life *life, const char *id, struct leaving *ret, struct err *err);
void leave_close(struct leaving *leaving);
#define _cleanup_leaving_ __attribute__((cleanup(leave_close)))

/* Stops the session, but leaves STATUS as it is: if the move is killed, the session counts as
 * crashed, and whoever goes on knows that it ran. */
int leave_stop(const struct life *life, struct leaving *leaving, struct err *err);
/* Writes the archive of everything to `fd`. Fails rather than leave out a file. The caller releases
 * *ret with archive_report_free(). */
int leave_pack(const struct life *life, struct leaving *leaving, int fd, struct archive_report *ret,
               struct err *err);
/* Sets MOVED_TO, durably: to the name and, if it was given up, MOVED_GIVEN_UP; NULL: to "". */
int leave_mark(const struct life *life, struct leaving *leaving, const char *name, bool given_up,
               struct err *err);
/* Removes the session here, whatever work it has: it is elsewhere. */
int leave_remove(const struct life *life, struct leaving *leaving, struct err *err);

/* Returns true if MOVED_TO names a host, which is *ret_name (the caller frees it). *ret_given_up
 * tells whether that move was given up. */
bool leave_parse(const char *moved_to, char **ret_name, bool *ret_given_up);
