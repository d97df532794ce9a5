#include "unit.h"

#include "model/calendar.h"

/* 2026-03-27 12:00 UTC, a Friday */
enum { FRIDAY = 1774612800 };

/* Returns the first time after `after` as a text; "" if there is none, "?" of what is refused. */
static const char *next(const char *text, time_t after)
{
    static char buf[64];
    struct calendar calendar;
    time_t t = 0;
    struct tm tm;

    if (calendar_parse(text, &calendar) != NULL)
        return "?";
    if (!calendar_next(&calendar, after, &t) || gmtime_r(&t, &tm) == NULL)
        return "";
    (void)strftime(buf, sizeof buf, "%F %T", &tm);
    return buf;
}

TEST(a_calendar_finds_its_next_time)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"Mon..Fri 08:00 UTC", "2026-03-30 08:00:00"},
        {"fri 12:00 UTC", "2026-04-03 12:00:00"},
        {"Fri 12:00:01 UTC", "2026-03-27 12:00:01"},
        {"Sat,Sunday 9:05 UTC", "2026-03-28 09:05:00"},
        {"Wed UTC", "2026-04-01 00:00:00"},
        {"*-*-1,15 6..22/2:00 UTC", "2026-04-01 06:00:00"},
        {"13:0/20 UTC", "2026-03-27 13:00:00"},
        {"*:50/4:7 UTC", "2026-03-27 12:50:07"},
        {"2-29 UTC", "2028-02-29 00:00:00"},
        {"2030-1-1 00:00 UTC", "2030-01-01 00:00:00"},
        {"2027..2199/2-12-31 23:59:59 UTC", "2027-12-31 23:59:59"},
        {"2026-3-27 12:00 UTC", ""},
        {"2-30 UTC", ""},
        {"minutely UTC", "2026-03-27 12:01:00"},
        {"hourly UTC", "2026-03-27 13:00:00"},
        {"daily UTC", "2026-03-28 00:00:00"},
        {"weekly UTC", "2026-03-30 00:00:00"},
        {"monthly UTC", "2026-04-01 00:00:00"},
        {"quarterly UTC", "2026-04-01 00:00:00"},
        {"semiannually UTC", "2026-07-01 00:00:00"},
        {"YEARLY UTC", "2027-01-01 00:00:00"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_STR(next(rows[i].text, FRIDAY), rows[i].want);
}

TEST(a_clock_that_is_put_forward_or_back_leaves_out_and_doubles_nothing)
{
    const time_t spring = FRIDAY + 24 * 3600, autumn = 1792929600; /* 2026-10-25 12:00 */

    CHECK_STR(next("02:30 Europe/Berlin", spring), "2026-03-30 00:30:00");
    CHECK_STR(next("02:30 Europe/Berlin", autumn), "2026-10-26 01:30:00");
    CHECK_STR(next("02:30 Europe/Berlin", autumn - 12 * 3600), "2026-10-25 00:30:00");
    CHECK_STR(next("*:0/30 Europe/Berlin", autumn - 12 * 3600 + 1800), "2026-10-25 02:00:00");
}

TEST(what_is_no_calendar_is_refused)
{
    static const char *const rows[] = {
        "",
        " ",
        "UTC",
        "8",
        "08:00:00:00",
        "24:00",
        "8:60",
        "*:*/15",
        "*/2:00",
        "20..4:00",
        "8..:00",
        "8/0:00",
        "0/24:00",
        "1,:00",
        ",1:00",
        "13-1",
        "*-*-32",
        "*-*-0",
        "*-*~1",
        "8:00:00.5",
        "Mon..",
        "Sat..Mon",
        "Mo 08:00",
        "Mond 08:00",
        "Mon Tue",
        "8:00 CEST",
        "8:00 Mon",
        "8:00 *-*-1",
        "8:00 ../zone",
        "daily 08:00",
        "1969-1-1",
        "2200-1-1",
        "99999-1-1",
        "1-2-3-4",
        "*",
        "8:00 UTC UTC",
        "8:00 /etc/localtime",
        "-1:00",
        "8:00\n",
        "@1774612800",
        "8:00\t",
        "Mon,08:00",
        "**:00",
        "+8:00",
        "8 :00",
        "Mon.Fri",
        "4..:4",
    };
    char much[CALENDAR_TEXT_MAX + 2];
    struct calendar calendar;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_STR(calendar_parse(rows[i], &calendar) != NULL ? "" : rows[i], "");
    memset(much, ' ', sizeof much);
    memcpy(much, "daily", 5);
    much[sizeof much - 1] = '\0';
    CHECK(calendar_parse(much, &calendar) != NULL);
    much[sizeof much - 2] = '\0';
    CHECK(calendar_parse(much, &calendar) == NULL);
}

static long at(const char *text)
{
    time_t t = 0;
    return calendar_parse_at(text, FRIDAY, &t) == NULL ? (long)(t - FRIDAY) : -1;
}

TEST(a_single_time_is_one_to_come)
{
    CHECK_INT(at("+2h"), 2 * 3600);
    CHECK_INT(at("today 19:00 UTC"), 7 * 3600);
    CHECK_INT(at("today 11:00 UTC"), -1);
    CHECK_INT(at("tomorrow 07:00 UTC"), 19 * 3600);
    CHECK_INT(at("tomorrow 00:30 Pacific/Auckland"), 23 * 3600 + 1800);
    CHECK_INT(at("07:00 UTC"), 19 * 3600);
    CHECK_INT(at("2026-03-27 12:00:10 UTC"), 10);
    CHECK_INT(at("2026-03-27 12:00 UTC"), -1);
    CHECK_INT(at("+0s"), -1);
    CHECK_INT(at("2h"), -1);
    CHECK_INT(at("tomorrow"), -1);
    CHECK_INT(at(""), -1);
}
