/*
 * The roots that this user made, or accepted with `mas init`: a small file below
 * ${XDG_STATE_HOME:-~/.local/state}, one line a root, its owner's number and its path, the oldest
 * first. A root that is found from the current directory and is not among them names no program
 * that mas runs: anybody can put a mas.ini into a clone, an archive or an agent's directory.
 */
#ifndef MAS_STORE_KNOWN_ROOTS_H
#define MAS_STORE_KNOWN_ROOTS_H

#include "base/err.h"

#include <stdbool.h>

enum { KNOWN_ROOTS_MAX = 256, KNOWN_ROOTS_FILE_MAX = 1 << 20 }; /* roots; bytes */

/* true if this user made or accepted the root. The default root is always one of his. `path` is
 * absolute and without links. */
bool known_roots_has(const char *path);

/* Remembers a root as one that this user made or accepted; forgets those that are gone, and the
 * oldest where there are too many. */
int known_roots_add(const char *path, struct err *err);

/* The known roots that are there, the default one among them, without `except` (NULL: none).
 * Released with strv_free(); NULL where there is none. */
char **known_roots_list(const char *except);

#endif
