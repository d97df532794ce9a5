/*
 * Times: on disk ISO 8601 in UTC with whole seconds ("2025-12-18T08:00:00Z"), for people ages.
 */
#pragma once

#include "base/number.h"

enum { TIME_TEXT = 21 }; /* bytes of the ISO form, with the NUL */

/* Writes the ISO form of `t`. */
void time_format(time_t t, char buf[TIME_TEXT]);
/* Parses exactly the ISO form; returns false for any other text. */
bool time_parse(const char *text, time_t *ret);
/* Formats an age as "12s", "5m", "3h" or "2d"; "0s" if `since` is in the future. */
void time_age(time_t since, time_t now, char buf[24]);
/* The units of durations, in milliseconds, and of ages, in seconds. */
extern const struct unit time_durations[5], time_ages[5];
/* Parses "200ms", "2s", "1m" or "3h"; a number without a unit is in seconds. Returns false for any
 * other text and for more than TIME_DURATION_MAX_MS. */
enum { TIME_DURATION_MAX_MS = 24 * 3600 * 1000 };
#define TIME_AGE_MAX (UINT64_C(100) * 366 * 24 * 3600) /* seconds */
bool time_parse_duration(const char *text, int *ret_ms);
/* Parses "30s", "10m", "3h", "2d" or "1w" into seconds. Returns false for any other text and for
 * more than a century. */
bool time_parse_age(const char *text, time_t *ret);
/* Returns milliseconds of the monotonic clock. */
int64_t time_monotonic_ms(void);
/* Milliseconds since the machine was started, which go on while it sleeps. */
int64_t time_boot_ms(void);
/* Returns milliseconds since 1970. */
int64_t time_epoch_ms(void);
/* Returns the earlier of two such times; -1 means never. */
int64_t time_sooner(int64_t a, int64_t b);

/* Parses a time in the past into milliseconds since 1970: an age as time_parse_age() reads it
 * ("10m" means ten minutes ago), or a time as time_parse() reads it. Returns false for any other
 * text. */
bool time_parse_past(const char *text, int64_t *ret_ms);
