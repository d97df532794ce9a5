/* The pool that a search chooses from, and the best of it. */
#include "memory/search_internal.h"

#include <stdlib.h>

/* ---- the best of many: a heap with the worst on top */

static bool is_better(const struct ranked *x, const struct ranked *y)
{
    return x->score != y->score ? x->score > y->score : x->id > y->id;
}

static void sink(struct best *best, size_t at)
{
    for (;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < best->count; child++) {
            if (is_better(&best->items[worst], &best->items[child]))
                worst = child;
        }
        if (worst == at)
            return;
        struct ranked item = best->items[at];
        best->items[at] = best->items[worst];
        best->items[worst] = item;
        at = worst;
    }
}

static void start_job(struct best *best, size_t at)
{
    while (at > 0 && is_better(&best->items[(at - 1) / 2], &best->items[at])) {
        struct ranked item = best->items[at];
        best->items[at] = best->items[(at - 1) / 2];
        best->items[(at - 1) / 2] = item;
        at = (at - 1) / 2;
    }
}

void best_push(struct best *best, int64_t id, double score)
{
    struct ranked item = {.id = id, .score = score};

    if (best->items == NULL)
        best->items = mem_alloc(best->most * sizeof *best->items);
    if (best->count < best->most) {
        best->items[best->count] = item;
        start_job(best, best->count++);
    } else if (is_better(&item, &best->items[0])) {
        best->items[0] = item;
        sink(best, 0);
    }
}

static int compare_best(const void *a, const void *b_)
{
    return is_better(a, b_) ? -1 : is_better(b_, a);
}

static int compare_ids(const void *a, const void *b_)
{
    const struct ranked *x = a;
    const struct ranked *y = b_;
    return x->id < y->id ? -1 : x->id > y->id;
}

void ranked_sort(struct ranked *items, size_t count)
{
    if (count > 0)
        qsort(items, count, sizeof *items, compare_ids);
}

const struct ranked *ranked_find(const struct ranked *items, size_t count, int64_t id)
{
    const struct ranked key = {.id = id};
    return count > 0 ? bsearch(&key, items, count, sizeof key, compare_ids) : NULL;
}

void best_sort(struct best *best)
{
    if (best->count > 0)
        qsort(best->items, best->count, sizeof *best->items, compare_best);
}

void best_free(struct best *best)
{
    free(best->items);
    *best = (struct best){.count = 0};
}

/* ---- the pool */

bool pool_has_segment(const struct pool *pool, int64_t segment)
{
    return pool->segments == NULL ||
           (segment <= pool->top && (pool->segments[segment / 8] >> (segment % 8) & 1) != 0);
}

static int compare_numbers(const void *a, const void *b_)
{
    const int64_t *x = a;
    const int64_t *y = b_;
    return *x < *y ? -1 : *x > *y;
}

bool pool_has(const struct pool *pool, int64_t id)
{
    return (pool->kinds >> search_kind(id) & 1) != 0 &&
           pool_has_segment(pool, search_segment(id)) &&
           (pool->only == NULL ||
            bsearch(&id, pool->only, pool->only_count, sizeof id, compare_numbers) != NULL);
}

void pool_free(struct pool *pool)
{
    free(pool->segments);
    free(pool->only);
    *pool = (struct pool){.count = 0};
}
