/*
 * ${XDG_STATE_HOME:-~/.local/state}/mas: what mas keeps for a user beside the roots.
 */
#pragma once

/* Opens the directory; with `make`, creates it. Fails if it does not belong to this user alone, as
 * another one who can write there could speak in this user's name. Returns a descriptor; the caller
 * frees *ret_path. */
int user_state_open(bool make, char **ret_path, struct err *err);
