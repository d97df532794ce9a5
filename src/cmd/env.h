/*
 * What `mas env` and the shell library read of a session.
 */
#ifndef MAS_CMD_ENV_H
#define MAS_CMD_ENV_H

#include "cmd.h"
#include "store/session.h"

/* Reads the metadata of the session that `which` means. Release *ret with session_free(). */
int env_load(struct call *call, const char *which, struct session *ret, struct err *err);

#endif
