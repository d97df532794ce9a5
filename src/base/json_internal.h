/*
 * The strict half of json.c: checks text against the grammar before a lenient parser sees it, and
 * notes in document order what the parsed tree no longer tells. Nobody else includes this.
 */
#ifndef MAS_BASE_JSON_INTERNAL_H
#define MAS_BASE_JSON_INTERNAL_H

#include "base/json.h"

#include <stddef.h>

enum {
    JSON_NUMBER_INTEGER = 1, /* an exact integer up to 2^53 */
    JSON_NUMBER_RAW = 2, /* not as it would be written: its text is kept */
};

struct json_scan {
    const char *text; /* set these two and err, and wanted_key to SIZE_MAX */
    size_t len;
    size_t pos; /* after success: behind the value */
    int depth;
    size_t keys; /* seen so far */
    size_t wanted_key; /* note where this one stands */
    size_t wanted_pos;
    struct str numbers; /* a byte of JSON_NUMBER_* for each number */
    struct str raw; /* texts of the JSON_NUMBER_RAW ones, each with its NUL */
    struct err *err;
};

/* Scans the whole text. The caller releases s->numbers and s->raw in any case. */
int json_scan(struct json_scan *s);

/* Fails at byte `pos` with line and column; columns count characters, as editors do. */
int json_scan_fail(const struct json_scan *s, size_t pos, const char *why);

/* Fails where the key that is number `ordinal` in the document stands: scans a second time. */
int json_scan_fail_key(struct json_scan *s, size_t ordinal, const char *why);

/* Length of the UTF-8 character of two bytes or more that begins at text, 0 where it is not one. */
size_t json_wide_char(const char *text, size_t len);

#endif
