/* The pictures that a command gets by --image. */
#pragma once

#include "cmd.h"
#include "store/pictures.h"

#define OPT_IMAGE                                                                                  \
    {                                                                                              \
        0, "image", "FILE", "send this picture with the text; may be repeated"                     \
    }

/* Reads them and keeps them in the workspace `dir`. `input`: the text comes on standard input. */
int picture_files_keep(const struct call *call, int dir, bool input, struct pictures *ret,
                       struct err *err);
