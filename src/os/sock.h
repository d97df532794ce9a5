/*
 * Unix stream sockets, named by a directory and a file name. The path goes through /proc/self/fd,
 * so the limit of 107 bytes applies to the file name only and a root may be arbitrarily deep.
 */
#pragma once

/* Listens at `name`, to which only the owner can connect. Replaces an existing file: the caller
 * holds the lock that guarantees that no process listens there. The name is moved into place once
 * connections are possible (os/watch.h: WATCH_CAME). Returns a non-blocking descriptor, or -1. */
int sock_listen(int dir, const char *name, struct err *err);

/* Connects to a process of this user without blocking. Returns the descriptor, or -1 with errno
 * (ENOENT, ECONNREFUSED: no process listens; EAGAIN: the queue is full; EPERM: a process of another
 * user listens; it was sent nothing). */
int sock_connect(int dir, const char *name);

/* Sets *ret_pid to the process at the other end of a connection: the one that connected, or the one
 * that listens. Returns -1 with errno (EPERM: it belongs to another user). */
int sock_peer(int fd, pid_t *ret_pid);

/* Accepts a connection if the process at its other end belongs to this user. *ret_peer is the pid
 * that connected. Returns a non-blocking descriptor, or -1 with errno (EAGAIN: no connection waits;
 * EPERM: a process of another user, rejected). */
int sock_accept(int listener, pid_t *ret_peer);

/* Called for a socket with a path: one that listens or, once for each connection to it, the end of
 * the process that listens. `inode` is what /proc shows of its descriptor. */
typedef void sock_seen(const char *path, bool listens, ino_t inode, void *arg);
/* Calls on_seen for the stream sockets of this network namespace. Paths are as their processes gave
 * them. Fails if the kernel does not tell, or tells too much. */
int sock_each(sock_seen *on_seen, void *arg, struct err *err);

/* Makes a pair of sockets that keep the bounds of messages. Returns -1 with errno. */
int sock_pair(int ret[2]);
/* Receives one message of such a socket, as recv(2). If the other end was closed with
 * messages unread, the kernel reports that before the messages that still wait here: they are
 * received all the same. */
ssize_t sock_receive_message(int fd, void *buf, size_t size, int flags);

enum { SOCK_FILES_MAX = 8 };

/* Sends all of it, and up to SOCK_FILES_MAX descriptors with its first byte. Waits while the socket
 * is full. Returns -1 with errno. */
int sock_send_files(int fd, const char *bytes, size_t len, const int *fds, size_t count);

/* Receives once, without waiting, and stores the descriptors that came in fds[], which has room for
 * `max`. The caller closes them; they are close-on-exec. Returns the number of bytes, 0 at the end,
 * or -1 with errno (EMSGSIZE: more descriptors came; all are closed). */
ssize_t sock_receive_files(int fd, char *buf, size_t size, int *fds, size_t max, size_t *ret_count);

/* Returns true if nobody listens on a TCP port, at any address. */
bool sock_port_is_free(int port);
/* Reads which ports the kernel gives to any program that connects. */
void sock_kernel_ports(int *ret_low, int *ret_high);
