/*
 * A zone is this machine's own, which libc answers, a fixed offset, or the bytes of a file, which
 * zone_file.c reads. Of a name and of an abbreviation only what is certain is taken: a name has no
 * dots and so leads nowhere else, and an abbreviation means what this machine means by it, then
 * what all do.
 */

#include "os/zone.h"

#include "os/file.h"
#include "os/zone_file.h"

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
