/*
 * A zone is this machine's own, which libc answers, a fixed offset, or the bytes of a file. Of a
 * name and of an abbreviation only what is certain is taken: a name has no dots and so leads
 * nowhere else, and an abbreviation means what this machine means by it, then what all do.
 *
 * A file has two blocks: the first has times of 32 bits and is skipped, the second is searched. For
 * times behind its last one the rule at the end of the file counts, which is read last here. All
 * counts come from the file, so each block is measured against the bytes that there are before
 * anything in it is used.
 */

#include "os/zone.h"

#include "os/file.h"

#include <strings.h>

#define ZONES "/usr/share/zoneinfo"

enum {
    NAME_MAX_LEN = 64,
    FILE_MAX = 64 << 10, /* bytes; real ones have 4 KiB at most */
    HALF_YEAR = 183 * 24 * 3600,
};

/* Abbreviations of which no other zone uses the same, or, as for those of RFC 5322, hardly one. */
/* clang-format off */
static const struct {
    const char *name;
    int minutes; /* east */
} abbreviations[] = {
    {"UTC", 0}, {"GMT", 0}, {"UCT", 0}, {"Z", 0}, {"Zulu", 0},
    {"EST", -5 * 60}, {"EDT", -4 * 60}, {"CDT", -5 * 60}, {"MST", -7 * 60}, {"MDT", -6 * 60},
    {"PST", -8 * 60}, {"PDT", -7 * 60}, {"AKST", -9 * 60}, {"AKDT", -8 * 60}, {"HST", -10 * 60},
    {"HDT", -9 * 60}, {"ADT", -3 * 60}, {"NST", -210}, {"NDT", -150},
    {"WET", 0}, {"WEST", 60}, {"CET", 60}, {"CEST", 2 * 60}, {"MEZ", 60}, {"MESZ", 2 * 60},
    {"EET", 2 * 60}, {"EEST", 3 * 60}, {"MSK", 3 * 60}, {"SAST", 2 * 60}, {"WAT", 60},
    {"CAT", 2 * 60}, {"EAT", 3 * 60}, {"PKT", 5 * 60}, {"WIB", 7 * 60}, {"WITA", 8 * 60},
    {"WIT", 9 * 60}, {"HKT", 8 * 60}, {"SGT", 8 * 60}, {"JST", 9 * 60}, {"KST", 9 * 60},
    {"AWST", 8 * 60}, {"ACST", 570}, {"ACDT", 630}, {"AEST", 10 * 60}, {"AEDT", 11 * 60},
    {"NZST", 12 * 60}, {"NZDT", 13 * 60},
};
/* Names of both times of a zone. */
static const struct {
    const char *name, *zone;
} both[] = {
    {"ET", "America/New_York"}, {"CT", "America/Chicago"}, {"MT", "America/Denver"},
    {"PT", "America/Los_Angeles"},
};
/* clang-format on */

struct zone zone_fixed(int east)
{
    return (struct zone){.kind = ZONE_IS_FIXED, .east = east};
}

/* A name has no dots, so that it leads nowhere else. */
static bool is_name(const char *name)
{
    size_t len = strnlen(name, NAME_MAX_LEN + 1);

    if (len == 0 || len > NAME_MAX_LEN || isalpha((unsigned char)name[0]) == 0)
        return false;
    for (; *name != '\0'; name++)
        if (isalnum((unsigned char)*name) == 0 && strchr("_+-/", *name) == NULL)
            return false;
    return true;
}

bool zone_by_name(const char *name, struct zone *ret)
{
    struct zone zone = {.kind = ZONE_IS_FILE};
    struct err ignored = ERR_INIT;
    struct stat st;
    int east = 0;

    if (!is_name(name))
        return false;
    _cleanup_free_ char *path = mem_printf(ZONES "/%s", name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
        file_read_stream(fd, path, FILE_MAX, &zone.data, &zone.len, &ignored) == -1)
        return false;
    if (!zone_file_offset(zone.data, zone.len, 0, &east)) {
        zone_free(&zone);
        return false;
    }
    *ret = zone;
    return true;
}

bool zone_by_abbreviation(const char *name, time_t now, struct zone *ret)
{
    static const int around[] = {0, HALF_YEAR, -HALF_YEAR}; /* summer and winter */
    struct tm tm;

    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        time_t when = now + around[i];
        if (localtime_r(&when, &tm) == NULL || tm.tm_zone == NULL ||
            strcasecmp(tm.tm_zone, name) != 0)
            continue;
        *ret = zone_fixed((int)tm.tm_gmtoff);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(abbreviations); i++)
        if (strcasecmp(abbreviations[i].name, name) == 0) {
            *ret = zone_fixed(abbreviations[i].minutes * 60);
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(both); i++)
        if (strcasecmp(both[i].name, name) == 0)
            return zone_by_name(both[i].zone, ret);
    return false;
}

