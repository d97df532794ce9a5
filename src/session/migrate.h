/*
 * Migration from legacy mode to isolated mode: the legacy session of a root, or a unit/ without a
 * session that an older program left there, becomes an isolated session with all its files.
 *
 * First the session's metadata records the migration (MIGRATING, with the final status). MODE stays
 * legacy until unit/ and workflows/ are in the workspace, so no other legacy session can be created
 * meanwhile. If mas is killed at any point, the next call continues; until then a half-moved
 * session can be neither started nor removed. On failure mas undoes what it can.
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
