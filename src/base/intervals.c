#include "base/intervals.h"

enum { ROOM_MIN = 256 };

static int compare(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Joins the interval with the last one of `set`, which does not begin after it, or appends it. */
static void append(struct intervals *set, struct interval one)
{
    struct interval *last = set->count > 0 ? &set->items[set->count - 1] : NULL;

    if (last == NULL || one.from > last->to) {
        set->items[set->count++] = one;
        set->sum += one.to - one.from;
    } else if (one.to > last->to) {
        set->sum += one.to - last->to;
        last->to = one.to;
    }
}

/* Sorts the new intervals and merges them with the others. */
static void tidy(struct intervals *set)
{
    struct intervals merged = {.room = set->room};
    size_t a = 0;
    size_t b = set->sorted;

    if (set->sorted == set->count)
        return;
    qsort(set->items + set->sorted, set->count - set->sorted, sizeof *set->items, compare);
    merged.items = mem_grow(NULL, merged.room, sizeof *merged.items);
    while (a < set->sorted || b < set->count) {
        bool first =
            b == set->count || (a < set->sorted && compare(&set->items[a], &set->items[b]) <= 0);
        append(&merged, set->items[first ? a++ : b++]);
    }
    merged.sorted = merged.count;
    free(set->items);
    *set = merged;
}

void intervals_add(struct intervals *set, uint64_t from, uint64_t length)
{
    uint64_t to = length < UINT64_MAX - from ? from + length : UINT64_MAX;

    if (to == from)
        return;
    if (set->count > set->sorted && set->items[set->count - 1].to == from) {
        set->items[set->count - 1].to = to; /* usually the next piece of the same file */
        return;
    }
    if (set->count == set->room) {
        if (set->count > 0)
            tidy(set);
        if (set->room == 0 || set->count > set->room / 2) {
            set->room = set->room == 0 ? ROOM_MIN : set->room * 2;
            set->items = mem_grow(set->items, set->room, sizeof *set->items);
        }
    }
    set->items[set->count++] = (struct interval){from, to};
}

void intervals_add_all(struct intervals *set, const struct intervals *others)
{
    for (size_t i = 0; i < others->count; i++)
        intervals_add(set, others->items[i].from, others->items[i].to - others->items[i].from);
}

uint64_t intervals_sum(struct intervals *set)
{
    tidy(set);
    return set->sum;
}

void intervals_free(struct intervals *set)
{
    free(set->items);
    *set = (struct intervals)INTERVALS_INIT;
}
