/*
 * From legacy mode to isolated: the legacy session of a root, or a unit/ that an older program left
 * there without one, becomes an isolated session with all its files.
 *
 * The session's metadata says first that it is being migrated (MIGRATING, with what is to be in the
 * end), and MODE=legacy until unit/ and workflows/ are in the workspace, so that no other legacy
 * session can be made meanwhile. Killed anywhere, it goes on with the next call; what is half moved
 * is neither started nor removed until then. A failure takes back what can be taken back.
 */
#ifndef MAS_SESSION_MIGRATE_H
#define MAS_SESSION_MIGRATE_H

#include "base/err.h"
#include "session/life.h"

#include <stdbool.h>
#include <stddef.h>

enum migrate_act {
    MIGRATE_MAKE, /* a session for the root's unit/ */
    MIGRATE_ADD, /* a directory that is missing, from the template */
    MIGRATE_STOP,
    MIGRATE_MOVE,
    MIGRATE_TURN, /* isolated, with its name in tmux */
    MIGRATE_START,
};

struct migrate_step {
    enum migrate_act act;
    char *what; /* a session, a path */
    char *to; /* a path, a template, a name in tmux; NULL: nothing */
};

struct migration {
    char id[ID_TEXT]; /* "": there is nothing to migrate, or not yet a session */
    struct migrate_step *steps; /* what is (to be) done, in order */
    size_t count;
};

struct migrate_options {
    const char *id; /* NULL: the legacy session that there is */
    const char *name; /* a new one; NULL: as it is */
    bool dry; /* only say what would be done */
};

/* Does it, or finds that there is nothing to do (*ret has no steps). On failure *ret holds what was
 * to be done; migration_free() in any case. */
int migrate_run(const struct life *life, const struct migrate_options *options,
                struct migration *ret, struct err *err);
void migration_free(struct migration *migration);
#define _cleanup_migration_ __attribute__((cleanup(migration_free)))

#endif
