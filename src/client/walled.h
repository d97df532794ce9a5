/*
 * Whether the agents of a session are held, as a guest needs it who may prompt them.
 */
#pragma once

#include "store/root.h"

/* Returns 0 if all agents of session `id` have a required wall: the settings ask for it, and each
 * host that runs has it. Otherwise fails, also if that cannot be told, with MAS_CONFLICT. */
int walled_check(const struct root *root, const char *id, struct err *err);
