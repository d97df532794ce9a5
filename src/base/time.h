/*
 * Times: ISO 8601 in UTC with whole seconds on disk ("2025-12-18T08:00:00Z"), ages for people.
 */
#ifndef MAS_BASE_TIME_H
#define MAS_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { TIME_TEXT = 21 }; /* bytes of the ISO form with its NUL */

void time_format(time_t t, char buf[TIME_TEXT]);
/* Exactly the form above; false for anything else. */
bool time_parse(const char *text, time_t *ret);
/* "12s", "5m", "3h", "2d"; "0s" for the future. */
void time_age(time_t since, time_t now, char buf[24]);
/* "200ms", "2s", "1m", "3h"; a number by itself is seconds. false for anything else and for more
 * than TIME_DURATION_MAX_MS. */
enum { TIME_DURATION_MAX_MS = 24 * 3600 * 1000 };
bool time_parse_duration(const char *text, int *ret_ms);
/* Seconds of "30s", "10m", "3h", "2d", "1w"; false for anything else and for what is older than a
 * century. */
bool time_parse_age(const char *text, time_t *ret);
/* Milliseconds of the monotonic clock. */
int64_t time_monotonic_ms(void);
/* Milliseconds since 1970. */
int64_t time_epoch_ms(void);

/* A moment as people name it: an age such as 10m before now, or a time as time_parse() reads it.
 * Epoch milliseconds. */
bool time_parse_past(const char *text, int64_t *ret_ms);

#endif
