/* Tokens, costs and working time. */
#pragma once

#include "host/talk/talk.h"

/* Reads what the agent has used so far from the store, which was just opened. */
void usage_open(struct host *host);
/* The agent has opened the present session: a new one, or an earlier one. */
void usage_joined(struct host *host, bool is_new);
/* The context is that of this session now, of which the agent itself counts nothing. */
void usage_entered(struct host *host, const char *session, bool is_new);
/* How many turns the team and the agent may have; 0: any number. */
struct usage_turns {
    int64_t team, agent;
};
/* Records that the turn of a prompt begins. Returns false if it may not. */
bool usage_begin(struct host *host, int64_t prompt, const struct usage_turns *most);
/* Records that it has ended. Its end must be stored after that. */
void usage_end(struct host *host, int64_t prompt);
/* Keeps and tells what the agent says that its session uses: tokens of its context, of how many
 * (-1: not told), and what it has cost; and what a turn has used. */
void usage_update(struct host *host, int64_t used, int64_t size, const struct money *cost);
/* `of` is the agent session; NULL: not known. */
void usage_tokens(struct host *host, const char *of, const struct token_counts *told);
/* Keeps and tells what a piece of a transcript adds, with the place up to which it was read. */
struct store_transcript;
struct store_spending;
void usage_step(struct host *host, const struct store_transcript *at,
                const struct store_spending *more);
/* Measures the time in which the turn works. Returns when to call again. */
int64_t usage_tick(struct host *host, int64_t now);
