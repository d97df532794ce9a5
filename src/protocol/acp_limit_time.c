/*
 * In words, spans ("in 3 hours") are looked for before clocks ("at 3pm"); in data, the name of a
 * member says what its number or text is. Each reader moves behind what it has read. Nothing is
 * guessed: a day that is in no calendar, or a zone that nobody knows, gives no time.
 */

#include "protocol/acp_limit_time.h"

#include "os/zone.h"

#include <strings.h>

enum { LONG_SPAN_S = 400 * 24 * 3600 };

/* ---- spans */

/* Returns the length of a unit of time at `p` in ms and its name's length in *ret_len; 0: there is
 * none. */
static int64_t unit_at(const char *p, size_t *ret_len)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"milliseconds", 1}, {"millisecond", 1}, {"ms", 1},          {"seconds", 1000},
        {"second", 1000},    {"secs", 1000},     {"sec", 1000},      {"s", 1000},
        {"minutes", 60000},  {"minute", 60000},  {"mins", 60000},    {"min", 60000},
        {"m", 60000},        {"hours", 3600000}, {"hour", 3600000},  {"hrs", 3600000},
        {"hr", 3600000},     {"h", 3600000},     {"days", 86400000}, {"day", 86400000},
        {"d", 86400000},
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncasecmp(p, units[i].name, len) != 0 || isalpha((unsigned char)p[len]) != 0)
            continue;
        *ret_len = len;
        return units[i].ms;
    }
    return 0;
}

/* Reads "34.07s", "5h12m10s" or "3 days, 4 hours and 5 minutes" in ms; 0: there is none. */
static int64_t read_span(const char *p)
{
    double ms = 0;

    for (;;) {
        char *end = NULL;
        size_t len = 0;
        p += strspn(p, " ,\":=");
        if (strncasecmp(p, "and ", 4) == 0)
            p += 4;
        if (isdigit((unsigned char)*p) == 0)
            break;
        double n = strtod(p, &end);
        const char *unit = end + strspn(end, " ");
        int64_t one = unit_at(unit, &len);
        if (one == 0 || n > LONG_SPAN_S)
            break;
        ms += n * (double)one;
        p = unit + len;
    }
    return ms > 0 && ms < LONG_SPAN_S * 1000.0 ? (int64_t)ms + 1 : 0;
}

/* ---- clocks */

/* Skips spaces, also those that do not break: node writes "3:05 PM" with one. */
static const char *skip_blank(const char *p)
{
    static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf"};

    for (size_t i = 0; i < ARRAY_LEN(blanks);) {
        bool is_blank = str_starts(p, blanks[i]);
        p += is_blank ? strlen(blanks[i]) : 0;
        i = is_blank ? 0 : i + 1;
    }
    return p;
}

/* Moves *p behind a word of these, in any case. Returns false if it is not there. */
static bool skip_word(const char **p, const char *word)
{
    size_t len = strlen(word);

    if (strncasecmp(*p, word, len) != 0 || isalnum((unsigned char)(*p)[len]) != 0)
        return false;
    *p += len;
    return true;
}

/* Reads a number of so many digits at most. */
static bool read_digits(const char **p, size_t most, int *ret)
{
    size_t len = strspn(*p, "0123456789");

    if (len == 0 || len > most)
        return false;
    *ret = (int)strtol(*p, NULL, 10);
    *p += len;
    return true;
}

static int month_at(const char *p)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

    for (int i = 0; i < 12; i++)
        if (strncasecmp(p, names + (ptrdiff_t)3 * i, 3) == 0)
            return i;
    return -1;
}

/* Reads "Jan 3", "Jan 3rd, 2026" or "2026-01-03" and moves *p behind it; returns false if there is
 * no date. */
