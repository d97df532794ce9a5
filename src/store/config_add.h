/*
 * Adding to the mas.ini of a root: the one way in which mas writes there. file_replace() makes the
 * file anew, so a kill leaves the old one or the new one.
 */
#pragma once

#include "store/root.h"

/* Returns 0 if the lines are still to be added, 1 if they are there already, or -1 with *err set.
 */
typedef int config_add_check(void *arg, struct err *err);

/* Appends a section, "[host n1]\nvia = ssh:n1\n", below an empty line. `check` looks first, while
 * nobody else adds anything; NULL: there is nothing to look at. */
int config_add(const struct root *root, const char *lines, config_add_check *check, void *arg,
               struct err *err);
