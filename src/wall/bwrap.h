/*
 * The arguments of bubblewrap; only this module knows them.
 */
#ifndef MAS_WALL_BWRAP_H
#define MAS_WALL_BWRAP_H

#include "wall/plan.h"

/* A program as it is started. */
struct wall_command {
    const char *program; /* path */
    char **argv;
    int *fds; /* its descriptors 3, 4, ... */
    size_t fd_count;
    bool tells; /* and one more may follow: a socket for what wall/told.h says */
    int args; /* the arguments of bubblewrap, in memory */
};

#define WALL_COMMAND_INIT                                                                          \
    {                                                                                              \
        .args = -1                                                                                 \
    }

/* Puts the wall around a command, which starts in `cwd` ("": where it can). `tty`: it is on a
 * terminal. The plan must stay until it is started. The caller
 * releases *ret with wall_command_free(). */
int wall_bwrap(const struct wall_plan *plan, char *const *argv, const char *cwd, bool tty,
               struct wall_command *ret, struct err *err);
void wall_command_free(struct wall_command *command);
#define _cleanup_wall_command_ __attribute__((cleanup(wall_command_free)))

#endif
