/*
 * What this machine can hold.
 */
#ifndef MAS_WALL_PROBE_H
#define MAS_WALL_PROBE_H

#include "base/err.h"

#include <stdbool.h>

enum { WALL_LANDLOCK_SCOPES = 6 }; /* the first version of Landlock that holds signals */

struct wall_probe {
    bool looked; /* false: the next two are unknown */
    int landlock; /* version of its interface; 0: there is none */
    bool seccomp;
    char *bwrap; /* path of bubblewrap, which works here; NULL: there is none */
    struct err bwrap_lacks; /* why not, and what to do */
};

#define WALL_PROBE_INIT                                                                            \
    {                                                                                              \
        .bwrap = NULL                                                                              \
    }

/* Looks for bubblewrap in `search` (PATH) and tries it, and asks mas-wall, at the path `enter`,
 * what the kernel has. Does nothing if it has been found before. The caller releases *probe with
 * wall_probe_free(). */
void wall_probe_look(struct wall_probe *probe, const char *search, const char *enter);
/* Fails with the first thing that is missing. */
int wall_probe_lacks(const struct wall_probe *probe, struct err *err);
/* Fails if something is missing that a required wall of this agent needs. */
int wall_probe_check(const struct wall_probe *probe, const char *agent, struct err *err);
void wall_probe_free(struct wall_probe *probe);
#define _cleanup_wall_probe_ __attribute__((cleanup(wall_probe_free)))

#endif