static bool read_date(const char **p, struct tm *tm, bool *ret_year)
{
    const char *at = *p;
    const char *year_at;
    int month = month_at(at), year = 0, day = 0;

    *ret_year = false;
    if (month == -1) {
        if (strspn(at, "0123456789") != 4 || !read_digits(&at, 4, &year) || *at++ != '-' ||
            !read_digits(&at, 2, &month) || *at++ != '-' || !read_digits(&at, 2, &day))
            return false;
        *ret_year = true;
        at += *at == 'T' || *at == 't';
        month--;
    } else {
        at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.");
        at = skip_blank(at);
        if (!read_digits(&at, 2, &day))
            return false;
        at += strspn(at, "stndrh");
        year_at = skip_blank(at + strspn(at, ","));
        if (strspn(year_at, "0123456789") == 4 && read_digits(&year_at, 4, &year)) {
            *ret_year = true;
            at = year_at;
        }
    }
    if (day < 1 || day > 31 || month < 0 || month > 11 || (*ret_year && year < 2001))
        return false;
    tm->tm_year = *ret_year ? year - 1900 : tm->tm_year;
    tm->tm_mon = month;
    tm->tm_mday = day;
    *p = skip_blank(at + strspn(at, ", "));
    if (skip_word(p, "at"))
        *p = skip_blank(*p);
    return true;
}

/* Reads "3pm", "3:05 p.m.", "15:04", "15:04:05.25" or "midnight" and moves *p behind it. */
static bool read_hour(const char **p, struct tm *tm)
{
    static const char *const halves[] = {"am", "a.m.", "a.m", "pm", "p.m.", "p.m"};
    const char *at = *p;
    int hour = 0, part[2] = {0, 0};
    size_t half = 0, count = 0;

    tm->tm_min = tm->tm_sec = 0;
    tm->tm_hour = skip_word(p, "noon") ? 12 : 0;
    if (tm->tm_hour == 12 || skip_word(p, "midnight"))
        return true;
    if (!read_digits(&at, 2, &hour))
        return false;
    for (; count < 2 && at[0] == ':' && isdigit((unsigned char)at[1]) != 0; count++) {
        at++;
        if (!read_digits(&at, 2, &part[count]) || part[count] > 59)
            return false;
    }
    if (count == 2 && at[0] == '.')
        at += 1 + strspn(at + 1, "0123456789");
    const char *behind = skip_blank(at);
    while (half < ARRAY_LEN(halves) && !skip_word(&behind, halves[half]))
        half++;
    bool twelve = half < ARRAY_LEN(halves);
    if ((twelve && (hour < 1 || hour > 12)) || hour > 23 || (!twelve && count == 0))
        return false;
    tm->tm_hour = !twelve ? hour : hour % 12 + (halves[half][0] == 'p' ? 12 : 0);
    tm->tm_min = part[0];
    tm->tm_sec = part[1];
    *p = twelve ? behind : at;
    return true;
}

/* Reads "+2", "-0500" or "+05:30" in seconds, and moves *p behind it. */
static bool read_offset(const char **p, int *ret)
{
    enum { HOURS_MAX = 14 };
    static const char minus[] = "\xe2\x88\x92"; /* a proper one */
    const char *at = *p;
    int sign = *at == '+' ? 1 : -1, hours = 0, minutes = 0;

    if (*at != '+' && *at != '-' && !str_starts(at, minus))
        return false;
    at += *at == '+' || *at == '-' ? 1 : strlen(minus);
    size_t len = strspn(at, "0123456789");
    if (!read_digits(&at, 4, &hours) || len == 3)
        return false;
    if (len == 4) {
        minutes = hours % 100;
        hours /= 100;
    } else if (*at == ':') {
        at++;
        if (strspn(at, "0123456789") != 2 || !read_digits(&at, 2, &minutes))
            return false;
    }
    if (hours > HOURS_MAX || minutes > 59 || isalnum((unsigned char)*at) != 0)
        return false;
    *ret = sign * (hours * 3600 + minutes * 60);
    *p = at;
    return true;
}

enum zone_words { ZONE_UNSAID, ZONE_SAID, ZONE_UNKNOWN };

