#include "unit.h"

#include "os/zone.h"

static void set_zone(const char *name)
{
    (void)setenv("TZ", name, 1);
    tzset();
}

/* Beyond 2037 it is the rule at the end of the file that counts. */
TEST(offsets_are_those_of_libc)
{
    static const char *const names[] = {
        "UTC",           "America/New_York",    "Europe/Berlin",    "Asia/Tokyo",
        "Asia/Kolkata",  "Pacific/Auckland",    "Europe/Dublin",    "Africa/Casablanca",
        "Pacific/Apia",  "Australia/Lord_Howe", "America/St_Johns", "America/Nuuk",
        "Asia/Tehran",   "Antarctica/Troll",    "Etc/GMT+5",        "US/Pacific",
        "America/Havana"};
    enum { STEP = 17 * 3600 + 1234 };
    const time_t first = 631152000, last = 2871763200; /* 1990, 2061 */

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_zone_ struct zone zone = ZONE_LOCAL;
        size_t wrong = 0;
        if (!zone_by_name(names[i], &zone))
            UNIT_SKIP("there are no files of zones");
        set_zone(names[i]);
        for (time_t t = first; t < last; t += STEP) {
            struct tm tm, own;
            wrong += localtime_r(&t, &tm) == NULL || !zone_clock(&zone, t, &own) ||
                     timegm(&own) - t != tm.tm_gmtoff;
        }
        CHECK_STR(wrong == 0 ? "" : names[i], "");
    }
}

static time_t when(const char *name, int month, int day, int hour, int minute)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;
    const struct tm tm = {
        .tm_year = 126, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute};
    time_t t = 0;

    return zone_by_name(name, &zone) && zone_time(&zone, &tm, &t) ? t : -1;
}

TEST(a_time_that_a_clock_shows_twice_or_never_is_one_time)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;

    if (!zone_by_name("America/New_York", &zone))
        UNIT_SKIP("there are no files of zones");
    CHECK_INT(when("America/New_York", 3, 8, 1, 59), 1772953140);
    CHECK_INT(when("America/New_York", 3, 8, 2, 30), 1772955000); /* as 3:30 */
    CHECK_INT(when("America/New_York", 3, 8, 3, 30), 1772955000);
    CHECK_INT(when("America/New_York", 11, 1, 0, 59), 1793509140);
    CHECK_INT(when("America/New_York", 11, 1, 1, 30), 1793511000); /* the first one */
    CHECK_INT(when("America/New_York", 11, 1, 2, 0), 1793516400);
    CHECK_INT(when("America/New_York", 11, 31, 2, 0), 1796108400); /* December 1 */
}

TEST(names_lead_nowhere_else)
{
    static const char *const names[] = {"",         "/etc/localtime",   "../../../etc/localtime",
                                        "America",  "America/Nowhere",  "America/New_York/..",
                                        ".",        "tzdata.zi",        "leap-seconds.list",
                                        "zone.tab", "America/New York", "america/\nnew_york",
                                        "+01:00"};
    _cleanup_str_ struct str longer = STR_INIT;
    struct zone zone;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_STR(zone_by_name(names[i], &zone) ? names[i] : "", "");
    while (longer.len < 5000)
        str_add(&longer, "America/");
    CHECK(!zone_by_name(longer.data, &zone));
}

TEST(bytes_that_are_no_zone_are_refused)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;
    int east = 0;

    if (!zone_by_name("Europe/Berlin", &zone))
        UNIT_SKIP("there are no files of zones");
    for (size_t len = 0; len < zone.len; len++) { /* a copy, for the sanitizer */
        _cleanup_free_ char *cut = memcpy(mem_alloc(len + 1), zone.data, len);
        (void)zone_file_offset(cut, len, 4000000000, &east);
    }
    for (size_t at = 0; at < 200; at++) {
        _cleanup_free_ char *bad = memcpy(mem_alloc(zone.len), zone.data, zone.len);
        bad[at] = (char)0xff;
        (void)zone_file_offset(bad, zone.len, 1000000000, &east);
    }
    CHECK(!zone_file_offset("TZif", 4, 0, &east));
}

TEST(rules_are_read_or_refused)
{
    static const struct {
        const char *rule;
        time_t when;
        int east; /* -1: refused */
    } rules[] = {
        {"JST-9", 4000000000, 9 * 3600},
        {"<+0330>-3:30", 4000000000, 12600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1784000000, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1768446560, 3600},
        {"NZST-12NZDT,M9.5.0,M4.1.0/3", 1768446560, 13 * 3600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1768446560, 0},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1784000000, -3600},
        {"AAA3BBB,J60,J300", 1784000000, -7200},
        {"AAA3BBB,59,300", 1768446560, -10800},
        {"", 0, -1},
        {"X", 0, -1},
        {"CET", 0, -1},
        {"CET-1CEST", 0, -1},
        {"CET-1CEST,M3.5.0", 0, -1},
        {"CET-1CEST,M13.5.0,M10.5.0", 0, -1},
        {"CET-1CEST,M0.5.0,M10.5.0", 0, -1},
        {"CET-1CEST,M3.5.0,M10.5.0/3 ", 0, -1},
        {"CET-1CEST,J366,J1", 0, -1},
        {"CET-1111111111111111111", 0, -1},
        {"<+03", 0, -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int east = -1;
        bool read = zone_rule_offset(rules[i].rule, rules[i].when, &east);
        if ((read ? east : -1) != rules[i].east)
            printf("# %s: %d\n", rules[i].rule, read ? east : -1);
        CHECK_INT(read ? east : -1, rules[i].east);
    }
}

TEST(an_abbreviation_is_that_of_this_machine_or_of_all)
{
    const time_t winter = 1768446560, summer = 1784000000;
    struct zone zone = ZONE_LOCAL;

    set_zone("UTC");
    CHECK(!zone_by_abbreviation("CST", winter, &zone) && !zone_by_abbreviation("IST", 0, &zone));
    CHECK(zone_by_abbreviation("pst", summer, &zone) && zone.east == -8 * 3600);
    set_zone("CST6CDT,M3.2.0,M11.1.0");
    CHECK(zone_by_abbreviation("CST", winter, &zone) && zone.east == -6 * 3600);
    CHECK(zone_by_abbreviation("CST", summer, &zone) && zone.east == -6 * 3600);
    set_zone("CST-8");
    CHECK(zone_by_abbreviation("CST", summer, &zone) && zone.east == 8 * 3600);
}
