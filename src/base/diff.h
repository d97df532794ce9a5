/*
 * The difference between two texts in unified format, with three lines of context, as people and
 * patch(1) read it.
 */
#pragma once

/* Appends the hunks ("@@ -1,3 +1,4 @@" and lines) to `to`, without the two lines that name the
 * files. Appends nothing if the texts are equal. If more than a few hundred lines differ, one hunk
 * removes all old lines and then adds all new ones. */
void diff_unified(struct str *to, const char *before, const char *after);
