/*
 * The roots that this user created, or accepted with `mas init`. They are listed in a small file
 * below ${XDG_STATE_HOME:-~/.local/state}: one line per root with its owner's number and its path,
 * oldest first. If mas finds a root from the current directory and the root is not in this list,
 * mas runs no program that the root's settings name, because anyone can put a mas.ini into a clone,
 * an archive or an agent's directory.
 */
#pragma once

enum { KNOWN_ROOTS_MAX = 256, KNOWN_ROOTS_FILE_MAX = 1 << 20 }; /* roots; bytes */

/* Returns true if this user created or accepted the root. The default root always counts as
 * accepted. `path` is absolute and contains no links. */
bool known_roots_has(const char *path);

/* Records a root as created or accepted by this user. Removes roots that no longer exist, and the
 * oldest ones if there are too many. */
int known_roots_add(const char *path, struct err *err);

/* Returns the known roots that exist, including the default one, without `except` (NULL: all). The
 * caller releases the list with strv_free(); NULL if it is empty. */
char **known_roots_list(const char *except);
