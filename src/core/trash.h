/*
 * What is put aside in sessions/ to be deleted.
 */
#ifndef MAS_CORE_TRASH_H
#define MAS_CORE_TRASH_H

#include "base/err.h"
#include "core/root.h"
#include "core/workspace.h"

/* Gives what lies below sessions/ a trash name of its own, in `fresh`, to be deleted by the caller
 * or a sweep: deleting takes long, and the caller holds the metadata lock. */
int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err);

#endif
