/*
 * A calendar is, for each part of a date and a time, the set of values that it may have. The next
 * time is looked for on the clock of the zone, day by day, and within a day second by second, over
 * hours and minutes that are not in the sets. What the clock shows becomes a time last of all:
 * there may be none, and of two the first counts.
 */

#include "model/calendar.h"

#include "base/time.h"
#include "os/zone.h"

enum { WORDS_MAX = 4, DAY = 24 * 3600 };

#define WANT "a calendar such as 'Mon..Fri 08:00', '*-*-1 06:30 Europe/Berlin' or 'daily'"

static const struct {
    int min, max;
} bounds[CALENDAR_PARTS] = {
    [CALENDAR_YEAR] = {CALENDAR_YEAR_MIN, CALENDAR_YEAR_MAX},
    [CALENDAR_MONTH] = {1, 12},
    [CALENDAR_DAY] = {1, 31},
    [CALENDAR_HOUR] = {0, 23},
    [CALENDAR_MINUTE] = {0, 59},
    [CALENDAR_SECOND] = {0, 59},
};

/* ---- parsing */

/* Sets the values from a to b, `step` apart. */
static bool set_range(enum calendar_part part, int a, int b, int step, struct calendar *to)
{
    int min = bounds[part].min, max = bounds[part].max;

    if (a < min || b > max || a > b || step < 1 || step > max - min)
        return false;
    for (int i = a; i <= b; i += step)
        to->parts[part][i - min] = true;
    return true;
}

static bool read_number(const char **p, int *ret)
{
    int n = 0, digits = 0;

    for (; isdigit((unsigned char)**p) != 0 && digits < 4; digits++, (*p)++)
        n = n * 10 + (**p - '0');
    *ret = n;
    return digits > 0;
}

static bool skip(const char **p, const char *text)
{
    size_t len = strlen(text);
    bool is_there = strncmp(*p, text, len) == 0;

    *p += is_there ? len : 0;
    return is_there;
}

/* Reads "*", or a list of "8", "8..18", "8/2" and "8..18/2". */
static bool read_part(const char *text, enum calendar_part part, struct calendar *to)
{
    const char *p = text;

    if (strcmp(text, "*") == 0)
        return set_range(part, bounds[part].min, bounds[part].max, 1, to);
    do {
        int a = 0, b = 0, step = 1;
        if (!read_number(&p, &a))
            return false;
        bool range = skip(&p, "..");
        if (range && !read_number(&p, &b))
            return false;
        bool steps = skip(&p, "/");
        if (steps && !read_number(&p, &step))
            return false;
        if (!set_range(part, a, range ? b : steps ? bounds[part].max : a, step, to))
            return false;
    } while (skip(&p, ","));
    return *p == '\0';
}

/* Reads up to three parts with `between` between them. With two, a date lacks its first one, which
 * is any year, and a time its last one, which is second 0. */
static bool read_parts(const char *text, char between, enum calendar_part first,
                       struct calendar *to)
{
    _cleanup_free_ char *copy = mem_dup(text);
    char *words[3], *p = copy;
    size_t count = 0;

    do {
        if (count == ARRAY_LEN(words))
            return false;
        words[count++] = p;
        p = strchr(p, between);
        if (p != NULL)
            *p++ = '\0';
    } while (p != NULL);
    if (count < 2)
        return false;
    if (count == 2 && first == CALENDAR_YEAR)
        return read_part("*", first, to) && read_part(words[0], first + 1, to) &&
               read_part(words[1], first + 2, to);
    return read_part(words[0], first, to) && read_part(words[1], first + 1, to) &&
           read_part(count == 3 ? words[2] : "0", first + 2, to);
}

static bool read_weekday(const char **p, int *ret)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
    size_t len = 0;

    while (isalpha((unsigned char)(*p)[len]) != 0)
        len++;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if ((len == 3 || len == strlen(names[i])) && strncasecmp(*p, names[i], len) == 0) {
            *ret = (int)i;
            *p += len;
            return true;
        }
    return false;
}