void zone_free(struct zone *zone)
{
    free(zone->data);
    *zone = (struct zone){.kind = ZONE_IS_LOCAL};
}

static bool find_offset(const struct zone *zone, time_t when, int *ret)
{
    struct tm tm;

    if (zone->kind == ZONE_IS_FILE)
        return zone_file_offset(zone->data, zone->len, when, ret);
    *ret = zone->east;
    if (zone->kind == ZONE_IS_FIXED)
        return true;
    if (localtime_r(&when, &tm) == NULL)
        return false;
    *ret = (int)tm.tm_gmtoff;
    return true;
}

bool zone_clock(const struct zone *zone, time_t when, struct tm *ret)
{
    int east = 0;

    if (!find_offset(zone, when, &east))
        return false;
    when += east;
    return gmtime_r(&when, ret) != NULL;
}

bool zone_time(const struct zone *zone, const struct tm *tm, time_t *ret)
{
    struct tm copy = *tm;
    time_t shown = timegm(&copy);
    int before = 0, after = 0, at = 0;

    if (!find_offset(zone, shown - 24 * 3600, &before) ||
        !find_offset(zone, shown + 24 * 3600, &after) || !find_offset(zone, shown - before, &at))
        return false;
    /* a time that no clock shows, as it is put forward, is that of a clock that is not */
    *ret = shown - before;
    if (at != before && find_offset(zone, shown - after, &at) && at == after)
        *ret = shown - after;
    return true;
}

/* ---- the files */

enum {
    HEADER = 44, /* bytes: "TZif", the version, 15 that are not used, six counts */
    COUNTS_AT = 20,
    TYPE = 6, /* bytes of a local time type: its offset, whether it is summer time, its name */
    EAST_MAX = 26 * 3600,
    RULE_MAX = 128,
    DAY = 24 * 3600,
};

/* A block of the file: first one with times of 32 bits, then another one. */
struct zone_block {
    const unsigned char *times, *kinds, *types;
    uint32_t time_count, type_count;
    size_t size; /* with its header */
};

static uint64_t big_endian(const unsigned char *p, int bytes)
{
    uint64_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | *p++;
    return n;
}

/* Finds the parts of the block at `p`, whose times have so many bytes. */
static bool read_block(const unsigned char *p, size_t len, unsigned time_size,
                       struct zone_block *ret)
{
    uint64_t n[6]; /* UT/local and standard/wall indicators, leap seconds, times, types, names */

    if (len < HEADER || memcmp(p, "TZif", 4) != 0 || p[4] < '2')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(n); i++)
        n[i] = big_endian(p + COUNTS_AT + 4 * i, 4);
    uint64_t size = HEADER + n[3] * (time_size + 1) + n[4] * TYPE + n[5] + n[2] * (time_size + 4) +
                    n[1] + n[0]; /* none is near 64 bits */
    if (size > len || n[4] == 0)
        return false;
    *ret = (struct zone_block){.times = p + HEADER,
                               .kinds = p + HEADER + n[3] * time_size,
                               .types = p + HEADER + n[3] * (time_size + 1),
                               .time_count = (uint32_t)n[3],
                               .type_count = (uint32_t)n[4],
                               .size = (size_t)size};
    return true;
}

bool zone_file_offset(const char *data, size_t len, time_t when, int *ret)
{
    const unsigned char *p = (const unsigned char *)data;
    struct zone_block old, block;
    uint32_t i = 0;

    if (!read_block(p, len, 4, &old) || !read_block(p + old.size, len - old.size, 8, &block))
        return false;
    while (i < block.time_count && (int64_t)big_endian(block.times + 8 * (size_t)i, 8) <= when)
        i++;
    const char *rule = data + old.size + block.size; /* between two newlines */
    size_t room = len - old.size - block.size;
    const char *end = room > 1 && rule[0] == '\n' ? memchr(rule + 1, '\n', room - 1) : NULL;
    if (i == block.time_count && end != NULL && end > rule + 1) {
        _cleanup_free_ char *text = mem_dupn(rule + 1, (size_t)(end - rule - 1));
        return zone_rule_offset(text, when, ret);
    }
    unsigned kind = i > 0 ? block.kinds[i - 1] : 0;
    if (kind >= block.type_count)
        return false;
    int32_t east = (int32_t)big_endian(block.types + TYPE * (size_t)kind, 4);
    if (east < -EAST_MAX || east > EAST_MAX)
        return false;
    *ret = east;
    return true;
}

