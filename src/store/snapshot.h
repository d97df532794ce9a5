/*
 * Snapshots: what the directories of agents are made from, once each agent first starts.
 *
 * With `[workspace] lazy = yes` a new workspace gets no unit/<agent>, but a hold on a snapshot: a
 * copy of these directories of the template as they were then. One snapshot serves all sessions
 * that are made from the same state of a template, so all but the first cost a look at the template
 * instead of a copy.
 *
 *     sessions/.snapshots/<name>/       700
 *       name                      400   its name, a line
 *       unit/<agent>/                   as in the template
 *     sessions/<id>/.snapshot     400   the same line; a hard link to `name` of its snapshot
 *     sessions/<id>/.new-<agent>/ 700   a unit in the making
 *
 * A name is the 32 hex digits of the template's state (struct tree_state) or, for one that changed
 * while it was copied or just before, an id, which nobody else finds.
 *
 * Who owns what: the workspace owns its .snapshot, which says both that units may be missing and
 * from what they are made; it goes with the last unit made, or with the workspace. Nobody owns a
 * snapshot: it is needed as long as a .snapshot names it. How many there are is in the link count
 * of `name`, which the kernel keeps right at any kill; where it says that there are none, in a root
 * that was copied without its links or on a file system that has none, the workspaces are asked,
 * who know. Snapshots appear and go under the metadata lock, whole, by rename: they are built in
 * the workspace that is being made, and deleted as trash, so what a kill leaves is swept like any
 * of these. Nothing in a snapshot is ever changed.
 *
 * A unit is made by who has the lock run/<agent>.lock, that is its host, and gets its place by
 * rename; a hold is given up by who sees that every agent has its unit.
 */
#ifndef MAS_STORE_SNAPSHOT_H
#define MAS_STORE_SNAPSHOT_H

#include "base/err.h"
#include "base/tree.h"
#include "model/team.h"
#include "store/root.h"
#include "store/template.h"
#include "store/workspace.h"

#include <stdbool.h>
#include <stddef.h>

#define SNAPSHOTS_DIR ".snapshots" /* in sessions/ */
#define WORKSPACE_SNAPSHOT ".snapshot"

/* How a template's files get into a workspace. */
struct snapshot_way {
    bool link; /* [workspace] hardlink = readonly */
    tree_tick *tick;
    void *arg;
};

/* Gives the workspace in the making, open at `stage`, a hold on a snapshot of the template's
 * agents. What it makes is on disk with the next syncfs(). */
int snapshot_take(const struct root *root, const struct template *tmpl, int stage,
                  const struct snapshot_way *way, struct err *err);

/* true while the workspace has a hold. */
bool snapshot_is_held(int dir);
/* The same of a directory in sessions/, by name. */
bool snapshot_is_held_by(const struct root *root, const char *name);

/* Makes unit/<agent>, durably; the caller has the lock of that agent. It is there already: done. */
int snapshot_make_unit(const struct root *root, int dir, const struct team *team, const char *agent,
                       const struct snapshot_way *way, struct err *err);

/* Makes all units that are missing, of a session whose lock the caller holds; from the template as
 * it is now where one is given. MAS_CONFLICT where an agent's host is there. */
int snapshot_make_all(const struct root *root, int dir, const struct team *team,
                      const struct template *instead, struct err *err);

/* What a killed maker has left of an agent's directory, while nobody makes it. */
bool snapshot_has_left(int dir, const char *agent);
int snapshot_clear_left(int dir, const char *agent, struct err *err);

enum snapshot_state {
    SNAPSHOT_NONE, /* no hold */
    SNAPSHOT_GOOD, /* what is missing can be made */
    SNAPSHOT_IDLE, /* nothing is missing */
    SNAPSHOT_GONE, /* something that is missing is not in the snapshot */
};
enum snapshot_state snapshot_look(const struct root *root, int dir, const struct team *team);

/* Deletes snapshots that nobody needs any more, or with `keep` only looks for them. Takes the
 * metadata lock. `each` is called for each of them and may be NULL. Returns how many there were. */
size_t snapshot_collect(const struct root *root, bool keep,
                        void (*each)(const char *name, void *arg), void *arg);

#endif
