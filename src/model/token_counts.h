/*
 * Counts of tokens, as agents tell them of a turn.
 */
#pragma once

enum token_kind {
    TOKENS_TOTAL,
    TOKENS_INPUT,
    TOKENS_OUTPUT,
    TOKENS_THOUGHT,
    TOKENS_CACHED_READ,
    TOKENS_CACHED_WRITE,
    TOKEN_KIND_COUNT
};

/* The largest count that is believed. */
#define TOKENS_MAX (INT64_C(1) << 40)

struct token_counts {
    int64_t of[TOKEN_KIND_COUNT]; /* -1: not told */
};

/* Returns "total", "input", "cachedRead", ... */
const char *token_kind_name(enum token_kind kind);
/* Returns counts of which none is told. */
struct token_counts token_counts_none(void);
/* Returns the total; if that is not told, the sum of what is; -1: nothing is told. */
int64_t token_counts_all(const struct token_counts *counts);
/* Adds `more`, as far as it is told. */
void token_counts_add(struct token_counts *to, const struct token_counts *more);
