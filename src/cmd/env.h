/*
 * Load a session for `mas env` and the shell library.
 */
#pragma once

#include "cmd.h"
#include "store/session.h"

/* Loads the metadata of the session that `which` names. The caller releases *ret with
 * session_free(). */
int env_load(struct call *call, const char *which, struct session *ret, struct err *err);
