/*
 * Keeps what this process prints until it has given back what others wait for, a lock or a snapshot
 * of a database: an agent gives its commands descriptors of its own, and need not read what comes
 * on them.
 */
#pragma once

enum { HELD_OUTPUTS = 2 }; /* standard output and error */

struct held_output {
    int to[HELD_OUTPUTS]; /* where it goes in the end; -1: it is not held */
};
#define HELD_OUTPUT_INIT                                                                           \
    {                                                                                              \
        {                                                                                          \
            -1, -1                                                                                 \
        }                                                                                          \
    }

/* From here on both are kept in memory. Does nothing if that is impossible. */
void held_output_begin(struct held_output *held);
/* Prints what was kept. Does nothing if nothing is held. */
void held_output_end(struct held_output *held);
#define _cleanup_held_output_ __attribute__((cleanup(held_output_end)))
