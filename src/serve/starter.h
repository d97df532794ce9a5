/*
 * The second process of mas-serve, which starts programs for it. It is forked before the server has
 * a socket or a token, so that the server can give up to start anything (serve/main.c), and so that
 * no filter holds for what is started: tmux, agents, their walls.
 *
 * It starts two programs: `mas --root ROOT` with the verbs and options in the table in starter.c,
 * and tmux to list sessions or panes. A new address that runs another verb, or another option of
 * one, needs it in that table; otherwise it fails with "Operation not permitted".
 */
#ifndef MAS_SERVE_STARTER_H
#define MAS_SERVE_STARTER_H

#include "base/proc_starter.h"
#include "store/root.h"

struct starter {
    struct proc_starter process;
    const char *mas; /* path of the program */
    const struct root *root;
    char **env, **tmux_env;
};

/* Forks the process. From now on, proc_start() asks it. `mas` and `root` must outlive it. */
int starter_begin(struct starter *starter, const char *mas, const struct root *root,
                  struct err *err);
/* Ends it; what it has started goes on. */
void starter_end(struct starter *starter);

/* Returns true if mas may be started with these words, from the verb on. */
bool starter_accepts_verb(char *const *words);

#endif
