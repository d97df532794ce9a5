/*
 * A wall without bubblewrap: the arguments of mas-wall for rules of Landlock about files.
 */
#pragma once

#include "wall/bwrap.h"

/* Like wall_bwrap(), for a plan that says so. */
int wall_alone(const struct wall_plan *plan, const char *program, char *const *argv, bool tty,
               struct wall_command *ret, struct err *err);
