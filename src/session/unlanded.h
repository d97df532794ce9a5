/*
 * Protects the code of a session that is about to be removed; see code/keep.h.
 */
#pragma once

#include "session/life.h"

/* Fails with MAS_CONFLICT, and names each reason, if the session `id`, whose workspace is open at
 * `dir`, has work in its repositories that would be lost with it. A session without a project has
 * none. The caller holds the session's lock. */
int unlanded_check(const struct life *life, int dir, const char *id, struct err *err);
