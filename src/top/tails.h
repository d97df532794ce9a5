/*
 * Follows what agents on the screen print and say: it listens to the hosts of ACP agents, and reads
 * the logs of the others when they have grown.
 */
#pragma once

#include "os/loop.h"
#include "top/rows.h"
#include "top/table.h"

struct tails {
    const struct root *root;
    struct top_table *table;
    int64_t rest_ms; /* no host is read before that; monotonic */
    /* of this turn */
    bool reads;
    struct loop *loop;
    int64_t now, until;
    int loads; /* how many logs and stores may still be read */
};

/* Gives tails to these agents, and takes them from all others. `chosen` (NULL: none) gets a
 * preview. Call it whenever the screen shows other agents. */
void tails_show(struct tails *tails, struct top_agent *const *agents, size_t count,
                struct top_agent *chosen);
/* As in feed.h. */
int64_t tails_want(struct tails *tails, struct loop *loop);
void tails_turn(struct tails *tails, struct loop *loop);
