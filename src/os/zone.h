/*
 * Time zones by name, for words that somebody else wrote: nothing here changes TZ or what libc
 * keeps of it, which all threads share.
 *
 *     _cleanup_zone_ struct zone zone = ZONE_LOCAL;
 *     if (zone_by_name("America/New_York", &zone) && zone_time(&zone, &tm, &when)) ...
 */
#pragma once

struct zone {
    enum { ZONE_IS_LOCAL, ZONE_IS_FIXED, ZONE_IS_FILE } kind;
    int east; /* of a fixed one: seconds */
    char *data; /* of a file: its bytes */
    size_t len;
};

#define ZONE_LOCAL                                                                                 \
    {                                                                                              \
        .kind = ZONE_IS_LOCAL                                                                      \
    }

/* Reads the file of an IANA zone. The name may come from anywhere. Returns false if there is no
 * such zone on this machine. */
bool zone_by_name(const char *name, struct zone *ret);
/* Finds an abbreviation that this machine's own zone uses around this time, else one that means the
 * same everywhere. CST, for example, is in use in Chicago, Shanghai and Havana. */
bool zone_by_abbreviation(const char *name, time_t now, struct zone *ret);
/* A fixed one, so many seconds east of Greenwich. */
struct zone zone_fixed(int east);
void zone_free(struct zone *zone);
#define _cleanup_zone_ __attribute__((cleanup(zone_free)))

/* Fills *ret with what a clock of the zone shows. Returns false if the zone does not say. */
bool zone_clock(const struct zone *zone, time_t when, struct tm *ret);
/* Returns when a clock of the zone shows this date and time, the first time if twice. Members out
 * of range carry over, as for timegm(). Returns false if the zone does not say. */
bool zone_time(const struct zone *zone, const struct tm *tm, time_t *ret);

/* What a file of /usr/share/zoneinfo says: RFC 8536, version 2 and later. */

/* Returns how far east of Greenwich, in seconds, the zone is at this time. Returns false if the
 * bytes are not such a file, or do not say. */
bool zone_file_offset(const char *data, size_t len, time_t when, int *ret);

/* The same by a rule as it ends such a file, "CET-1CEST,M3.5.0,M10.5.0/3". */
bool zone_rule_offset(const char *rule, time_t when, int *ret);
