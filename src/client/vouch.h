/*
 * Finds the tmux servers that need not be asked, because the hosts of their only session have told
 * everything. A client of tmux costs a process; where each session has a server of its own, a list
 * of a hundred sessions would start a hundred.
 *
 * A server is left alone if all of this holds: it listens; nobody is connected to it, so nobody is
 * attached; every agent of the team has a host that answers; and its only children are these hosts,
 * so there is no other pane. Everything else, and everything that cannot be seen, is a case for
 * tmux.
 *
 * A new name that a person has given to such a tmux session is not seen as long as nobody is
 * attached.
 */
#pragma once

#include "client/agent_counts.h"

/* A server of one session. */
struct vouch {
    const char *socket; /* not owned; as the server was started with it */
    const struct agent_counts *counts; /* what the hosts of its session have told; not owned */
    bool good; /* set by vouch_check() */
    bool listens, busy; /* of vouch.c */
};

/* Sets `good` of each; with the same pids and sockets as this process sees them. */
void vouch_check(struct vouch *list, size_t count);
