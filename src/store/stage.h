/*
 * How a workspace gets into sessions/ and is removed from it.
 *
 * A new workspace is built as sessions/.new-<id>, made durable and renamed into place. A workspace
 * to remove is first renamed to .trash-<id>. The process that builds or removes it holds the
 * .session.lock inside, so workspace_sweep() recognises the leftovers of a killed process by their
 * free lock.
 */
#pragma once

#include "base/id.h"
#include "os/tree.h"
#include "store/config.h"
#include "store/placement_stage.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"
#include "store/workspace.h"

/* A workspace under construction; holds its lock until workspace_release(). */
struct stage {
    char id[ID_TEXT];
    int dir;
    int lock;
    bool placed; /* it has its final name */
    struct placement_stage parts; /* what is created beside it, in the root */
    bool others; /* sessions/ has other entries besides the index and this: perhaps stale ones */
};

#define STAGE_INIT                                                                                 \
    {                                                                                              \
        .dir = -1, .lock = -1, .parts = PLACEMENT_STAGE_INIT                                       \
    }

/* Builds the workspace under its temporary name and makes it durable, unless its team has a
 * project, whose repositories the caller adds first. The [workspace] settings say how the
 * template's files are copied. `quota` is for session_quota_begin(). On failure nothing is left
 * behind. The caller releases *ret with workspace_release(). */
int workspace_stage(const struct root *root, const struct config *config,
                    const struct session *session, const struct template *tmpl, int quota,
                    tree_tick *tick, void *arg, struct stage *ret, struct err *err);
/* Returns the path of a workspace that has no final name yet. The caller frees it. */
char *workspace_stage_path(const struct root *root, const struct stage *stage);
/* Like workspace_stage(), but leaves the workspace empty for the caller to fill. `who` is the
 * verb. */
int workspace_stage_empty(const struct root *root, const char *id, const char *who,
                          struct stage *ret, struct err *err);
/* Makes this the stage of another session. Fails with MAS_CONFLICT if another process stages that
 * session. */
int workspace_stage_rename(const struct root *root, struct stage *stage, const char *id,
                           struct err *err);
/* Renames the workspace into place, after its parts in the root. The caller holds the metadata
 * lock. Fails with MAS_CONFLICT if the name exists: nothing is ever overwritten. */
int workspace_place(const struct root *root, struct stage *stage, struct err *err);
/* Removes a staged workspace that has no final name yet. */
void workspace_discard(const struct root *root, struct stage *stage);
/* Releases the lock and closes the descriptors; deletes no workspace. */
void workspace_release(struct stage *stage);
#define _cleanup_stage_ __attribute__((cleanup(workspace_release)))

/* Renames a session's directory to its trash name. The caller holds the metadata lock. Returns -1
 * if nothing was done, and 1 if the rename happened but *err says that it is not known to be
 * durable. */
int workspace_trash(const struct root *root, const char *id, struct err *err);
/* Deletes the workspace that workspace_trash() renamed, with its lock last, so no sweep touches it
 * before. */
int workspace_empty_trash(const struct root *root, const char *id, struct err *err);

/* For removing many sessions: the caller renames them one by one with workspace_set_aside(), syncs
 * sessions/ once, and passes the names from workspace_trash_name() to tree_remove_many(). */
enum { TRASH_NAME = sizeof TRASH_PREFIX - 1 + ID_TEXT };
int workspace_set_aside(const struct root *root, const char *id, struct err *err);
void workspace_trash_name(const char *id, char buf[TRASH_NAME]);

/* Creates the missing units of a lazy workspace. The session must not run, and the caller holds its
 * lock. */
int workspace_complete(const struct root *root, int dir, struct err *err);

/* Called for each staging or trash entry that no process works on, and each snapshot that is not
 * needed. */
typedef void workspace_stale(const char *name, void *arg);
/* Finds the leftovers of killed processes in sessions/ and the root and, unless `keep` is set,
 * deletes them. Takes the metadata lock. Returns their number. `each` may be NULL. */
size_t workspace_sweep(const struct root *root, bool keep, workspace_stale *each, void *arg);