/* Returns true if a word that begins like this stands for a zone, known or not: it is in
 * parentheses, or has capitals alone, or a slash, or "Time" ends what it begins. */
static bool is_zone_word(const char *p, size_t len, bool in_parentheses)
{
    size_t capitals = 0;

    if (in_parentheses && isupper((unsigned char)*p) != 0)
        return true;
    while (capitals < len && isupper((unsigned char)p[capitals]) != 0)
        capitals++;
    if (memchr(p, '/', len) != NULL ||
        (capitals >= 2 && (capitals == len || isalpha((unsigned char)p[capitals]) == 0)))
        return true;
    for (int words = 0; words < 4 && isupper((unsigned char)*p) != 0; words++) {
        if (skip_word(&p, "Time"))
            return true;
        p = skip_blank(p + strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    }
    return false;
}

/* What is a zone in any case, and without parentheses. */
static bool is_short(const char *word)
{
    return strcasecmp(word, "utc") == 0 || strcasecmp(word, "gmt") == 0 || strcmp(word, "Z") == 0;
}

/* Reads the zone behind a time, "(America/New_York)", "PST", "UTC+2" or "+02:00". *ret stays unless
 * one is said. */
static enum zone_words read_zone(const char **p, time_t now, struct zone *ret)
{
    const char *at = skip_blank(*p + strspn(*p, ","));
    bool in_parentheses = *at == '(';
    int east = 0;

    at = skip_blank(at + in_parentheses);
    const char *offset =
        at + (strncasecmp(at, "utc", 3) == 0 || strncasecmp(at, "gmt", 3) == 0 ? 3 : 0);
    bool is_offset = read_offset(&offset, &east);
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/");
    if (is_offset) {
        *ret = zone_fixed(east);
        *p = offset;
        return ZONE_SAID;
    }
    if ((*at == '+' || *at == '-') && isdigit((unsigned char)at[1]) != 0)
        return ZONE_UNKNOWN;
    const char *local = at;
    if (isalpha((unsigned char)*at) == 0 || skip_word(&local, "local"))
        return ZONE_UNSAID;
    _cleanup_free_ char *word = mem_dupn(at, len);
    bool is_word = is_zone_word(at, len, in_parentheses);
    if ((is_word || in_parentheses || is_short(word)) &&
        (zone_by_abbreviation(word, now, ret) || zone_by_name(word, ret))) {
        *p = at + len;
        return ZONE_SAID;
    }
    return is_word ? ZONE_UNKNOWN : ZONE_UNSAID;
}

/* Reads the date that may be behind a time, "3pm (UTC) on Jan 3". */
static bool read_date_behind(const char *p, struct tm *tm, bool *ret_year)
{
    p = skip_blank(p + strspn(p, "),"));
    if (skip_word(&p, "on"))
        p = skip_blank(p);
    return read_date(&p, tm, ret_year);
}

static bool has_day(const struct tm *tm)
{
    struct tm copy = *tm;

    return timegm(&copy) != -1 && copy.tm_mon == tm->tm_mon;
}

/* Reads the time of a clock: the next such time there is in its zone. */
static int64_t read_clock(const char *p, int64_t now_ms, bool must_have_zone)
{
    _cleanup_zone_ struct zone zone = ZONE_LOCAL;
    time_t now = (time_t)(now_ms / 1000), past = now - ACP_LIMIT_PAST_MS / 1000, when = 0;
    struct tm said = {.tm_mday = 0}, tm;
    bool has_year = false;

    bool dated = read_date(&p, &said, &has_year);
    if (!read_hour(&p, &said))
        return 0;
    enum zone_words words = read_zone(&p, now, &zone);
    if (words == ZONE_UNKNOWN || (words == ZONE_UNSAID && must_have_zone) ||
        !zone_clock(&zone, now, &tm))
        return 0;
    dated = dated || read_date_behind(p, &said, &has_year);
    if (!dated) {
        said.tm_mon = tm.tm_mon;
        said.tm_mday = tm.tm_mday;
    }
    if (!has_year)
        said.tm_year = tm.tm_year;
    if (!has_day(&said) || !zone_time(&zone, &said, &when))
        return 0;
    if (when <= past && !has_year) {
        said.tm_mday += !dated;
        said.tm_year += dated;
        if (!zone_time(&zone, &said, &when))
            return 0;
    }
    return (int64_t)when * 1000;
}

/* Reads a date and time as programs write it, "2026-11-18T11:07:40+01:00". */
static int64_t read_stamp(const char *text, int64_t now_ms)
{
    return strspn(text, "0123456789") == 4 ? read_clock(text, now_ms, true) : 0;
}

/* A number of seconds or milliseconds since 1970, by its size. */
static int64_t from_epoch(double n)
{
    return n > 1e12 && n < 1e14 ? (int64_t)n : n > 1e9 && n < 1e11 ? (int64_t)(n * 1000) : 0;
}

int64_t acp_limit_time_in(const char *text, int64_t now_ms)
{
    static const char *const spans[] = {
        "again in ", "retry in ",  "retry after ",  "retry-after", "reset after ", "resets in ",
        "reset in ", "retrydelay", "available in ", "wait for ",   "wait "};
    static const char *const clocks[] = {"resets at ", "reset at ", "again at ",
                                         "resets on ", "resets ",   "available at "};
    const char *at;

    for (size_t i = 0; i < ARRAY_LEN(spans); i++)
        if ((at = strcasestr(text, spans[i])) != NULL) {
            int64_t ms = read_span(at + strlen(spans[i]));
            if (ms > 0)
                return now_ms + ms;
        }
    for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
        if ((at = strcasestr(text, clocks[i])) != NULL) {
            int64_t when = read_clock(at + strlen(clocks[i]), now_ms, false);
            if (when > 0)
                return when;
        }
    at = strcasestr(text, "limit reached|");
    return at != NULL ? from_epoch(strtod(at + strlen("limit reached|"), NULL)) : 0;
}

/* A key's name without its separators, in lower case, such as "retryafter". */
static void plain_key(const char *key, char buf[48])
{
    size_t n = 0;

    for (; *key != '\0' && n < 47; key++)
        if (isalnum((unsigned char)*key) != 0)
            buf[n++] = (char)tolower((unsigned char)*key);
    buf[n] = '\0';
}

double acp_limit_number(const struct json *node)
{
    const char *text = json_text(node);
    char *end = NULL;

    if (text == NULL)
        return json_is_number(node) ? (double)json_int(node, -1) : -1;
    double n = strtod(text, &end);
    return end != text && *end == '\0' ? n : -1;
}

/* The date of an HTTP header */
static int64_t http_date(const char *text)
{
    struct tm tm = {.tm_sec = 0};

    return text != NULL && strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm) != NULL
               ? (int64_t)timegm(&tm) * 1000
               : 0;
}

int64_t acp_limit_time_of(const struct json *node, int64_t now_ms, bool *ret_retry)
{
    const char *key = json_key(node);
    const char *text = json_text(node);
    double n = acp_limit_number(node);
    char name[48];

    if (key == NULL)
        return 0;
    plain_key(key, name);
    bool reset = strstr(name, "reset") != NULL;
    bool retry = str_starts(name, "retryafter") || str_starts(name, "retrydelay") ||
                 str_starts(name, "retryin");
    *ret_retry = retry;
    if (!reset && !retry)
        return 0;
    if (n >= 0) {
        int64_t epoch = from_epoch(n);
        bool is_ms = str_ends(name, "ms") || str_ends(name, "millis");
        if (epoch > 0)
            return epoch;
        return n > 0 && n < LONG_SPAN_S * 1000.0 ? now_ms + (int64_t)(is_ms ? n : n * 1000) : 0;
    }
    if (text == NULL)
        return 0;
    int64_t stamp = read_stamp(text, now_ms);
    if (stamp > 0)
        return stamp;
    int64_t span = read_span(text);
    return span > 0 ? now_ms + span : http_date(text);
}