static bool read_weekdays(const char *p, struct calendar *to)
{
    do {
        int a = 0, b = 0;
        if (!read_weekday(&p, &a))
            return false;
        b = a;
        if ((skip(&p, "..") && !read_weekday(&p, &b)) || a > b)
            return false;
        for (int i = a; i <= b; i++)
            to->weekdays[(i + 1) % 7] = true;
    } while (skip(&p, ","));
    return *p == '\0';
}

static bool read_zone(const char *text, struct calendar *to)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;

    if (strlen(text) >= sizeof to->zone || !zone_by_name(text, &zone))
        return false;
    (void)snprintf(to->zone, sizeof to->zone, "%s", text);
    return true;
}

/* Returns what a word such as "daily" stands for, else the word. */
static const char *expand(const char *word)
{
    static const char *const known[][2] = {
        {"minutely", "*-*-* *:*:0"},       {"hourly", "*-*-* *:0:0"},
        {"daily", "*-*-* 0:0:0"},          {"weekly", "Mon *-*-* 0:0:0"},
        {"monthly", "*-*-1 0:0:0"},        {"quarterly", "*-1,4,7,10-1 0:0:0"},
        {"semiannually", "*-1,7-1 0:0:0"}, {"semi-annually", "*-1,7-1 0:0:0"},
        {"biannually", "*-1,7-1 0:0:0"},   {"bi-annually", "*-1,7-1 0:0:0"},
        {"annually", "*-1-1 0:0:0"},       {"yearly", "*-1-1 0:0:0"},
        {"anually", "*-1-1 0:0:0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcasecmp(word, known[i][0]) == 0)
            return known[i][1];
    return word;
}

/* Reads the words: weekdays, a date, a time and a zone, of which one at least says when. */
static bool read_words(char *const *word, struct calendar *to)
{
    bool weekdays = *word != NULL && read_weekdays(*word, to);
    word += weekdays;
    bool date =
        *word != NULL && strchr("*0123456789", **word) != NULL && strchr(*word, '-') != NULL;
    if (!weekdays)
        memset(to->weekdays, true, sizeof to->weekdays);
    if (date ? !read_parts(*word, '-', CALENDAR_YEAR, to)
             : !read_parts("*-*-*", '-', CALENDAR_YEAR, to))
        return false;
    word += date;
    bool time = *word != NULL && strchr(*word, ':') != NULL;
    if (!read_parts(time ? *word : "0:0:0", ':', CALENDAR_HOUR, to) ||
        (!weekdays && !date && !time))
        return false;
    word += time;
    if (*word != NULL && !read_zone(*word++, to))
        return false;
    return *word == NULL;
}

const char *calendar_parse(const char *text, struct calendar *ret)
{
    struct calendar calendar = {.zone = ""};
    size_t len = strlen(text), first = strcspn(text, " ");

    if (len > CALENDAR_TEXT_MAX)
        return WANT;
    _cleanup_free_ char *word = mem_dupn(text, first);
    _cleanup_free_ char *whole = mem_printf("%s%s", expand(word), text + first);
    char *words[WORDS_MAX + 2] = {NULL}, *rest = NULL;
    size_t count = 0;
    for (char *p = strtok_r(whole, " ", &rest); p != NULL; p = strtok_r(NULL, " ", &rest)) {
        if (count > WORDS_MAX)
            return WANT;
        words[count++] = p;
    }
    if (!read_words(words, &calendar))
        return WANT;
    *ret = calendar;
    return NULL;
}

/* ---- finding */

/* A zone that was removed since counts as the machine's own. */
static void open_zone(const struct calendar *calendar, struct zone *ret)
{
    if (calendar->zone[0] != '\0')
        (void)zone_by_name(calendar->zone, ret);
}

static bool has_day(const struct calendar *calendar, const struct tm *tm)
{
    int year = tm->tm_year + 1900 - CALENDAR_YEAR_MIN;

    return year >= 0 && calendar->parts[CALENDAR_YEAR][year] &&
           calendar->parts[CALENDAR_MONTH][tm->tm_mon] &&
           calendar->parts[CALENDAR_DAY][tm->tm_mday - 1] && calendar->weekdays[tm->tm_wday];
}

/* Finds the time of a date and time of the zone; false if its clock never shows that. */
static bool find_time(const struct zone *zone, time_t shown, time_t *ret)
{
    struct tm tm;

    return gmtime_r(&shown, &tm) != NULL && zone_time(zone, &tm, ret) &&
           zone_clock(zone, *ret, &tm) && timegm(&tm) == shown;
}

/* Finds a time on the day that begins when a clock shows `day`, from second `from` of it on. */
static bool find_on_day(const struct calendar *calendar, const struct zone *zone, time_t day,
                        int from, time_t after, time_t *ret)
{
    for (int second = from; second < DAY; second++) {
        int hour = second / 3600, minute = second / 60 % 60;
        if (!calendar->parts[CALENDAR_HOUR][hour])
            second = (hour + 1) * 3600 - 1;
        else if (!calendar->parts[CALENDAR_MINUTE][minute])
            second = (second / 60 + 1) * 60 - 1;
        else if (calendar->parts[CALENDAR_SECOND][second % 60] &&
                 find_time(zone, day + second, ret) && *ret > after)
            return true;
    }
    return false;
}

bool calendar_next(const struct calendar *calendar, time_t after, time_t *ret)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;
    struct tm tm;

    open_zone(calendar, &zone);
    if (!zone_clock(&zone, after, &tm))
        return false;
    time_t shown = timegm(&tm);
    time_t day = shown - shown % DAY;
    int from = (int)(shown % DAY);
    for (; gmtime_r(&day, &tm) != NULL && tm.tm_year + 1900 <= CALENDAR_YEAR_MAX;
         day += DAY, from = 0)
        if (has_day(calendar, &tm) && find_on_day(calendar, &zone, day, from, after, ret))
            return true;
    return false;
}

/* ---- a single time */

/* Leaves only the day of a clock of its zone that is `days` after the one now. */
static void keep_day(struct calendar *calendar, time_t now, int days)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;
    struct tm tm;

    open_zone(calendar, &zone);
    memset(calendar->parts[CALENDAR_YEAR], 0, sizeof calendar->parts[CALENDAR_YEAR]);
    if (!zone_clock(&zone, now, &tm))
        return;
    time_t day = timegm(&tm) + (time_t)days * DAY;
    if (gmtime_r(&day, &tm) == NULL)
        return;
    memset(calendar->parts[CALENDAR_MONTH], 0, sizeof calendar->parts[CALENDAR_MONTH]);
    memset(calendar->parts[CALENDAR_DAY], 0, sizeof calendar->parts[CALENDAR_DAY]);
    (void)set_range(CALENDAR_YEAR, tm.tm_year + 1900, tm.tm_year + 1900, 1, calendar);
    (void)set_range(CALENDAR_MONTH, tm.tm_mon + 1, tm.tm_mon + 1, 1, calendar);
    (void)set_range(CALENDAR_DAY, tm.tm_mday, tm.tm_mday, 1, calendar);
}

const char *calendar_parse_at(const char *text, time_t now, time_t *ret)
{
    static const char want[] = "a time to come, such as 'tomorrow 07:00', '+2h' or "
                               "'2026-12-24 18:00'";
    struct calendar calendar;
    time_t span = 0;
    bool today = strncmp(text, "today ", 6) == 0;
    bool tomorrow = strncmp(text, "tomorrow ", 9) == 0;

    if (text[0] == '+') {
        if (!time_parse_age(text + 1, &span) || span == 0)
            return want;
        *ret = now + span;
        return NULL;
    }
    if (calendar_parse(text + (today ? 6 : tomorrow ? 9 : 0), &calendar) != NULL)
        return want;
    if (today || tomorrow)
        keep_day(&calendar, now, tomorrow ? 1 : 0);
    return calendar_next(&calendar, now, ret) ? NULL : want;
}
