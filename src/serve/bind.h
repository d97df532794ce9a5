/*
 * The listening sockets: an address, a Unix socket, or sockets from systemd.
 */
#pragma once

#include "store/config.h"
#include "store/root.h"

enum { BIND_MAX = 8 };

struct binding {
    int fd;
    bool local; /* a Unix socket */
    char *name; /* "http://127.0.0.1:8765" or "unix:/path" */
    char *path; /* of a Unix socket created here, to be removed; NULL: none */
};

struct bindings {
    struct binding at[BIND_MAX];
    size_t count;
};

/* Opens the sockets that the settings name, or takes those from systemd, at most BIND_MAX. Listens
 * beyond loopback only with TLS or if the settings allow it. A stale Unix socket is replaced.
 * Release *ret with bind_end(). Fails with MAS_CONFLICT if the path of the Unix socket is in
 * use. */
int bind_all(const struct root *root, const struct config *config, struct bindings *ret,
             struct err *err);
/* Closes the sockets and removes the Unix socket. */
void bind_end(struct bindings *bindings);
/* Returns true if any of them is not a Unix socket. */
bool bind_is_open(const struct bindings *bindings);
