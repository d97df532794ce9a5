/*
 * Copies commits, with all that they need, from one repository into another.
 */
#ifndef MAS_CODE_PACK_H
#define MAS_CODE_PACK_H

#include "base/err.h"
#include "code/git.h"

/* Packs the commits `oids` (a line each) without what `to` has, lets git check each object in `to`,
 * and only then adds the pack there. `from` sees the objects of both. `tmp` is a path in `to` for a
 * pack that is not checked yet, "DIR/NAME"; DIR exists. Fails with MAS_DAMAGED if an object is
 * missing, damaged or not what its name says. A kill leaves at most files that begin with `tmp`. */
int pack_copy(const struct git *from, const struct git *to, const char *tmp, const char *oids,
              struct err *err);

#endif
