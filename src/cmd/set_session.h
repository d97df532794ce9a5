/*
 * Part of `mas set`: what holds for a session.
 */
#pragma once

#include "cmd.h"

/* Prints what `mas set` can set for the session operands[0], and where the values come from. */
int set_session_show(const struct call *call, struct err *err);
