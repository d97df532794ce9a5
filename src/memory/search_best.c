/* The scope of a search, and its best hits. */
#include "memory/search_internal.h"

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
    best_push_item(best, (struct ranked){.id = id, .score = score});
}

void best_push_item(struct best *best, struct ranked item)
{
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

/* ---- the scope */

bool scope_has_segment(const struct search_scope *scope, int64_t segment)
{
    return scope->segments == NULL ||
           (segment <= scope->top && (scope->segments[segment / 8] >> (segment % 8) & 1) != 0);
}

static int compare_numbers(const void *a, const void *b_)
{
    const int64_t *x = a;
    const int64_t *y = b_;
    return *x < *y ? -1 : *x > *y;
}

bool scope_has(const struct search_scope *scope, int64_t id)
{
    return (scope->kinds >> search_kind(id) & 1) != 0 &&
           scope_has_segment(scope, search_segment(id)) &&
           (scope->only == NULL ||
            bsearch(&id, scope->only, scope->only_count, sizeof id, compare_numbers) != NULL);
}

bool scope_has_place(const struct search_scope *scope, int64_t id)
{
    size_t low = 0;
    size_t high = scope->only_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scope->only[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return (scope->kinds & (1U << KIND_USER | 1U << KIND_AGENT)) != 0 &&
           scope_has_segment(scope, search_segment(id)) &&
           (scope->only == NULL ||
            (low < scope->only_count && scope->only[low] <= search_last(id)));
}

void scope_free(struct search_scope *scope)
{
    free(scope->segments);
    free(scope->only);
    *scope = (struct search_scope){.count = 0};
}
