/*
 * A set of numbers, stored as intervals; mas uses it to count the bytes of a disk once. A new
 * interval is only appended. When the array has doubled, it is sorted and adjacent intervals are
 * joined, so the set needs memory for at most twice the number of disjoint intervals.
 */
#pragma once

struct intervals {
    struct interval {
        uint64_t from, to; /* `to` is exclusive */
    } * items;
    size_t count;
    size_t room;
    size_t sorted; /* this many are sorted and disjoint; the rest are in order of arrival */
    uint64_t sum; /* of the lengths of the sorted intervals */
};

#define INTERVALS_INIT                                                                             \
    {                                                                                              \
        .items = NULL                                                                              \
    }

/* Adds the numbers from `from` to `from + length - 1`. */
void intervals_add(struct intervals *set, uint64_t from, uint64_t length);
/* Adds all numbers of another set. */
void intervals_add_all(struct intervals *set, const struct intervals *others);
/* Returns how many numbers are in the set. */
uint64_t intervals_sum(struct intervals *set);
/* Releases the memory and empties the set. */
void intervals_free(struct intervals *set);
#define _cleanup_intervals_ __attribute__((cleanup(intervals_free)))
