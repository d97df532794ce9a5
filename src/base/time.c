#include "base/time.h"

#include "base/number.h"

void time_format(time_t t, char buf[TIME_TEXT])
{
    struct tm tm;
    if (gmtime_r(&t, &tm) == NULL || strftime(buf, TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        (void)snprintf(buf, TIME_TEXT, "1970-01-01T00:00:00Z");
}

/* Parses `digits` digits at p; -1 if they are invalid. */
static int number(const char *p, int digits)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        n = n * 10 + (p[i] - '0');
    }
    return n;
}

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March, so
 * the leap day is the last of its year. Written by hand because a listing parses tens of thousands
 * of times. */
static long days_since_1970(int year, int month, int day)
{
    long y = month <= 2 ? year - 1 : year;
    long era = y / 400;
    long of_era = y - era * 400;
    long of_year = (153L * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool time_parse(const char *text, time_t *ret)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (strnlen(text, TIME_TEXT) != TIME_TEXT - 1 || text[4] != '-' || text[7] != '-' ||
        text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z')
        return false;
    int year = number(text, 4);
    int month = number(text + 5, 2);
    int day = number(text + 8, 2);
    int hour = number(text + 11, 2);
    int minute = number(text + 14, 2);
    int second = number(text + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 59)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > lengths[month - 1] + (month == 2 && leap))
        return false;
    *ret = (time_t)days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

const struct unit time_durations[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}};
const struct unit time_ages[] = {
    {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}, {"w", 7 * 24 * 3600}};

void time_age(time_t since, time_t now, char buf[24])
{
    uint64_t age = now > since ? (uint64_t)(now - since) : 0;
    char *end = buf + 23;

    *end = '\0';
    *--end = age < 60 ? 's' : age < 3600 ? 'm' : age < 86400 ? 'h' : 'd';
    end = number_put(end, age / (age < 60 ? 1 : age < 3600 ? 60 : age < 86400 ? 3600 : 86400), 0);
    memmove(buf, end, (size_t)(buf + 24 - end));
}

bool time_parse_duration(const char *text, int *ret_ms)
{
    uint64_t ms;
    if (!number_parse(text, time_durations, ARRAY_LEN(time_durations), TIME_DURATION_MAX_MS, &ms))
        return false;
    *ret_ms = (int)ms;
    return true;
}

bool time_parse_age(const char *text, time_t *ret)
{
    uint64_t seconds;
    if (!number_parse(text, time_ages, ARRAY_LEN(time_ages), TIME_AGE_MAX, &seconds))
        return false;
    *ret = (time_t)seconds;
    return true;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec ts;
    (void)clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t time_monotonic_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t time_boot_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

int64_t time_epoch_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t time_sooner(int64_t a, int64_t b)
{
    return a == -1 || (b != -1 && b < a) ? b : a;
}

bool time_parse_past(const char *text, int64_t *ret_ms)
{
    time_t when = 0;

    if (time_parse_age(text, &when))
        when = time(NULL) - when;
    else if (!time_parse(text, &when))
        return false;
    *ret_ms = (int64_t)when * 1000;
    return true;
}
