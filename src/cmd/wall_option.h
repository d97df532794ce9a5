/*
 * The option --wall of `mas new` and `mas start`.
 */
#pragma once

#include "cmd.h"
#include "model/wall.h"

#define WALL_OPTION                                                                                \
    {                                                                                              \
        0, "wall", "[=LEVEL]",                                                                     \
            "put walls around the agents: try (without LEVEL), require, off, or default",          \
            OFFER_NONE                                                                             \
    }

/* Reads it. *ret_given is `ret`, or NULL without the option. */
int wall_option_read(const struct call *call, enum wall_level *ret,
                     const enum wall_level **ret_given, struct err *err);
