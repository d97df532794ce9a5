/*
 * Legacy mode: the one shared session of a root, whose agents work in the root's own unit/ and
 * workflows/ (store/placement.h), and its name in tmux.
 */
#pragma once

#include "store/root.h"
#include "store/session.h"

#define LEGACY_TMUX_NAME "mas-tmux"

/* Returns the tmux name of the legacy session: $SESSION_NAME, unless that belongs to a team in
 * which mas runs, otherwise mas-tmux. The caller frees *ret. */
int legacy_tmux_name(char **ret, struct err *err);

/* Finds the legacy session of the root from the index and the sessions' metadata. Returns 1, or 0
 * if there is none. A session whose metadata is unreadable counts if the index lists it as
 * legacy. */
int legacy_find(const struct root *root, char ret[ID_TEXT], struct err *err);
/* Fails with MAS_CONFLICT if a legacy session exists; the hint names it. The caller holds the
 * metadata lock and has asked the index. */
int legacy_check_free(const struct root *root, struct err *err);
/* Fails with MAS_CONFLICT if tmux has another session with its name. `what` is the verb. Does
 * nothing for an isolated session. */
int legacy_check_tmux(const struct root *root, const struct session *session, const char *what,
                      struct err *err);
