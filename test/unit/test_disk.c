#include "host/disk_pace.h"
#include "model/disk.h"

#include "unit.h"

TEST(levels_rise_at_once_and_fall_late)
{
    static const struct {
        int64_t used;
        enum disk_level level;
    } steps[] = {
        {0, DISK_CALM},    {899, DISK_CALM}, {900, DISK_NEAR},  {899, DISK_NEAR},
        {850, DISK_NEAR},  {849, DISK_CALM}, {899, DISK_CALM},  {1000, DISK_FULL},
        {999, DISK_FULL},  {950, DISK_FULL}, {949, DISK_NEAR},  {999, DISK_NEAR},
        {2000, DISK_FULL}, {10, DISK_CALM},  {1000, DISK_FULL}, {849, DISK_CALM},
    };
    enum disk_level level = DISK_CALM;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const struct disk_use use = {.known = true, .used = steps[i].used, .limit = 1000};
        level = disk_level(level, &use);
        CHECK_INT(level, steps[i].level);
    }
    const struct disk_use any = {.known = true, .used = INT64_MAX};
    CHECK_INT(disk_level(DISK_FULL, &any), DISK_CALM);
    const struct disk_use huge = {.known = true, .used = INT64_MAX / 2, .limit = INT64_MAX};
    CHECK_INT(disk_level(DISK_CALM, &huge), DISK_CALM);
}

TEST(room_is_what_leads_to_the_next_level)
{
    CHECK_INT(disk_room(&(struct disk_use){.used = 100, .limit = 1000}), 800);
    CHECK_INT(disk_room(&(struct disk_use){.used = 900, .limit = 1000}), 100);
    CHECK_INT(disk_room(&(struct disk_use){.used = 1000, .limit = 1000}), INT64_MAX);
    CHECK_INT(disk_room(&(struct disk_use){.used = 5}), INT64_MAX);
}

TEST(figures_survive_json)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_json_ struct json *object = NULL;
    struct json_out out = {.to = &text};
    struct disk_use use = {.known = true, .used = 7, .limit = 9};
    struct disk_use got;
    struct err err = ERR_INIT;

    json_open(&out, NULL, '{');
    disk_put("a", &use, &out);
    use.limit = 0;
    disk_put("b", &use, &out);
    use.known = false;
    disk_put("c", &use, &out);
    json_close(&out, '}');
    CHECK_STR(text.data,
              "{\"a\":{\"used\":7,\"limit\":9},\"b\":{\"used\":7,\"limit\":null},\"c\":null}");
    CHECK_INT(json_parse(text.data, text.len, text.len, &object, &err), 0);
    disk_read(json_get(object, "a"), &got);
    CHECK(got.known && got.used == 7 && got.limit == 9);
    disk_read(json_get(object, "c"), &got);
    CHECK(!got.known && got.used == 0 && got.limit == 0);
    disk_read(json_get(object, "d"), &got);
    CHECK(!got.known);
}

static const int64_t mega = 1 << 20;

/* Returns how often a session is measured in `ms`, each time for `took`, while its file system
 * grows by `rate` bytes a second and `room` is left. */
static int walks(int64_t ms, int64_t took, int64_t rate, int64_t room, bool paused)
{
    struct disk_pace pace = {.paused = paused};
    int count = 0;

    for (int64_t now = 1000; now < 1000 + ms;) {
        bool walk = false;
        int64_t used = 100 * mega + rate * (now - 1000) / 1000;
        int64_t next = disk_pace(&pace, now, used, &walk);
        CHECK(next > now);
        if (walk) {
            now += took;
            disk_pace_walked(&pace, now, took, used, room);
            count++;
        } else {
            now = next;
        }
    }
    return count;
}

TEST(an_idle_session_is_measured_each_minute)
{
    CHECK_INT(walks(10 * 60000, 20, 0, 100 * mega, false), 10);
    CHECK_INT(walks(10 * 60000, 6000, 0, 100 * mega, false), 2); /* 2 % of the time */
}

TEST(growth_that_may_reach_a_limit_is_measured)
{
    CHECK(walks(60000, 20, 10 * mega, 10 * mega, false) > 60);
    CHECK(walks(60000, 20, 10 * mega, 1000 * mega, false) < 4);
    int urgent = walks(600000, 1000, 100 * mega, mega, false);
    CHECK(urgent >= 50 && urgent <= 60); /* 10 % of the time */
}

TEST(a_paused_session_comes_back_soon)
{
    CHECK_INT(walks(60000, 20, 0, INT64_MAX, true), 12);
    struct disk_pace pace = {.paused = true};
    bool walk = false;
    disk_pace_walked(&pace, 1000, 20, 100 * mega, INT64_MAX);
    (void)disk_pace(&pace, 1300, 100 * mega, &walk);
    CHECK(!walk);
    (void)disk_pace(&pace, 1400, 90 * mega, &walk);
    CHECK(walk);
}
