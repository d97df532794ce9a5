/*
 * Numbers with a unit, as people write and read them: "400M", "2s".
 */
#pragma once

struct unit {
    const char *name; /* "" for a number without a unit */
    uint64_t factor;
};

/* Parses decimal digits followed by one of the units; *ret is the number times the factor. Returns
 * false for any other text and for a result over `max`. */
bool number_parse(const char *text, const struct unit *units, size_t count, uint64_t max,
                  uint64_t *ret);

/* The same without units. */
bool number_parse_count(const char *text, uint64_t max, uint64_t *ret);
/* The units of sizes, in powers of 1024. */
extern const struct unit number_sizes[5];
/* Parses a size in bytes: "65536", "64K", "10M", "2G", "1T". Limit as above. */
bool number_parse_size(const char *text, uint64_t max, uint64_t *ret);

enum { NUMBER_SIZE_TEXT = 16 };
/* Formats a size in bytes for people: "1.5M". */
void number_format_size(uint64_t bytes, char buf[NUMBER_SIZE_TEXT]);
/* Puts a number in front of `end`, with zeros up to `width` digits, and returns its begin. A list
 * of many sessions spends a quarter of its time in printf() otherwise. */
char *number_put(char *end, uint64_t number, int width);
