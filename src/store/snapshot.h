/*
 * Snapshots: copies of agents' template directories, from which each agent's own directory is
 * created when the agent first starts.
 *
 * With `[workspace] lazy = yes`, a new workspace contains no unit/<agent>. It holds a reference to
 * a snapshot instead: a copy of these template directories as they were at that time. All sessions
 * made from the same state of a template share one snapshot, so every session but the first only
 * compares the template instead of copying it.
 *
 *     sessions/.snapshots/<name>/       700
 *       name                      400   its name, a line
 *       unit/<agent>/                   as in the template
 *     sessions/<id>/.snapshot     400   the same line; a hard link to `name` of its snapshot
 *     sessions/<id>/.new-<agent>/ 700   a unit being created
 *
 * The name is the 32 hex digits of the template's state (struct tree_state). If the template
 * changed during or just before the copy, the name is a new id, and no other session finds the
 * snapshot.
 *
 * Ownership: the workspace owns its .snapshot, which says that units may be missing and which
 * snapshot they come from. It is removed with the creation of the last unit, or with the workspace.
 * Nobody owns a snapshot: it is needed as long as any .snapshot names it. The link count of `name`
 * counts these references, and the kernel keeps it correct across kills. If the link count shows no
 * reference, mas also reads the .snapshot files of the workspaces, because a root may have been
 * copied without its links or be on a file system without hard links. Snapshots appear and
 * disappear as a whole, by rename under the metadata lock: they are built in the new workspace and
 * deleted as trash, so a sweep removes what a kill leaves. A snapshot never changes.
 *
 * The holder of run/<agent>.lock, which is the agent's host, creates a unit and renames it into
 * place. A process that finds all units of a workspace in place removes its .snapshot.
 */
#pragma once

#include "model/team/team.h"
#include "os/tree.h"
#include "store/root.h"
#include "store/template.h"
#include "store/workspace.h"

#define SNAPSHOTS_DIR ".snapshots" /* in sessions/ */
#define WORKSPACE_SNAPSHOT ".snapshot"

/* How the files of a template get into a workspace. */
struct snapshot_way {
    bool link; /* [workspace] hardlink = readonly */
    tree_tick *tick;
    void *arg;
};

/* Gives the new workspace open at `stage` a reference to a snapshot of the template's agents and
 * creates the snapshot if it is missing. The caller's next syncfs() makes it durable. */
int snapshot_take(const struct root *root, const struct template *tmpl, int stage,
                  const struct snapshot_way *way, struct err *err);

/* Returns true while the workspace refers to a snapshot. */
bool snapshot_is_held(int dir);
/* The same for a directory in sessions/, by name. */
bool snapshot_is_held_by(const struct root *root, const char *name);

/* Creates unit/<agent> durably, if it does not exist. The caller holds the lock of that agent. */
int snapshot_make_unit(const struct root *root, int dir, const struct team *team, const char *agent,
                       const struct snapshot_way *way, struct err *err);

/* Creates all missing units of a session whose lock the caller holds. If `instead` is not NULL,
 * uses that template in its current state. Fails with MAS_CONFLICT if the host of an agent runs. */
int snapshot_make_all(const struct root *root, int dir, const struct team *team,
                      const struct template *instead, struct err *err);

/* snapshot_has_left() returns true if a killed process left a partial directory of an agent and no
 * process is creating that directory now. snapshot_clear_left() removes it. */
bool snapshot_has_left(int dir, const char *agent);
int snapshot_clear_left(int dir, const char *agent, struct err *err);

enum snapshot_state {
    SNAPSHOT_NONE, /* no reference to a snapshot */
    SNAPSHOT_GOOD, /* the missing units can be created */
    SNAPSHOT_IDLE, /* no unit is missing */
    SNAPSHOT_GONE, /* a missing unit is not in the snapshot */
};
/* Returns the state of a workspace's snapshot. */
enum snapshot_state snapshot_look(const struct root *root, int dir, const struct team *team);

/* Deletes snapshots that no workspace needs; with `keep`, only finds them. Takes the metadata lock.
 * Calls `each`, which may be NULL, for each of them. Returns their number. */
size_t snapshot_collect(const struct root *root, bool keep,
                        void (*each)(const char *name, void *arg), void *arg);
