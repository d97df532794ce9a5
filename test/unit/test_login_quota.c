/* What is known of the windows of a login. */
#include "gap.h"
#include "root.h"

#include "base/time.h"
#include "os/file.h"
#include "store/limits/login_quota.h"

#define LOGIN "0123456789abcdef0123456789abcdef"

TEST(a_window_is_named_by_its_length)
{
    static const struct {
        int64_t minutes;
        const char *name;
    } cases[] = {{300, "5h"},   {10080, "week"}, {1440, "1d"},   {43200, "30d"},
                 {90, "90m"},   {60, "1h"},      {59, "59m"},    {0, "primary"},
                 {1500, "25h"}, {1441, "1441m"}, {20160, "14d"}, {-1, "primary"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[QUOTA_NAME];
        quota_name(cases[i].minutes, "primary", name);
        CHECK_STR(name, cases[i].name);
    }
}

TEST(what_was_told_holds_until_the_window_begins_anew)
{
    const struct quota_window told = {.resets_ms = 1000, .told_ms = 10};
    const struct quota_window untold = {.told_ms = 10};
    const int64_t hours5 = 5 * 3600 * 1000;

    CHECK(quota_holds_now(&told, 999));
    CHECK(!quota_holds_now(&told, 1000));
    CHECK(quota_holds_now(&untold, 9 + hours5));
    CHECK(!quota_holds_now(&untold, 10 + hours5));
}

static void note(int dir, const char *name, int percent, int64_t told_ms)
{
    struct quota_window window = {.percent = percent, .resets_ms = 5, .told_ms = told_ms};
    struct err err = ERR_INIT;

    (void)snprintf(window.name, sizeof window.name, "%s", name);
    WELL(login_quota_note(dir, LOGIN, "claude", "work", &window, &err));
}

TEST(a_window_has_one_place_and_the_oldest_gives_way)
{
    A_ROOT;
    _cleanup_close_ int dir = login_limit_open(&root);
    char name[QUOTA_NAME];

    for (int i = 0; i < QUOTA_WINDOWS_MAX; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        note(dir, name, i, i == 3 ? 1 : 100000 + i);
    }
    note(dir, "w5", 55, 200000);
    struct login_quota quota = login_quota_read(dir, LOGIN);
    CHECK_STR(quota.preset, "claude");
    CHECK_STR(quota.account, "work");
    CHECK_INT(quota.count, QUOTA_WINDOWS_MAX);
    CHECK_INT(quota.windows[5].percent, 55);
    CHECK_INT(quota.windows[5].told_ms, 200000);
    CHECK_INT(quota.windows[5].resets_ms, 5);
    note(dir, "new", 7, 300000);
    quota = login_quota_read(dir, LOGIN);
    CHECK_INT(quota.count, QUOTA_WINDOWS_MAX);
    CHECK_STR(quota.windows[3].name, "new");
    CHECK_STR(quota.windows[2].name, "w2");
}

static void count_window(const struct login_quota *quota, void *arg)
{
    *(size_t *)arg += quota->count;
}

TEST(a_file_with_what_would_break_a_list_of_them_is_nothing)
{
    static const struct {
        const char *file, *text;
    } cases[] = {{LOGIN ".quota", "ma\"de\n5h 1 5 5\n"},
                 {LOGIN ".quota", "made\n5\"h 1 5 5\n"},
                 {LOGIN ".quota", "made\n5h 1 9223372036854775807 5\n"},
                 {LOGIN ".quota", "made\n5h 1 0 9223372036854775807\n"},
                 {"a\"b.quota", "made\n5h 1 5 5\n"}};
    A_ROOT;
    _cleanup_close_ int dir = login_limit_open(&root);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t count = 0;
        WELL(file_replace(dir, cases[i].file, cases[i].text, strlen(cases[i].text), 0600, &err));
        WELL(login_quota_each(&root, count_window, &count, &err));
        CHECK_INT(count, 0);
        (void)unlinkat(dir, cases[i].file, 0);
    }
}

TEST(what_is_known_is_not_written_again_for_a_minute)
{
    A_ROOT;
    _cleanup_close_ int dir = login_limit_open(&root);

    note(dir, "5h", 10, 1000);
    note(dir, "5h", 10, 60999);
    CHECK_INT(login_quota_read(dir, LOGIN).windows[0].told_ms, 1000);
    note(dir, "5h", 10, 61000);
    CHECK_INT(login_quota_read(dir, LOGIN).windows[0].told_ms, 61000);
    note(dir, "5h", 11, 61001);
    CHECK_INT(login_quota_read(dir, LOGIN).windows[0].told_ms, 61001);
    CHECK_INT(login_quota_read(dir, LOGIN).count, 1);
}

static void count(const struct login_quota *quota, void *arg)
{
    CHECK_STR(quota->login, LOGIN);
    ++*(int *)arg;
}

TEST(only_what_is_known_is_listed)
{
    A_ROOT;
    int found = 0;

    WELL(login_quota_each(&root, count, &found, &err)); /* there is no directory yet */
    _cleanup_close_ int dir = login_limit_open(&root);
    note(dir, "5h", 10, 1000);
    _cleanup_close_ int other = openat(dir, "other.quota", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(other != -1);
    WELL(login_quota_each(&root, count, &found, &err));
    CHECK_INT(found, 1);
}
