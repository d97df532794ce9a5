/*
 * Queries for workers. They use only those members of the server that never change.
 */
#pragma once

struct server;

/* Writes the whole session as `mas show --json` prints it. Fails with MAS_NOT_FOUND if it does not
 * exist. */
int tell_session(const struct server *server, const char *id, struct str *to, struct err *err);
