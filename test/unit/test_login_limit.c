/* When a login that its provider has refused is tried again. */
#include "gap.h"
#include "root.h"

#include "base/time.h"
#include "store/limits/login_limit.h"

#define LOGIN "0123456789abcdef0123456789abcdef"

TEST(the_first_try_comes_after_the_setting_and_each_next_one_after_twice_the_wait)
{
    static const struct {
        int attempts, retry_ms, wait_ms;
    } cases[] = {
        {0, 1000, 1000},
        {1, 1000, 1000},
        {2, 1000, 2000},
        {3, 1000, 4000},
        {10, 1000, 512000},
        {11, 1000, LIMIT_RETRY_MAX_MS},
        {1000, 1000, LIMIT_RETRY_MAX_MS},
        {1, LIMIT_RETRY_MAX_MS, LIMIT_RETRY_MAX_MS},
        {1, LIMIT_RETRY_MAX_MS + 1, LIMIT_RETRY_MAX_MS},
        {2, LIMIT_RETRY_MAX_MS / 2, LIMIT_RETRY_MAX_MS},
        {2, LIMIT_RETRY_MAX_MS / 2 - 1, LIMIT_RETRY_MAX_MS - 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(login_limit_due(cases[i].attempts, cases[i].retry_ms, 5), 5 + cases[i].wait_ms);
}

/* Notes a refusal of a request that began then. */
static struct login_limit note(int dir, int64_t began_ms, int64_t until_ms)
{
    struct login_limit told = {.until_ms = until_ms}, ret = {.attempts = -1};
    struct err err = ERR_INIT;

    WELL(login_limit_note(dir, LOGIN, &told, began_ms, 1000, &ret, &err));
    struct login_limit kept = login_limit_read(dir, LOGIN);
    CHECK_INT(kept.attempts, ret.attempts);
    CHECK_INT(kept.until_ms, ret.until_ms);
    CHECK_INT(kept.due_ms, ret.due_ms);
    CHECK_INT(kept.since_ms, ret.since_ms);
    return ret;
}

TEST(agents_that_are_refused_at_once_count_as_one)
{
    A_ROOT;
    _cleanup_close_ int dir = login_limit_open(&root);
    int64_t began = time_epoch_ms();
    struct login_limit first = note(dir, began, 0);
    int64_t later = began + 3600000;

    CHECK_INT(first.attempts, 1);
    CHECK_INT(first.due_ms, first.since_ms + 1000);
    gap_later_ms = 500;
    /* it began before the limit was known, or in that very moment */
    CHECK_INT(note(dir, began, 0).due_ms, first.due_ms);
    CHECK_INT(note(dir, first.since_ms, 0).due_ms, first.due_ms);
    /* but the provider tells a time now, a later one, an earlier one */
    CHECK_INT(note(dir, began, later).due_ms, later);
    CHECK_INT(note(dir, began, later + 1).due_ms, later + 1);
    struct login_limit told = note(dir, began, later);
    CHECK_INT(told.due_ms, later + 1);
    CHECK_INT(told.attempts, 1);
    /* the next try is refused, too */
    struct login_limit second = note(dir, told.since_ms + 1, 0);
    CHECK_INT(second.attempts, 2);
    CHECK_INT(second.until_ms, 0);
    CHECK_INT(second.due_ms, second.since_ms + 2000);
    gap_later_ms = 0;
}

TEST(what_is_not_valid_is_no_limit)
{
    static const struct {
        const char *text;
        int attempts;
    } cases[] = {
        {"3 0 1766044800000 1766044700000\n", 3},
        {"3 0 1766044800000\n", 0},
        {"-1 0 1766044800000 1766044700000\n", 0},
        {"3 -1 1766044800000 1766044700000\n", 0},
        {"x\n", 0},
        {"", 0},
    };
    A_ROOT;
    _cleanup_close_ int dir = login_limit_open(&root);

    CHECK_INT(login_limit_read(dir, LOGIN).attempts, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        REQUIRE(place_put(dir, LOGIN, cases[i].text));
        CHECK_INT(login_limit_read(dir, LOGIN).attempts, cases[i].attempts);
    }
    REQUIRE(place_put(dir, LOGIN, "1000 0 5 5\n"));
    CHECK_INT(note(dir, time_epoch_ms(), 0).attempts, 1000);
    login_limit_over(dir, LOGIN);
    CHECK_INT(login_limit_read(dir, LOGIN).attempts, 0);
}
