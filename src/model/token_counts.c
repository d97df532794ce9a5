#include "model/token_counts.h"

const char *token_kind_name(enum token_kind kind)
{
    static const char *const names[TOKEN_KIND_COUNT] = {
        [TOKENS_TOTAL] = "total",
        [TOKENS_INPUT] = "input",
        [TOKENS_OUTPUT] = "output",
        [TOKENS_THOUGHT] = "thought",
        [TOKENS_CACHED_READ] = "cachedRead",
        [TOKENS_CACHED_WRITE] = "cachedWrite",
    };
    return names[kind];
}

struct token_counts token_counts_none(void)
{
    return (struct token_counts){{-1, -1, -1, -1, -1, -1}};
}

int64_t token_counts_all(const struct token_counts *counts)
{
    int64_t sum = -1;

    if (counts->of[TOKENS_TOTAL] != -1)
        return counts->of[TOKENS_TOTAL];
    for (enum token_kind i = TOKENS_INPUT; i < TOKEN_KIND_COUNT; i++)
        if (counts->of[i] != -1)
            sum = (sum == -1 ? 0 : sum) + counts->of[i];
    return sum;
}

void token_counts_add(struct token_counts *to, const struct token_counts *more)
{
    for (enum token_kind i = 0; i < TOKEN_KIND_COUNT; i++)
        if (more->of[i] != -1)
            to->of[i] = (to->of[i] == -1 ? 0 : to->of[i]) + more->of[i];
}
