/*
 * Runs a check ([code] check) as the programs of its agent run: behind the agent's wall, with its
 * limits, below a supervisor. When the check ends, takes too long, or mas is killed, the supervisor
 * ends all that the check has started, also what has left its group, its session and its parent.
 *
 * The cgroup of a check is PARENT/mas-<session>/<agent>+check, beside that of the agent, with the
 * limits of the agent. A check that the agent itself starts is in the agent's group.
 */
#pragma once

#include "code/check.h"
#include "session/walled_run.h"

/* For `run` of struct check; `arg` is the struct walled_agent. This process must not need a child
 * that runs meanwhile: what the supervisor could not end is swept away. */
int check_run_held(void *arg, const struct check_program *program, int *ret_status,
                   struct err *err);
