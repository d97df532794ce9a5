/*
 * The wall around the programs that a host starts: the agent, and those that the agent asks for.
 * Each gets a wall of its own, with the same plan.
 */
#pragma once

#include "host/supervisor.h"
#include "wall/bwrap.h"
#include "wall/plan.h"

struct host;

/* What a program behind a wall is started with. */
struct walled {
    struct wall_plan plan;
    struct wall_command command;
    char **argv;
};

#define WALLED_INIT                                                                                \
    {                                                                                              \
        .plan = WALL_PLAN_INIT, .command = WALL_COMMAND_INIT                                       \
    }

/* Changes the spec of a program, which is complete otherwise, so that it starts behind the wall of
 * the agent, if it has one. The agent itself (`is_agent`) is also told what its preset has for the
 * inside of a wall. Fails if the wall is required and cannot be put up. The spec points
 * into *ret, which must be WALLED_INIT; the caller releases it with walled_free() after the
 * start. */
int host_wall_around(struct host *host, bool is_agent, struct supervisor_spec *spec,
                     struct walled *ret, struct err *err);
/* Returns true if a wall holds the files of the agent that runs, and of the programs that it asks
 * for. */
bool host_wall_is_up(const struct host *host);
/* Removes what the agent has left in /tmp and in its home, unless its session is another machine's
 * now. */
void host_wall_close(struct host *host);
/* Says that nothing lets the agent's connections through any more, until it is started again. */
void host_wall_lost_network(struct host *host);
/* The program of a wall that tells has ended, and the agent has never begun: what is known of this
 * machine is out of date. */
void host_wall_fell(struct host *host);
void walled_free(struct walled *walled);
#define _cleanup_walled_ __attribute__((cleanup(walled_free)))
