/*
 * The way of a workspace into sessions/ and out of it.
 *
 * A new one is built as sessions/.new-<id>, made durable, and renamed into place; one that is
 * removed is renamed to .trash-<id> first. Whoever builds or removes holds the .session.lock
 * inside, so what a killed process left behind is known by its lock being free (workspace_sweep()).
 */
#ifndef MAS_STORE_STAGE_H
#define MAS_STORE_STAGE_H

#include "base/err.h"
#include "base/id.h"
#include "base/tree.h"
#include "store/config.h"
#include "store/legacy_stage.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"
#include "store/workspace.h"

#include <stdbool.h>
#include <stddef.h>

/* A workspace in the making; holds its lock until workspace_release(). */
struct stage {
    char id[ID_TEXT];
    int dir;
    int lock;
    bool placed; /* it has its final name */
    struct legacy_parts parts; /* of a legacy session: what is made beside it, in the root */
    bool others; /* sessions/ holds more than the index and this: perhaps something stale */
};

#define STAGE_INIT                                                                                 \
    {                                                                                              \
        .dir = -1, .lock = -1, .parts = LEGACY_PARTS_INIT                                          \
    }

/* Builds the workspace beside its place and makes it durable; [workspace] of the settings says how
 * the template's files get there. On failure nothing is left. */
int workspace_stage(const struct root *root, const struct config *config,
                    const struct session *session, const struct template *tmpl, tree_tick *tick,
                    void *arg, struct stage *ret, struct err *err);
/* The same without anything in it, for the caller to fill; `who` is the verb. */
int workspace_stage_empty(const struct root *root, const char *id, const char *who,
                          struct stage *ret, struct err *err);
/* Makes it the stage of another session. MAS_CONFLICT where somebody makes that one. */
int workspace_stage_rename(const struct root *root, struct stage *stage, const char *id,
                           struct err *err);
/* Renames it into place, its parts in the root first; the caller holds the metadata lock.
 * MAS_CONFLICT where the name is taken: nothing is ever overwritten. */
int workspace_place(const struct root *root, struct stage *stage, struct err *err);
/* Removes what was staged, but has no place yet. */
void workspace_discard(const struct root *root, struct stage *stage);
void workspace_release(struct stage *stage);
#define _cleanup_stage_ __attribute__((cleanup(workspace_release)))

/* Renames a session's directory to its trash name; the caller holds the metadata lock. -1: nothing
 * was done. 1: it was, but *err says that it is not known to be durable. */
int workspace_trash(const struct root *root, const char *id, struct err *err);
/* Deletes what workspace_trash() put away, its lock last: a sweep leaves it alone until then. */
int workspace_empty_trash(const struct root *root, const char *id, struct err *err);

/* The same two for many sessions: they are renamed one by one, then the caller syncs sessions/
 * once; tree_remove_many() deletes what has these names. */
enum { TRASH_NAME = sizeof TRASH_PREFIX - 1 + ID_TEXT };
int workspace_set_aside(const struct root *root, const char *id, struct err *err);
void workspace_trash_name(const char *id, char buf[TRASH_NAME]);

/* Makes what a lazy workspace lacks. For a session that does not run and whose lock is held. */
int workspace_complete(const struct root *root, int dir, struct err *err);

/* Called for each staging or trash entry, and each snapshot, that nobody works on or needs. */
typedef void workspace_stale(const char *name, void *arg);
/* Finds what killed processes left in sessions/ and the root and, unless `keep`, deletes it. Takes
 * the metadata lock. Returns how many there were; `each` may be NULL. */
size_t workspace_sweep(const struct root *root, bool keep, workspace_stale *each, void *arg);

#endif
