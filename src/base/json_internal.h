/*
 * The strict half of json.c. It checks the text against the grammar before the lenient parser sees
 * it, and records in document order the details that the parsed tree loses. Only json.c and
 * json_scan.c include this file.
 */
#pragma once

#include "base/json.h"

enum {
    JSON_NUMBER_INTEGER = 1, /* an exact integer of at most 2^53 */
    JSON_NUMBER_RAW = 2, /* mas would spell it differently: keep its text */
};

struct json_scan {
    const char *text; /* the caller sets text, len and err, and wanted_key to SIZE_MAX */
    size_t len;
    size_t pos; /* after success: just after the value */
    int depth;
    size_t keys; /* number of keys seen so far */
    size_t wanted_key; /* record the position of this key */
    size_t wanted_pos;
    struct str numbers; /* one byte of JSON_NUMBER_* for each number */
    struct str raw; /* texts of the JSON_NUMBER_RAW numbers, each with its NUL */
    struct err *err;
};

/* Scans the whole text. The caller always releases s->numbers and s->raw. */
int json_scan(struct json_scan *s);

/* Fails with the line and column of byte `pos`. Columns count characters, as editors do. */
int json_scan_fail(const struct json_scan *s, size_t pos, const char *why);

/* Fails with the position of the `ordinal`th key of the document, which it finds in a second
 * scan. */
int json_scan_fail_key(struct json_scan *s, size_t ordinal, const char *why);

/* Returns the length of the UTF-8 character of two or more bytes at `text`, or 0 if there is
 * none. */
size_t json_wide_char(const char *text, size_t len);
