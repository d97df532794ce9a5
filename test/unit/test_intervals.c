#include "base/intervals.h"

#include "unit.h"

TEST(joins_what_touches)
{
    _cleanup_intervals_ struct intervals set = INTERVALS_INIT;

    CHECK_INT(intervals_sum(&set), 0);
    intervals_add(&set, 100, 10);
    intervals_add(&set, 120, 10);
    CHECK_INT(intervals_sum(&set), 20);
    CHECK_INT(set.count, 2);
    intervals_add(&set, 110, 10);
    CHECK_INT(intervals_sum(&set), 30);
    CHECK_INT(set.count, 1);
    intervals_add(&set, 90, 10);
    intervals_add(&set, 130, 1);
    CHECK_INT(intervals_sum(&set), 41);
    CHECK_INT(set.count, 1);
}

TEST(counts_what_overlaps_once)
{
    static const struct {
        uint64_t from, length, sum;
    } steps[] = {
        {1000, 100, 100}, {1000, 100, 100}, {1010, 5, 100},  {950, 100, 150},  {1090, 60, 200},
        {900, 300, 300},  {0, 10, 310},     {5, 2000, 2005}, {3000, 0, 2005},  {2, 1, 2005},
        {2004, 2, 2006},  {2007, 1, 2007},  {2006, 1, 2008}, {3000, 10, 2018}, {0, 3010, 3010},
    };
    _cleanup_intervals_ struct intervals set = INTERVALS_INIT;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        intervals_add(&set, steps[i].from, steps[i].length);
        CHECK_INT(intervals_sum(&set), steps[i].sum);
    }
}

TEST(takes_the_whole_range)
{
    _cleanup_intervals_ struct intervals set = INTERVALS_INIT;

    intervals_add(&set, UINT64_MAX - 10, 100);
    CHECK_INT(intervals_sum(&set), 10);
    intervals_add(&set, 0, UINT64_MAX);
    CHECK(intervals_sum(&set) == UINT64_MAX);
}

/* What comes again and again takes no more memory than what comes once. */
TEST(stays_small)
{
    _cleanup_intervals_ struct intervals set = INTERVALS_INIT;

    for (unsigned i = 0; i < 1000000; i++)
        intervals_add(&set, i % 100 * 1000, 10 + i / 100 % 7);
    CHECK_INT(intervals_sum(&set), 100 * 16);
    CHECK(set.room < 1024);
}

enum { PLACES = 4096 };

/* Against a map of all numbers; sums are asked for now and then, and sets are put together. */
TEST(agrees_with_a_map)
{
    unsigned seed = 1;

    for (unsigned round = 0; round < 50; round++) {
        _cleanup_intervals_ struct intervals one = INTERVALS_INIT;
        _cleanup_intervals_ struct intervals two = INTERVALS_INIT;
        static bool map[PLACES];
        uint64_t sum = 0;
        memset(map, 0, sizeof map);
        for (unsigned i = 0; i < 600; i++) {
            unsigned from = (unsigned)rand_r(&seed) % PLACES;
            unsigned length = (unsigned)rand_r(&seed) % (1 + round % 9);
            struct intervals *set = (unsigned)rand_r(&seed) % 2 == 0 ? &one : &two;
            if (from + length > PLACES)
                length = PLACES - from;
            for (unsigned n = from; n < from + length; n++)
                map[n] = true;
            intervals_add(set, from, length);
            if (i % 37 == 0)
                (void)intervals_sum(set);
        }
        intervals_add_all(&one, &two);
        for (unsigned n = 0; n < PLACES; n++)
            sum += map[n];
        CHECK_INT(intervals_sum(&one), sum);
        for (size_t i = 1; i < one.count; i++)
            CHECK(one.items[i - 1].to < one.items[i].from);
    }
}
