/*
 * The root's own unit/ and workflows/, in which the agents of a legacy session work.
 *
 * If they are missing, mas creates them from the template; it never overwrites or changes existing
 * ones. They are built as <root>/.new-<a random id>, made durable and renamed into place, so a kill
 * leaves no partial directory in place; workspace_sweep() removes the rest. They belong to the
 * root: removing the session does not remove them.
 */
#ifndef MAS_STORE_LEGACY_STAGE_H
#define MAS_STORE_LEGACY_STAGE_H

#include "base/err.h"
#include "base/id.h"
#include "base/tree.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"

#include <stddef.h>

/* Returns 1 if the root has the directory `part`, 0 if it is missing, and -1 if something else has
 * its name. */
int legacy_has(const struct root *root, const char *part, struct err *err);

/* The parts of unit/ and workflows/ that are being created. */
struct legacy_parts {
    int root; /* not owned */
    int dir; /* where they are built; -1: nothing is missing */
    int lock;
    char id[ID_TEXT]; /* the id in .new-<id> */
    char **paths; /* below the root: "workflows", "unit/11" */
    size_t placed; /* how many of them are in place */
};

#define LEGACY_PARTS_INIT                                                                          \
    {                                                                                              \
        .root = -1, .dir = -1, .lock = -1                                                          \
    }

/* Builds the missing parts beside their final place. Fails if anything but a directory, including a
 * symbolic link, has the name of one. On failure *ret holds what was built. In any case the caller
 * calls legacy_release(). */
int legacy_stage(const struct root *root, const struct template *tmpl, tree_tick *tick, void *arg,
                 struct legacy_parts *ret, struct err *err);
/* Fails if the unit/ that legacy_stage() found has disappeared because another command migrated it.
 * The caller holds the metadata lock. */
int legacy_check_unit(const struct root *root, const struct session *session,
                      const struct legacy_parts *parts, struct err *err);
/* Moves the parts into place, durably. Never overwrites anything. */
int legacy_place(struct legacy_parts *parts, struct err *err);
/* Moves the parts that legacy_place() put into place back to where they were built. */
void legacy_undo(struct legacy_parts *parts);
/* Closes the descriptors, removes parts that are not in place, and frees *parts. */
void legacy_release(struct legacy_parts *parts);

#endif
