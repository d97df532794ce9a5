/*
 * `mas remote check`: what the machines of mas.ini have and lack, each asked as by `doctor
 * --all-hosts`, and for its presets.
 *
 * What they answer is hostile: bounded, parsed strictly, and only members that a table here knows
 * are shown, with control characters made visible.
 */
#pragma once

#include "cmd.h"

/* Asks the machine with this name, or all of mas.ini (NULL), at the same time, and prints a table
 * of facts, or JSON. Fails, after that, if one is wrong: with MAS_UNREACHED if a machine was not
 * reached, with MAS_FAILED otherwise. */
int remote_check(const struct call *call, const char *name, struct err *err);
