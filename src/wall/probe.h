/*
 * What this machine can hold.
 */
#pragma once

#include "os/proc.h"

enum { WALL_LANDLOCK_SCOPES = 6 }; /* the first version of Landlock that holds signals */

struct wall_probe {
    bool looked; /* false: the next two are unknown */
    int landlock; /* version of its interface; 0: there is none */
    bool seccomp;
    char *bwrap; /* path of bubblewrap, which works here; NULL: there is none */
    struct err bwrap_lacks; /* why not, and what to do */
    struct proc *trial; /* of bubblewrap, that runs; NULL: none */
    char *tried; /* path of that bubblewrap */
    char **
        secrets; /* what `mas start` has found, for the first plan: wall/secrets.h; NULL: unknown */
    int cache; /* the directory of WALL_PROBE_FILE, borrowed; -1: without */
};

#define WALL_PROBE_INIT                                                                            \
    {                                                                                              \
        .cache = -1                                                                                \
    }

/* A cache of what has worked, so that not each start tries it: two lines, what it holds for (the
 * boot, the namespaces and rights of the process, both programs) and wall_probe_format(). What it
 * says is only ever that something works; a wall that rests on it fails where it does not. */
#define WALL_PROBE_FILE ".wall-probe"

/* Looks for bubblewrap in `search` (PATH) and tries it with mas-wall, at the path `enter`, which
 * says what the kernel has. Does nothing if all has been found before. The caller releases *probe
 * with wall_probe_free(). */
void wall_probe_look(struct wall_probe *probe, const char *search, const char *enter);
/* Begins to look, and does not wait for what it finds: wall_probe_look() does. */
void wall_probe_begin(struct wall_probe *probe, const char *search, const char *enter);
/* Appends what works, for another process that has to know: a line without its end. Appends nothing
 * if bubblewrap does not work: then that process looks itself. */
void wall_probe_format(const struct wall_probe *probe, struct str *to);
/* The wall did not come up: forgets that bubblewrap works, and the cache. */
void wall_probe_forget(struct wall_probe *probe);
/* Reads that line. What it says is only ever that something works, so that a wall which rests on it
 * fails where it does not. Returns false if it says nothing, or no such program is here. */
bool wall_probe_parse(const char *text, struct wall_probe *ret);
/* Fails with the first thing that is missing. */
int wall_probe_lacks(const struct wall_probe *probe, struct err *err);
/* Fails if something is missing that a required wall of this agent needs. */
int wall_probe_check(const struct wall_probe *probe, const char *agent, struct err *err);
void wall_probe_free(struct wall_probe *probe);
#define _cleanup_wall_probe_ __attribute__((cleanup(wall_probe_free)))
