/*
 * The tmux servers that a survey asks for their sessions: each once, all at the same time.
 */
#pragma once

#include "client/agent_counts.h"
#include "os/proc.h"
#include "store/root.h"
#include "tmux/tmux.h"

/* A tmux server and its answer. */
struct tmux_server {
    char *socket;
    struct tmux_session *sessions; /* of this root */
    size_t count;
    struct err failure; /* why it could not be asked; code MAS_OK: it answered */
    struct proc proc; /* the tmux client process, while `asking` */
    bool begun; /* it is asked, or need not be */
    bool asking;
    pid_t lost; /* its process, if its socket's file is gone; then that is the failure. 0: no */
    size_t users; /* how often it was added */
    struct tmux_panes_of *panes_of; /* asked for with the sessions; NULL: none */
};

struct servers {
    struct tmux_server *list;
    size_t count;
};

/* Adds a server, if it is not there yet. */
void servers_add(struct servers *servers, const char *socket);
/* Adds the server that a session of this tmux name would have for itself, if there is its socket.
 */
void servers_add_own(struct servers *servers, const char *tmux_name);
/* Returns NULL if it was not added. It stays valid until the next one is added. */
struct tmux_server *servers_find(const struct servers *servers, const char *socket);
/* Starts to ask a server. One that does not answer on its socket has no sessions. */
void servers_begin(struct tmux_server *server);
/* Asks all that were not asked yet, some at a time, and waits for the answers. Sessions of other
 * roots are dropped. */
void servers_ask(const struct root *root, struct servers *servers);
/* Returns why the server with this socket could not be asked, or for socket NULL any; NULL if it
 * could. */
const struct err *servers_failure(const struct servers *servers, const char *socket);
/* Returns how many sessions they have. */
size_t servers_live(const struct servers *servers);
/* Waits for the processes that ask, and frees the answers. */
void servers_free(struct servers *servers);
#define _cleanup_servers_ __attribute__((cleanup(servers_free)))

/* ---- servers that need not be asked
 *
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

/* A server of one session. */
struct vouch {
    const char *socket; /* not owned; as the server was started with it */
    const struct agent_counts *counts; /* what the hosts of its session have told; not owned */
    bool good; /* set by vouch_check() */
    bool listens, busy; /* of servers.c */
};

/* Sets `good` of each; with the same pids and sockets as this process sees them. */
void vouch_check(struct vouch *list, size_t count);
