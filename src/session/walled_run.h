/*
 * Runs programs behind the wall of an agent that its host does not start: the setup of its work
 * tree, the check of its commits, and what a person opens there.
 */
#pragma once

#include "base/kv.h"
#include "code/check.h"
#include "model/team/team.h"
#include "store/config.h"
#include "store/root.h"
#include "wall/bwrap.h"
#include "wall/plan.h"

/* Whose wall. Nothing of it is owned. */
struct walled_agent {
    const struct root *root;
    const struct config *config; /* with the presets */
    const char *id; /* of the session */
    const struct team *team;
    const struct agent *agent;
    bool needs_wall; /* a check fails with MAS_CONFLICT if there is none */
};

/* Runs a program to which a person has said yes with the standard files of this process, and waits
 * for its end. Without a wall, the program runs as it is. *ret_status is the exit code, or 128 +
 * signal. */
int walled_run(const struct walled_agent *of, const char *program, char *const *argv,
               int *ret_status, struct err *err);

/* A program that a person starts in the work tree of an agent, which may have written it, and what
 * it reads. */
struct walled_program {
    const char *file; /* its path */
    char *const *argv;
    const struct kv *own; /* variables that it gets beside those of any agent */
    bool tty; /* standard input and output are a terminal */
    /* Asked if there is no wall: then the program has all that the person has. */
    int (*ask)(void *arg, struct err *err);
    void *arg;
};
/* Runs it in the current directory, behind the wall of the agent, and waits for its end.
 * *ret_status as above. */
int walled_open(const struct walled_agent *of, const struct walled_program *program,
                int *ret_status, struct err *err);

/* *ret tells whether there is a wall for a program of the agent, as far as can be known before. */
int walled_look(const struct walled_agent *of, bool *ret, struct err *err);

/* A check as it is to be started: behind the wall, or as it is. */
struct walled_check {
    struct wall_plan plan;
    struct wall_command command; /* with its descriptors; none without a wall */
    bool is_walled;
    const char *program; /* path */
    char *const *argv;
    char *const *env;
    char **words, **own_env; /* that it owns */
};
#define WALLED_CHECK_INIT                                                                          \
    {                                                                                              \
        .plan = WALL_PLAN_INIT, .command = WALL_COMMAND_INIT                                       \
    }

/* Puts the wall of the agent around a check, which may write to its scratch work tree beside what
 * the agent has. Warns if a wall that is tried only cannot be put up. *ret, initially
 * WALLED_CHECK_INIT, must stay until the check is started; the caller releases it with
 * walled_check_free(). */
int walled_check_make(const struct walled_agent *of, const struct check_program *program,
                      struct walled_check *ret, struct err *err);
void walled_check_free(struct walled_check *check);
#define _cleanup_walled_check_ __attribute__((cleanup(walled_check_free)))
