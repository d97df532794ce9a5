/*
 * Which machine has a session.
 *
 * A root may lie on a disk that several machines share. There flock() may end at the machine, and
 * neither processes nor tmux servers of another machine can be seen at all: what runs there looks
 * as if it had crashed. So .session names the machine that has the session (MACHINE), and only that
 * machine changes the session or its files. Every command that would takes the session's lock by
 * owner_lock(), or asks owner_check() if it needs another lock.
 *
 * The machine is the one that `new`, `start` or `restore` ran on last. A session of an earlier
 * version has no MACHINE: it belongs to the machine that starts it next. A machine is known by its
 * machine-id and host name together, because clones share the first. A machine whose host name was
 * changed is still known by BOOT until it boots again.
 *
 * EPOCH counts the owners: it grows by one whenever another machine gets the session, and whenever
 * a copy of it is restored.
 */
#pragma once

#include "store/root.h"
#include "store/session.h"

/* This machine, as sessions name it: what has been read of it so far. */
struct owner {
    char *machine; /* NULL: not read */
    char *boot; /* likewise */
};

#define OWNER_INIT                                                                                 \
    {                                                                                              \
        .machine = NULL                                                                            \
    }

void owner_free(struct owner *owner);
#define _cleanup_owner_ __attribute__((cleanup(owner_free)))

/* Sets *ret to the name of this machine, which `self` owns. */
int owner_machine(struct owner *self, const char **ret, struct err *err);

/* Sets *ret to true unless another machine has the session. Reads at most two small files, each
 * once and only if the answer depends on it: every command asks this. Fails if one of them is there
 * and cannot be read: this machine must not take itself for another one. The caller begins with
 * OWNER_INIT, asks for as many sessions as it likes, and releases `self` with owner_free(). */
int owner_has(struct owner *self, const struct session *session, bool *ret, struct err *err);

/* Makes this machine the owner. `anew`: even if it is already, this is another epoch. The caller
 * writes the session. */
int owner_take(struct session *session, bool anew, struct err *err);

/* Fails with MAS_CONFLICT if another machine has the session in the workspace `dir`; `what` is the
 * verb. A session whose metadata is damaged is nobody's. */
int owner_check(const struct root *root, int dir, const char *id, const char *what,
                struct err *err);

/* Fails with MAS_CONFLICT if another machine has the session in the workspace `dir`, and nothing of
 * its databases may be read here: SQLite keeps its log by locks that the other machine may not see,
 * and the last reader that closes a database removes the log. Needs no root. */
int owner_check_reader(int dir, struct err *err);

/* Takes the session's lock as workspace_lock() does, unless another machine has the session. Then
 * *ret_elsewhere, which may be NULL, is true and `err` is complete; after other failures it is only
 * the reason, and *ret_elsewhere is false. */
int owner_lock(const struct root *root, int dir, const char *id, int wait_ms, const char *what,
               int *ret_fd, bool *ret_elsewhere, struct err *err);
