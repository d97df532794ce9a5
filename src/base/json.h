/*
 * JSON in and out, strictly (RFC 8259); the only file that knows cJSON is json.c.
 *
 * cJSON alone accepts trailing garbage, leading zeros, raw control characters and bad UTF-8, takes
 * the first of two equal keys, ignores case and cuts strings at \u0000. json_parse() refuses all of
 * those, and also text over `max_size` bytes and nesting over JSON_DEPTH_MAX.
 *
 * A struct json is a node of a parsed document. The root is released with json_free(); nodes inside
 * belong to it. Lookups answer NULL for what is missing or of another type, so they can be chained.
 */
#ifndef MAS_BASE_JSON_H
#define MAS_BASE_JSON_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 64 };

struct json;

/* Parses exactly one value. The error (MAS_DAMAGED) names line and column and why. */
int json_parse(const char *text, size_t len, size_t max_size, struct json **ret, struct err *err);
void json_free(struct json *root);
void json_freep(struct json **root);
#define _cleanup_json_ __attribute__((cleanup(json_freep)))

bool json_is_object(const struct json *node);
bool json_is_array(const struct json *node);
bool json_is_string(const struct json *node);
bool json_is_number(const struct json *node);
bool json_is_null(const struct json *node); /* a null that stands there */
/* Member `key` of an object, case-sensitive. */
const struct json *json_get(const struct json *object, const char *key);
/* Text of a string node, UTF-8, without NULs inside; NULL if it is not one. */
const char *json_text(const struct json *node);
/* json_text(json_get()), the common case. */
const char *json_get_text(const struct json *object, const char *key);
/* Likewise, with what stands for one that is missing or no text. */
const char *json_get_text_or(const struct json *object, const char *key, const char *fallback);
/* `fallback` where the node is missing or is not a boolean / an integer of at most 2^53 / a number.
 */
bool json_bool(const struct json *node, bool fallback);
int64_t json_int(const struct json *node, int64_t fallback);
double json_number(const struct json *node, double fallback);
/* A copy of a node and all in it, the caller's; NULL of NULL. */
struct json *json_copy(const struct json *node);
/* Frees *to and puts a copy in its place. */
void json_replace(struct json **to, const struct json *node);
/* First child of an array or object, then the next sibling; NULL at the end. */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *node);
/* Key of an object's member; NULL for an array's element. */
const char *json_key(const struct json *node);

/*
 * Writing. Objects and arrays are opened and closed in order, commas come by themselves. Text that
 * is not UTF-8 (a file name may hold any bytes) has its bad bytes replaced by U+FFFD.
 *
 *     struct json_out out = {.to = &s};
 *     json_open(&out, NULL, '{');
 *     json_put(&out, "sessionId", id);
 *     json_close(&out, '}');
 */
struct json_out {
    struct str *to; /* not owned */
    bool comma; /* the next value needs one in front */
};

void json_open(struct json_out *out, const char *key, char bracket);
void json_close(struct json_out *out, char bracket);
void json_put(struct json_out *out, const char *key, const char *text); /* NULL becomes null */
/* Likewise, as much of the text as str_fit() lets through. */
void json_put_fit(struct json_out *out, const char *key, const char *text, size_t max);
void json_put_int(struct json_out *out, const char *key, int64_t n);
void json_put_bool(struct json_out *out, const char *key, bool b);
/* A node and all in it; numbers as they were written. NULL becomes null. */
void json_put_node(struct json_out *out, const char *key, const struct json *node);
/* Text that is JSON already. */
void json_put_raw(struct json_out *out, const char *key, const char *text);

#endif
