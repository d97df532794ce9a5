/*
 * The arguments of bubblewrap; only this module knows them.
 */
#pragma once

#include "wall/plan.h"

/* A program as it is started. */
struct wall_command {
    const char *program; /* path */
    char **argv;
    int *fds; /* its descriptors 3, 4, ... */
    size_t fd_count;
    bool tells; /* and one more may follow: a socket for what wall/told.h says */
    int args; /* the arguments of bubblewrap, in memory */
    int environment; /* of the program inside, in memory */
    char **own; /* see wall_command_own_env() */
};

#define WALL_COMMAND_INIT                                                                          \
    {                                                                                              \
        .args = -1, .environment = -1                                                              \
    }

/* Adds a descriptor, which the caller keeps. Returns its number in the program. */
size_t wall_command_add_fd(struct wall_command *command, int fd);
/* Lets mas-wall, whose options come next, take the environment of the plan for its program. Those
 * who put up the wall get none of it: an agent may have chosen it, and what loads libraries, for
 * one, would let it in where nothing holds it yet. */
int wall_command_add_environment(struct wall_command *command, const struct wall_plan *plan,
                                 struct err *err);
/* Returns the environment for those who put up the wall, from one that no agent has chosen. They
 * start in the agent's directory, where they must load nothing. It belongs to the command. */
char *const *wall_command_own_env(struct wall_command *command, char *const *env);

/* Puts the wall around a command, which starts in `cwd` ("": where it can). `tty`: it is on a
 * terminal. The plan must stay until it is started. The caller
 * releases *ret with wall_command_free(). */
int wall_bwrap(const struct wall_plan *plan, char *const *argv, const char *cwd, bool tty,
               struct wall_command *ret, struct err *err);
void wall_command_free(struct wall_command *command);
#define _cleanup_wall_command_ __attribute__((cleanup(wall_command_free)))
