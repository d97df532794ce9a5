/*
 * What the panes of agents show: the hosts name the panes, tmux has the text.
 */
#pragma once

#include "client/roster.h"
#include "tmux/tmux.h"

struct screens {
    struct roster roster; /* one session; the caller adds the agents */
    struct tmux_screen *shown; /* one per agent, after screens_look() */
};

#define SCREENS_INIT                                                                               \
    {                                                                                              \
        .roster = ROSTER_INIT                                                                      \
    }

/* Reads the screens, with `history` lines above them. Starts tmux once if the hosts of all agents
 * answer, for any number of agents; for one agent without a script (tmux_only_reads()). */
int screens_look(const struct root *root, struct screens *screens, int history, struct err *err);
void screens_free(struct screens *screens);
#define _cleanup_screens_ __attribute__((cleanup(screens_free)))

/* Fails with MAS_NOT_FOUND if the pane of agent `i` is gone. */
int screens_failure(const struct screens *screens, size_t i, struct err *err);
/* Appends {"sessionId":..,"agents":[{"id","pane","text"}]}. */
void screens_put(const struct screens *screens, struct str *to);
