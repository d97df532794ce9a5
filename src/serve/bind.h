/*
 * Where the server listens: an address, a Unix socket, or what systemd hands over.
 */
#ifndef MAS_SERVE_BIND_H
#define MAS_SERVE_BIND_H

#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>

enum { BIND_MAX = 8 };

struct binding {
    int fd;
    bool local; /* a Unix socket */
    char *name; /* "http://127.0.0.1:8765" or "unix:/path" */
    char *path; /* of a Unix socket that was made here; NULL: none to remove */
};

struct bindings {
    struct binding at[BIND_MAX];
    size_t count;
};

/* Beyond loopback only with TLS, or where the settings allow it. */
int bind_all(const struct root *root, const struct config *config, struct bindings *ret,
             struct err *err);
/* Closes; removes the socket. */
void bind_end(struct bindings *bindings);
/* true if something else than Unix sockets is among them. */
bool bind_is_open(const struct bindings *bindings);

#endif
