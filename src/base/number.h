/*
 * Numbers with a unit behind them, as people write and read them: "400M", "2s".
 */
#ifndef MAS_BASE_NUMBER_H
#define MAS_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit {
    const char *name; /* "" for a number by itself */
    uint64_t factor;
};

/* Decimal digits and one of the units; false for anything else and for what passes `max`. */
bool number_parse(const char *text, const struct unit *units, size_t count, uint64_t max,
                  uint64_t *ret);

/* Bytes: "65536", "64K", "10M", "2G", "1T", in powers of 1024. */
bool number_parse_size(const char *text, uint64_t max, uint64_t *ret);

enum { NUMBER_SIZE_TEXT = 16 };
/* The other way round, for people: "1.5M". */
void number_format_size(uint64_t bytes, char buf[NUMBER_SIZE_TEXT]);

#endif
