/*
 * Where people came from: sessions/.came-from, the places that `mas next` left, for `mas next
 * --back`. A terminal keeps its name when its tmux client is handed over to another server, so
 * places are found by that. The file is a cache and is not synced; a line that mas would not write
 * is ignored.
 *
 *     /dev/pts/3 $1 @4 %12 /tmp/tmux-1000/default
 */
#pragma once

#include "store/root.h"

#define CAME_FROM_FILE ".came-from"
#define CAME_FROM_LOCK ".came-from.lock"

enum {
    CAME_FROM_MAX = 256, /* places in all; the oldest are dropped */
    CAME_FROM_FILE_MAX = 256 * 1024, /* bytes */
    CAME_FROM_WORD_MAX = 64, /* bytes of a name, with the NUL */
};

struct came_from {
    char terminal[CAME_FROM_WORD_MAX];
    char session[24], window[24], pane[24]; /* tmux's ids; the reader checks them */
    char socket[108];
};

/* Adds a place, unless it is the last one of that terminal already. */
int came_from_push(const struct root *root, const struct came_from *place, struct err *err);
/* Removes the last place of a terminal and stores it in *ret. Returns 1; 0 if there is none; -1 on
 * failure. */
int came_from_pop(const struct root *root, const char *terminal, struct came_from *ret,
                  struct err *err);
