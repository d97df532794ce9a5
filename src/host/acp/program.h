/*
 * A program that an agent asks for with terminal/create:
 *
 *     _cleanup_program_ struct program program = PROGRAM_INIT;
 *     program_read(place, env, is_walled, params, &program);
 *     program_launch(host, &program, times, &supervisor, &out, err);
 *
 * The agent chooses command, arguments, directory and variables, and all of that is for inside of
 * its wall: bubblewrap, mas-network and mas-wall start in the host's own environment, and mas-wall
 * takes that of its program from a descriptor (--environment), last.
 */
#pragma once

#include "base/json.h"
#include "host/acp/files.h"
#include "host/supervisor.h"

struct host;

struct program {
    char **argv, **env;
    char *path; /* NULL behind a wall */
    int cwd; /* -1: the present directory */
};
#define PROGRAM_INIT                                                                               \
    {                                                                                              \
        .cwd = -1                                                                                  \
    }

/* Reads the parameters. Returns NULL, or what is wrong with them. The program gets `env` and the
 * variables that the agent adds, except MAS_ variables. Its directory has to be in the place.
 * `is_walled`: it will be behind a wall, and is looked for there. */
const char *program_read(const struct work_place *place, char *const *env, bool is_walled,
                         const struct json *params, struct program *program);
/* Starts the program under a supervisor, behind the wall of the host's agent (NULL: none). The
 * caller closes *ret_out, from which its output comes.
 */
int program_launch(struct host *host, const struct program *program, struct supervisor_times times,
                   const struct proc_bounds *bounds, struct supervisor *ret, int *ret_out,
                   struct err *err);
void program_free(struct program *program);
#define _cleanup_program_ __attribute__((cleanup(program_free)))
