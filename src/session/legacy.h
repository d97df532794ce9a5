/*
 * Legacy mode: the one shared session of a root, whose agents work in the root's own unit/ and
 * workflows/ (store/legacy_stage.h), and its name in tmux.
 */
#ifndef MAS_SESSION_LEGACY_H
#define MAS_SESSION_LEGACY_H

#include "base/err.h"
#include "store/root.h"
#include "store/session.h"

#define LEGACY_TMUX_NAME "mas-tmux"

/* The session's name in tmux: $SESSION_NAME, but not that of a team which mas runs in, or mas-tmux.
 * The caller frees. */
int legacy_tmux_name(char **ret, struct err *err);

/* Finds the legacy session of the root, by the index and by what its metadata says: 1, or 0 where
 * there is none. One that cannot be read counts. */
int legacy_find(const struct root *root, char ret[ID_TEXT], struct err *err);
/* Fails where there is one (MAS_CONFLICT, the hint names it); the caller holds the metadata lock
 * and has asked the index. */
int legacy_check_free(const struct root *root, struct err *err);
/* MAS_CONFLICT if tmux has another session of its name; `what` is the verb. */
int legacy_check_tmux(const struct root *root, const struct session *session, const char *what,
                      struct err *err);

#endif
