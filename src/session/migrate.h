/*
 * Migration from legacy mode to isolated mode: the legacy session of a root, or a unit/ without a
 * session that an older program left there, becomes an isolated session with all its files.
 *
 * Steps:
 *
 * 1. Take the session's lock, or give up at once. Check everything that could prevent the
 *    migration.
 * 2. MIGRATING=active or stopped: the state to restore at the end. Stop the team.
 * 3. Rename unit/, then workflows/, into the workspace. If it is on another file system: rename to
 *    <root>/.migrate-<id>/, copy to .migrate in the workspace, sync, rename, delete the original.
 * 4. Under the metadata lock: MODE=isolated, with the new tmux name; then the row.
 * 5. Start the team. Drop MIGRATING.
 *
 * Killed after 2, the next call continues from what it finds. Once a directory has moved, no other
 * command starts, fills, cleans or removes the session. MODE stays legacy until 4, so that no other
 * legacy session is created meanwhile. A directory that has its final name in the workspace is
 * complete, so one of the same name in the root belongs to somebody else and is a conflict. A
 * failure before 4 moves back everything that a rename can move. A unit/ without a session first
 * gets a stopped legacy session with MIGRATING=stopped.
 */
#pragma once

#include "session/life.h"

enum migrate_act {
    MIGRATE_MAKE, /* create a session for the root's unit/ */
    MIGRATE_ADD, /* add a missing directory from the template */
    MIGRATE_STOP,
    MIGRATE_MOVE,
    MIGRATE_TURN, /* make it isolated, with its new name in tmux */
    MIGRATE_START,
};

struct migrate_step {
    enum migrate_act act;
    char *what; /* a session or a path */
    char *to; /* a path, a template or a name in tmux; NULL: nothing */
};

struct migration {
    char id[ID_TEXT]; /* "": nothing to migrate, or no session yet */
    struct migrate_step *steps; /* the steps in order, done or planned */
    size_t count;
};

struct migrate_options {
    const char *id; /* NULL: the existing legacy session */
    const char *name; /* new name; NULL: keep */
    bool dry; /* only report the steps */
};

/* Migrates, or finds that there is nothing to do (*ret has no steps). On failure *ret holds the
 * planned steps. The caller always calls migration_free(). */
int migrate_run(const struct life *life, const struct migrate_options *options,
                struct migration *ret, struct err *err);
void migration_free(struct migration *migration);
#define _cleanup_migration_ __attribute__((cleanup(migration_free)))
