/*
 * Renaming entries of sessions/ so that they can be deleted later.
 */
#pragma once

#include "store/root.h"
#include "store/workspace.h"

/* Renames `path`, which is relative to sessions/, to a new trash name and writes that name to
 * `fresh`. The caller or a sweep deletes it later, because deleting takes long and the caller holds
 * the metadata lock. */
int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err);
