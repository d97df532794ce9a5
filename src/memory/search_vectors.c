#include "memory/search_parts.h"

void vectors_free(struct vectors *vectors)
{
    (void)vectors;
}
int search_use_vectors(struct search *search, const char *command, struct err *err)
{
    (void)search;
    (void)command;
    (void)err;
    return 0;
}
int search_rank_vectors(struct search *search, const char *text, const struct pool *pool,
                        struct best *ret, struct err *err)
{
    (void)search;
    (void)text;
    (void)pool;
    (void)ret;
    (void)err;
    return 0;
}
