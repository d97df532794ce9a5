/*
 * A program that an agent wants to be run, as the parameters of its terminal/create say.
 */
#ifndef MAS_HOST_TALK_PROGRAM_H
#define MAS_HOST_TALK_PROGRAM_H

#include "base/err.h"
#include "base/json.h"
#include "host/supervisor.h"
#include "host/talk_files.h"

struct program {
    char **argv, **env;
    char *path;
    int cwd; /* -1: the present directory */
};
#define PROGRAM_INIT                                                                               \
    {                                                                                              \
        .cwd = -1                                                                                  \
    }

/* NULL, or what is wrong. `env` is what it gets besides what the agent adds, whose MAS_ variables
 * are left out; the directory has to be in the place. */
const char *program_read(const struct talk_place *place, char *const *env,
                         const struct json *params, struct program *program);
/* Starts it under a supervisor; *ret_out is where its output comes from, the caller's to close. */
int program_launch(const struct program *program, struct supervisor_times times,
                   struct supervisor *ret, int *ret_out, struct err *err);
void program_free(struct program *program);
#define _cleanup_program_ __attribute__((cleanup(program_free)))

#endif
