/*
 * The options of mas-wall.
 */
#pragma once

#include "filter/filter.h"
#include "os/landlock.h"

/* The parts of a wall that --require names. */
enum {
    PART_FILES = 1,
    PART_NETWORK = 2,
    PART_SIGNALS = 4,
    PART_SOCKETS = 8, /* abstract ones */
    PART_CALLS = 16,
};

struct entry_options {
    bool probe;
    bool tty;
    unsigned required; /* parts */
    struct filter_agent filter;
    struct landlock landlock; /* owns its arrays */
    int init; /* --init: the socket; 0: without */
    int keep; /* a descriptor that the program gets, too; 0: none */
    int environment; /* a descriptor with its environment; 0: that of this program */
    char *const *program; /* and its arguments; borrowed */
};

/* The caller releases *ret with options_free(), also after a failure. */
int options_parse(int argc, char **argv, struct entry_options *ret, struct err *err);
void options_free(struct entry_options *options);
