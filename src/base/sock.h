/*
 * Unix stream sockets by name in a directory. The path goes through /proc/self/fd, so that the
 * limit of 107 bytes is one on the name alone and a root may be as deep as it likes.
 */
#ifndef MAS_BASE_SOCK_H
#define MAS_BASE_SOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Listens at `name`, which only the owner can connect to; replaces what is there: the caller holds
 * the lock that says that nobody listens. The name is moved into place once it can be connected to
 * (inotify: IN_MOVED_TO). Non-blocking. Returns the descriptor or -1. */
int sock_listen(int dir, const char *name, struct err *err);

/* Connects without blocking, to a process of this user. Returns the descriptor, or -1 with errno
 * (ENOENT, ECONNREFUSED: nobody listens; EAGAIN: too many wait there already; EPERM: a stranger
 * listens, who was sent nothing). */
int sock_connect(int dir, const char *name);

/* The process at the other end of a connection: who connected, or who listens. -1 with errno
 * (EPERM: it belongs to another user). */
int sock_peer(int fd, pid_t *ret_pid);

/* Takes a connection, non-blocking, if the process at its other end belongs to this user. Returns
 * the descriptor, or -1 with errno (EAGAIN: there is none; EPERM: a stranger, turned away).
 * ret_peer is the pid that connected. */
int sock_accept(int listener, pid_t *ret_peer);

#endif
