/*
 * Client calls of tmux; for tmux.c, tmux_act.c and tmux_build.c only.
 */
#ifndef MAS_TMUX_TMUX_CALL_H
#define MAS_TMUX_TMUX_CALL_H

#include "base/err.h"
#include "base/proc.h"
#include "base/str.h"
#include "model/team.h"

#include <stdbool.h>

struct tmux_call {
    const char *socket;
    const char *const *args; /* NULL-terminated, behind `tmux -u -S <socket>`; at most 12 */
    const struct str *script; /* standard input, for `source-file -`; NULL: none */
    int dir; /* -1: where mas is */
    bool starts_server; /* give it what a server is to have, and a scope of its own */
    bool plain; /* but no scope */
};

int tmux_call_start(const struct tmux_call *call, struct proc *ret, struct err *err);
/* Waits for its end, as long as the server does something. */
int tmux_finish(struct proc *proc, struct proc_result *ret, struct err *err);
/* Runs it to its end; a client that fails is not an error here: see ret->status. */
int tmux_call(const struct tmux_call *call, struct proc_result *ret, struct err *err);

/* Appends text as one word of a tmux script, with nothing in it expanded by its parser. */
void tmux_add_word(struct str *script, const char *text);

/* MAS_TMUX, "cannot <what>: <the first line that tmux printed>". */
int tmux_fail(const struct proc_result *result, const char *what, struct err *err);

/* true if tmux said that no server is there (any more). */
bool tmux_said_gone(const struct proc_result *result);

/* The first line that tmux printed, cut off; then strtok_r(NULL, "\n", save). NULL: none. */
char *tmux_first_line(struct proc_result *result, char **save);

/* Ids of sessions ($1), windows (@1) and panes (%1) go back to tmux as targets: true for a good
 * one. */
bool tmux_is_target(const char *text, char sigil);

/* Finds the agent in a pane's start command "... host <id> <agent>"; false where it is no agent. */
bool tmux_agent_of(const char *command, const char *id, char ret[TEAM_WORD_MAX + 1]);

#endif