/* ---- the rule for the time after the last one that the file lists */

/* When summer time begins or ends in a year. */
struct change {
    char kind; /* M: weekday of a month; J: day without leap days; else day from 0 */
    int month, week, day;
    int seconds; /* from midnight */
};

static bool read_number(const char **p, int max, int *ret)
{
    int n = 0;

    if (isdigit((unsigned char)**p) == 0)
        return false;
    for (; isdigit((unsigned char)**p) != 0; (*p)++)
        if ((n = n * 10 + (**p - '0')) > max)
            return false;
    *ret = n;
    return true;
}

static bool skip_name(const char **p)
{
    size_t len;

    if (**p == '<') {
        len = strcspn(*p, ">");
        len += (*p)[len] == '>';
    } else {
        for (len = 0; isalpha((unsigned char)(*p)[len]) != 0;)
            len++;
    }
    *p += len;
    return len >= 3;
}

/* Reads "[+-]hh[:mm[:ss]]" in seconds. */
static bool read_hms(const char **p, int *ret)
{
    int sign = **p == '-' ? -1 : 1;
    int part[3] = {0, 0, 0};

    *p += **p == '-' || **p == '+';
    if (!read_number(p, 167, &part[0]))
        return false;
    for (int i = 1; i < 3 && **p == ':'; i++) {
        ++*p;
        if (!read_number(p, 59, &part[i]))
            return false;
    }
    *ret = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
    return true;
}

static bool skip_char(const char **p, char c)
{
    bool is_there = **p == c;

    *p += is_there;
    return is_there;
}

static bool read_change(const char **p, struct change *ret)
{
    *ret = (struct change){.kind = **p, .seconds = 2 * 3600};
    if (!skip_char(p, ','))
        return false;
    ret->kind = **p;
    if (skip_char(p, 'M')) {
        if (!read_number(p, 12, &ret->month) || !skip_char(p, '.') ||
            !read_number(p, 5, &ret->week) || !skip_char(p, '.') || !read_number(p, 6, &ret->day) ||
            ret->month < 1 || ret->week < 1)
            return false;
    } else {
        (void)skip_char(p, 'J');
        if (!read_number(p, 365, &ret->day))
            return false;
    }
    return !skip_char(p, '/') || read_hms(p, &ret->seconds);
}

/* Returns when a change comes, as the clock shows it before. */
static time_t change_in(const struct change *change, int year)
{
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    struct tm tm = {.tm_year = year - 1900, .tm_mday = 1 + change->day};

    if (change->kind == 'J') {
        tm.tm_mday = change->day + (leap && change->day >= 60);
    } else if (change->kind == 'M') {
        struct tm first = {.tm_year = year - 1900, .tm_mon = change->month - 1, .tm_mday = 1};
        struct tm next = {.tm_year = year - 1900, .tm_mon = change->month, .tm_mday = 1};
        int days = (int)((timegm(&next) - timegm(&first)) / DAY);
        int day = 1 + (change->day - first.tm_wday + 7) % 7 + 7 * (change->week - 1);
        tm.tm_mon = change->month - 1;
        tm.tm_mday = day > days ? day - 7 : day;
    }
    return timegm(&tm) + change->seconds;
}

bool zone_rule_offset(const char *rule, time_t when, int *ret)
{
    struct change begin, end;
    struct tm tm;
    int west = 0, summer = 0;

    if (strlen(rule) > RULE_MAX || !skip_name(&rule) || !read_hms(&rule, &west))
        return false;
    *ret = -west;
    if (*rule == '\0')
        return true;
    summer = west - 3600;
    if (!skip_name(&rule) || (*rule != ',' && !read_hms(&rule, &summer)) ||
        !read_change(&rule, &begin) || !read_change(&rule, &end) || *rule != '\0')
        return false;
    time_t shown = when - west;
    if (gmtime_r(&shown, &tm) == NULL)
        return false;
    time_t from = change_in(&begin, tm.tm_year + 1900) + west;
    time_t to = change_in(&end, tm.tm_year + 1900) + summer;
    bool is_summer =
        from < to ? when >= from && when < to : !(when >= to && when < from); /* in the south */
    *ret = is_summer ? -summer : -west;
    return true;
}
