/*
 * The root's own unit/ and workflows/, in which the agents of a legacy session work
 * (store/placement.h): how a new session creates what is missing of them.
 *
 * mas creates missing ones from the template; it never overwrites or changes existing ones. They
 * are built as <root>/.new-<a random id>, made durable and renamed into place, so a kill leaves no
 * partial directory in place; workspace_sweep() removes the rest. They belong to the root: removing
 * the session does not remove them.
 */
#pragma once

#include "base/id.h"
#include "model/team/team.h"
#include "os/tree.h"
#include "store/placement.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"

/* Returns 1 if the root has the directory `part`, 0 if it is missing, and -1 if something else has
 * its name. */
int placement_root_has(const struct root *root, const char *part, struct err *err);

/* Lists the directories that a new session gets from its template: unit/ and workflows/, or what
 * the root lacks of them ("unit/11"). The caller releases *ret with strv_free(); NULL: nothing. */
int placement_missing(const struct root *root, enum mode mode, const struct team *team, char ***ret,
                      struct err *err);

/* The directories in the root that are being created. */
struct placement_stage {
    int root; /* not owned */
    int dir; /* where they are built; -1: nothing is missing */
    int lock;
    char id[ID_TEXT]; /* the id in .new-<id> */
    char **paths; /* below the root: "workflows", "unit/11" */
    size_t placed; /* how many of them are in place */
};

#define PLACEMENT_STAGE_INIT                                                                       \
    {                                                                                              \
        .root = -1, .dir = -1, .lock = -1                                                          \
    }

/* Gives the agents' directories in a new unit/ the mode that they have in any workspace. */
int placement_set_modes(int dir, const struct team *team, struct err *err);
/* Builds the missing directories beside their final place. Fails if anything but a directory,
 * including a symbolic link, has the name of one. On failure *ret holds what was built. In any case
 * the caller calls placement_stage_release(). */
int placement_stage(const struct root *root, const struct template *tmpl, tree_tick *tick,
                    void *arg, struct placement_stage *ret, struct err *err);
/* Fails if the unit/ that placement_stage() found has disappeared because another command migrated
 * it. Does nothing for a session that has its own. The caller holds the metadata lock. */
int placement_stage_check(const struct root *root, const struct session *session,
                          const struct placement_stage *stage, struct err *err);
/* Moves the directories into place, durably. Never overwrites anything. */
int placement_stage_place(struct placement_stage *stage, struct err *err);
/* Moves those that placement_stage_place() put into place back to where they were built. */
void placement_stage_undo(struct placement_stage *stage);
/* Closes the descriptors, removes directories that are not in place, and frees *stage. */
void placement_stage_release(struct placement_stage *stage);
