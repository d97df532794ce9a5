/*
 * A set of numbers, kept as intervals: which bytes of a disk were met. What is put in is only
 * noted; it is sorted and joined when as much again has come as there was, so that the set takes
 * memory for twice the intervals that lie apart, whatever is put in.
 */
#ifndef MAS_BASE_INTERVALS_H
#define MAS_BASE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

struct intervals {
    struct interval {
        uint64_t from, to; /* without `to` */
    } * items;
    size_t count;
    size_t room;
    size_t sorted; /* so many are in order and lie apart, those behind are as they came */
    uint64_t sum; /* of the lengths of those */
};

#define INTERVALS_INIT                                                                             \
    {                                                                                              \
        .items = NULL                                                                              \
    }

void intervals_add(struct intervals *set, uint64_t from, uint64_t length);
void intervals_add_all(struct intervals *set, const struct intervals *others);
/* How many numbers are in the set. */
uint64_t intervals_sum(struct intervals *set);
void intervals_free(struct intervals *set);
#define _cleanup_intervals_ __attribute__((cleanup(intervals_free)))

#endif
