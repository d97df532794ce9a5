/*
 * The root's own unit/ and workflows/, in which the agents of a legacy session work.
 *
 * They are made from the template if they are missing; what exists is neither overwritten nor
 * changed. They are built as <root>/.new-<a random id>, made durable, and renamed into place, so a
 * kill leaves no half of them; workspace_sweep() removes what it left. They are the root's:
 * removing the session leaves them alone.
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

/* 1 if the root has the directory `part`, 0 if it is missing; else what stands there is wrong. */
int legacy_has(const struct root *root, const char *part, struct err *err);

/* What is made of unit/ and workflows/. */
struct legacy_parts {
    int root; /* not owned */
    int dir; /* where it is made; -1: nothing is missing */
    int lock;
    char id[ID_TEXT]; /* that of .new-<id> */
    char **paths; /* below the root: "workflows", "unit/11" */
    size_t placed; /* so many of them are in place */
};

#define LEGACY_PARTS_INIT                                                                          \
    {                                                                                              \
        .root = -1, .dir = -1, .lock = -1                                                          \
    }

/* Makes what is missing, beside its place. Fails where something that is no directory stands in the
 * place of one, a link too. On failure *ret holds what was made, for legacy_release(). */
int legacy_stage(const struct root *root, const struct template *tmpl, tree_tick *tick, void *arg,
                 struct legacy_parts *ret, struct err *err);
/* Fails where the unit/ that it relied on has gone meanwhile: another command migrated it. The
 * caller holds the metadata lock. */
int legacy_check_unit(const struct root *root, const struct session *session,
                      const struct legacy_parts *parts, struct err *err);
/* Puts it in place, durably; never over anything. */
int legacy_place(struct legacy_parts *parts, struct err *err);
/* Takes what was put in place away again. */
void legacy_undo(struct legacy_parts *parts);
void legacy_release(struct legacy_parts *parts);

#endif
