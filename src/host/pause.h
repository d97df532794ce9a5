/*
 * Stops a whole tree of processes for a while, and lets it go on:
 *
 *     pause_begin(&pause);
 *     next = pause_tick(&pause, now);        until
 *     pause_end(&pause);
 *
 * It acts on all descendants of this process, which is a subreaper. Their cgroup is frozen, if
 * there is one, which they do not notice. What is not in it gets SIGSTOP: parents are stopped
 * before their children, and go on after them, so that a shell does not take its jobs for stopped.
 * A process that somebody else has stopped stays so.
 *
 * What was being forked meanwhile is found by looking again; what somebody else lets go on is
 * stopped again.
 */
#pragma once

#include "os/proc.h"

struct pause {
    bool on;
    int group; /* the cgroup of the tree; -1: none */
    struct proc_id *stopped; /* sorted */
    size_t count;
    int64_t due; /* the next look */
    int quiet; /* looks in a row that found nothing to stop */
};

#define PAUSE_INIT                                                                                 \
    {                                                                                              \
        .group = -1                                                                                \
    }

void pause_begin(struct pause *pause);
/* Looks again if that is due. Returns when to call again, in monotonic ms; -1: nothing is paused.
 */
int64_t pause_tick(struct pause *pause, int64_t now);
/* Does nothing if nothing is paused. */
void pause_end(struct pause *pause);
