/*
 * What is put aside in sessions/ to be deleted.
 */
#ifndef MAS_STORE_TRASH_H
#define MAS_STORE_TRASH_H

#include "base/err.h"
#include "store/root.h"
#include "store/workspace.h"

/* Gives what lies below sessions/ a trash name of its own, in `fresh`, to be deleted by the caller
 * or a sweep: deleting takes long, and the caller holds the metadata lock. */
int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err);

#endif
