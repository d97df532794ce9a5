/*
 * mas-network: the only way out of a network namespace, for the hosts of a list.
 *
 *     mas-network outside LOG LIST -- PROGRAM...    runs PROGRAM, which makes the namespace
 *     mas-network inside LIST TINYPROXY -- PROGRAM... runs in it
 *
 *     outside                              | the namespace: a loopback and nothing else
 *                                          |
 *       guard, the gate that it starts,    | 127.0.0.1:1080   the agent's programs, tinyproxy
 *       and a spare guard; the gate        |
 *         accepts on the socket of 1080,   | 127.0.0.1:3128   tinyproxy: HTTP
 *         resolves, checks, connects       |                  a keeper that starts it again
 *
 * `inside` makes the socket that listens at 1080 and sends it through NETWORK_FD to the guard. A
 * socket stays in the namespace that it was made in, so what is accepted on it comes from inside,
 * and no other program of this machine can connect to it. The gate speaks SOCKS5, which carries a
 * name and a port and little else, so little is to be parsed outside. It alone decides: it compares
 * the name with the list before it asks a resolver, and the address that it is about to connect to.
 *
 * tinyproxy turns HTTP, which programs speak with proxies, into that. It runs inside, behind the
 * same walls as the agent: whoever takes it over has gained nothing. Its filter knows the list too,
 * so that a program gets an answer of HTTP with the reason.
 *
 * This way around, because tinyproxy alone cannot hold the wall: it does not look at the address
 * that a name resolves to, it can only listen at an address of its own namespace, where every user
 * of the machine could use it, and it parses what an agent writes. squid looks at addresses, but
 * listens in the same way and takes 30 MiB; dante and microsocks speak no HTTP.
 *
 *     mas-network outside ... -- bwrap ... -- mas-wall ... -- mas-network inside ... -- PROGRAM
 *      ├ mas-network       the guard: has the socket of the namespace, ends with bwrap
 *      │  ├ mas-network    the gate: SOCKS5; a thread for each connection; started again if it ends
 *      │  └ mas-net-spare  becomes the guard if that is killed; if both are, the supervisor tells
 *      │                   the host
 *      └ (inside) mas-net-inside, tinyproxy   a keeper and what it keeps; not parents of PROGRAM
 *
 * `outside` becomes bubblewrap and `inside` becomes the program, so the supervisor sees the
 * processes that it would see without them. The configuration of tinyproxy is in memory: no file is
 * left.
 */
#pragma once

#include "model/network.h"

enum {
    /* Between `outside` and `inside`; what runs between them leaves it open: wall/bwrap.c. */
    NETWORK_FD = 250,
    NETWORK_SOCKS_PORT = 1080,
    NETWORK_HTTP_PORT = 3128,
    NETWORK_BACKLOG = 128,
    NETWORK_PAUSE_MS = 200, /* before what has ended is started again; doubles each time */
};

/* Lets the process be `program` and leaves a guard behind. Returns only on failure. */
int network_outside(const char *log, const struct network *network, char *const *program,
                    struct err *err);

/* Starts tinyproxy, waits until it listens, and becomes `program` with the variables of proxies in
 * its environment. Returns only on failure. */
int network_inside(const struct network *network, const char *tinyproxy, char *const *program,
                   struct err *err);

/* The log that guard and gate write. */
struct network_log {
    int dir; /* -1: none */
    const char *name;
};

/* Appends a line with the time. Makes control characters visible. */
void network_log(const struct network_log *log, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Serves the connections of the listening socket. Never returns. */
__attribute__((noreturn)) void network_gate(int listener, const struct network *network,
                                            const struct network_log *log);

/* Detaches the process from its terminal, its parent's signals and all descriptors but `keep`,
 * which it moves to 3, 4, ...; -1 stays -1. */
void network_detach(const char *name, int **keep, size_t count);
