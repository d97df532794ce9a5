/* What the sources of `mas complete` share. */
#pragma once

#include "cmd.h"

/* The command line typed so far. */
struct typed {
    const struct call *call;
    const struct cmd *cmd; /* its verb or action */
    const char *session; /* value of -s, or NULL */
    char **operands; /* those before the last word */
    size_t operand_count;
    const struct opt *opt; /* option whose value the last word is; NULL: none */
    char *before; /* part of the last word to print before each candidate */
    const char *prefix; /* the rest of the last word; candidates begin with it */
    char **joined; /* words that were passed in parts */
    const char *host; /* machine whose sessions are offered, or NULL */
    bool describe; /* print a tab and a description after each candidate */
};

/* Prints a candidate for the last word, if it begins so and has only characters that mean nothing
 * to a shell. */
void complete_offer(const struct typed *typed, const char *word, const char *about);

/* Returns the host of a word NAME:SESSION, NULL if it is none. */
const char *complete_host_of(const struct typed *typed, const char *word);
/* Offers what the mas of a host offers for the last word, if it answers in time. Sessions in the
 * words before it may be named NAME:SESSION. */
void complete_there(const struct typed *typed, const char *host);
