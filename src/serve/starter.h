/*
 * The second process of mas-serve, which starts programs for it. It is forked before the server has
 * a socket or a token, so that the server can give up to start anything (serve/main.c), and so that
 * no filter holds for what is started: tmux, agents, their walls.
 *
 * It starts two programs: `mas --root ROOT` with the command of an operation, see
 * model/operation.h, and tmux to list sessions or panes. Anything else fails with "Operation not
 * permitted". Its table is constant data of its own, so it is a second check of what the server
 * asks for.
 */
#pragma once

#include "os/proc_starter.h"
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
