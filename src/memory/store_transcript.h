/*
 * How far the transcripts of an agent's program have been read (host/terminal/teller_lines.c), in
 * the store of the agent's session. What a piece of one says of tokens and costs is added together
 * with the place up to which it was read, so that a kill counts nothing twice.
 */
#pragma once

#include "memory/store.h"
#include "model/money.h"
#include "model/token_counts.h"

struct store_transcript {
    const char *agent_session, *file; /* the name of the file, without its directory */
    int64_t offset; /* bytes that have been read */
    int64_t tail; /* a hash of the last ones, by which the file is known again */
    int64_t once; /* a hash of what was counted last; 0: nothing */
    int64_t mark; /* messages up to this number need not be compared with what comes */
};

/* What a piece of a transcript adds to the last turn of the agent session. */
struct store_spending {
    struct token_counts tokens; /* -1: nothing */
    struct money cost;
    int64_t used, size; /* of the context, as it is now; -1: not told */
    const char *model; /* "": not told */
};

/* Returns 1, 0 if nothing of the file has been read, or -1. *ret gets the numbers only. */
int store_transcript_read(struct store *store, const char *agent_session, const char *file,
                          struct store_transcript *ret, struct err *err);
/* Records both. A mark of -1 becomes the newest message of the agent. `query`: for a new row of
 * usage. */
int store_transcript_write(struct store *store, int64_t query, const struct store_transcript *at,
                           const struct store_spending *more, struct err *err);
