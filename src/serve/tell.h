/*
 * What workers find out; they see nothing of the server but what never changes.
 */
#ifndef MAS_SERVE_TELL_H
#define MAS_SERVE_TELL_H

#include "base/err.h"
#include "base/str.h"

struct server;

/* Writes one session whole, as `mas show --json` prints it. MAS_NOT_FOUND where there is none. */
int tell_session(const struct server *server, const char *id, struct str *to, struct err *err);

#endif
