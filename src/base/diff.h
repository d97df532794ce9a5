/*
 * The difference of two texts, in unified form with three lines around each change, as people and
 * patch(1) read it.
 */
#ifndef MAS_BASE_DIFF_H
#define MAS_BASE_DIFF_H

#include "base/str.h"

/* Appends the hunks ("@@ -1,3 +1,4 @@" and lines), without the two lines that name the files;
 * nothing where the texts are equal. Where more than a few hundred lines differ they are given as
 * all taken out, then all put in. */
void diff_unified(struct str *to, const char *before, const char *after);

#endif
