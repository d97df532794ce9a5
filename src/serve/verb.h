/*
 * Running verbs of mas: what changes something is done by `mas` itself, in a process of its own, so
 * that it means the same here and on a command line, and is whole whatever becomes of this server.
 * For workers.
 */
#ifndef MAS_SERVE_VERB_H
#define MAS_SERVE_VERB_H

#include "base/err.h"
#include "base/proc.h"

struct server;

/* Runs `mas --root ROOT WORD...`; input NULL: none. *ret_out, what it printed, may be NULL. On
 * failure err has its exit code and its words. */
int verb_run(const struct server *server, const char *const *words, const struct str *input,
             struct str *ret_out, struct err *err);

/* The environment for verbs, from this process's: without what says that it runs in a team. */
char **verb_env(void);

#endif
