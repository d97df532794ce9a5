/*
 * Values: what a text in a file, a setting or on a command line may be, as data. A struct
 * value_type says it once. From it come the check of a text, the typed member that it becomes, the
 * text that is written back, and what an error says. A type belongs to the module that knows what
 * the value means (model/wall.h has that of levels of a wall); files of settings, presets, teams
 * and records only point to it, see model/member.h. What a request may hold, which fills no struct,
 * is model/param.h.
 *
 *     static const struct value_type keep = {VALUE_NUMBER, "a number from 0 to 1000", .max = 1000};
 *     const char *want = VALUE_PARSE(&keep, text, &number);
 */
#pragma once

#include "base/number.h"

enum value_kind {
    VALUE_TEXT, /* char *, "" for none */
    VALUE_CHARS, /* char[], likewise */
    VALUE_WORD, /* bool or an enum: the index of one of `words` */
    VALUE_SET, /* unsigned: a list of `words`, 1 << index for each; not empty if `min` is 1 */
    VALUE_LIST, /* char **: a list of at most `max` words, each of which `fits` */
    VALUE_NUMBER, /* any integer, from `min` to `max`; one below 0 has no text */
    VALUE_TIME, /* time_t, as time_format() writes it */
    VALUE_MS, /* int64_t, of JSON alone: milliseconds since 1970 under a key that ends in "Ms" */
    VALUE_OTHER, /* what `parse` makes of it */
};

struct value_type {
    enum value_kind kind;
    const char *want; /* a valid value, to follow "is not"; NULL: people write none */
    bool sentence; /* `want` says all, without "'VALUE' is not" */
    int64_t min, max; /* of a number; of the bytes of a text, where 0 is no limit */
    const char *const *words; /* NULL at the end; "" is the value that is not said */
    const struct unit *units; /* of a number; NULL: no unit */
    size_t unit_count;
    unsigned decimals; /* of a number: "1.5" is 150 if there are two */
    bool zero; /* of a number: 0 is valid, whatever `min` says, and is `nothing` */
    const char *none; /* a word that is valid, too, and becomes `nothing` */
    int64_t nothing;
    bool line; /* a text without control characters */
    bool absolute; /* a text that is "" or begins with "/" */
    bool (*fits)(const char *text); /* of a text that is not "", and of the words of a list */
    /* Of a text of which more than one thing may be wrong. Returns NULL, or what a valid one is. */
    const char *(*check)(const char *text);
    /* Checks a text and, if `to` is not NULL, parses it. Returns NULL, or what a valid one is. */
    const char *(*parse)(const char *text, void *to);
};

/* For `fits`: words in the quoting of the shell. */
bool value_is_command(const char *text);

#define VALUE_UNITS(array) .units = (array), .unit_count = ARRAY_LEN(array)

/* Any text, also in a char[]; the time of a file; "yes" or "no". */
extern const struct value_type value_text, value_chars, value_time, value_ms, value_yes;

/* Parses a text into a member of `size` bytes, whose old text or list is freed; `to` NULL only
 * checks it. Returns NULL, or what a valid one is; then the member stays. */
const char *value_parse(const struct value_type *type, const char *text, void *to, size_t size);
#define VALUE_PARSE(type, text, to) value_parse(type, text, to, sizeof *(to))

/* Appends a value so that value_parse() reads it back; not of a list and of VALUE_OTHER. */
void value_write(const struct value_type *type, const void *from, size_t size, struct str *to);
/* Returns true for "", `nothing` and no list: nothing was said. */
bool value_is_empty(const struct value_type *type, const void *from, size_t size);
/* Releases a member, and leaves it empty. */
void value_free(const struct value_type *type, void *member);

/* Returns the integer in a member of this size, and puts one in. One of 4 bytes is signed: what may
 * be more than INT32_MAX has 8. */
int64_t value_load(const void *from, size_t size);
void value_store(void *to, size_t size, int64_t number);
/* Returns the index of a word, or -1, also if `text` is NULL. */
int value_word(const char *const *words, const char *text);
