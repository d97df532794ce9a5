/*
 * Times that recur, as systemd.time(7) writes calendar events: "Mon..Fri 08:00",
 * "*-*-1,15 6..22/2:00 Europe/Berlin", "weekly". A subset: weekdays, a date and a time of lists,
 * ranges and steps, and the words from minutely to yearly. What is not in it ("~", fractions of a
 * second, years of two digits) is refused.
 *
 * As in systemd, a time that a clock of the zone shows twice is the first one, and one that it
 * never shows, because it is put forward, is left out.
 */
#pragma once

enum { CALENDAR_TEXT_MAX = 255, CALENDAR_YEAR_MIN = 1970, CALENDAR_YEAR_MAX = 2199 };

enum calendar_part {
    CALENDAR_YEAR,
    CALENDAR_MONTH,
    CALENDAR_DAY,
    CALENDAR_HOUR,
    CALENDAR_MINUTE,
    CALENDAR_SECOND,
    CALENDAR_PARTS
};

struct calendar {
    bool weekdays[7]; /* from Sunday */
    bool parts[CALENDAR_PARTS]
              [CALENDAR_YEAR_MAX - CALENDAR_YEAR_MIN + 1]; /* from the least value */
    char zone[64]; /* an IANA name; "": the zone of this machine */
};

/* Returns NULL, or what a valid text is; then *ret is unchanged. */
const char *calendar_parse(const char *text, struct calendar *ret);
/* The same for a single time after `now`: "+2h", "today 19:00", "tomorrow 07:00" or the next time
 * of a calendar. */
const char *calendar_parse_at(const char *text, time_t now, time_t *ret);
/* Finds the first time after `after`. Returns false if there is none. */
bool calendar_next(const struct calendar *calendar, time_t after, time_t *ret);
