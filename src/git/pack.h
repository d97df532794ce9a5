/*
 * Copies commits, with all that they need, from one repository into another.
 */
#pragma once

#include "git/git.h"

/* Packs the commits `oids` (a line each) without what `to` has, lets git check each object in `to`,
 * and only then adds the pack there. `from` sees the objects of both; `to` may be on another file
 * system. `tmp` is "DIR/NAME" in `to`: a pack that is not checked yet is in a directory DIR/NAME-*,
 * which only a kill leaves. DIR exists. Fails with MAS_DAMAGED if an object is missing, damaged or
 * not what its name says. */
#define PACK_TMP "objects/tmp_objdir-mas" /* `git gc` removes old directories of this name */
int pack_copy(const struct git *from, const struct git *to, const char *tmp, const char *oids,
              struct err *err);
/* Likewise, for a list of all objects to copy, as `git rev-list --objects` prints it. */
int pack_copy_objects(const struct git *from, const struct git *to, const char *tmp,
                      const struct str *list, struct err *err);
