/*
 * Strict JSON input and output (RFC 8259). Only json.c uses cJSON.
 *
 * cJSON alone accepts trailing garbage, leading zeros, raw control characters and bad UTF-8, takes
 * the first of two equal keys, ignores case in keys and cuts strings at \u0000. json_parse()
 * refuses all of these, and also text over `max_size` bytes and nesting over JSON_DEPTH_MAX.
 * test/unit/test_cjson.c shows each by a call of cJSON.
 *
 * A struct json is a node of a parsed document. The caller releases the root with json_free(); the
 * root owns all other nodes. Lookups return NULL if a value is missing or has another type, and
 * they accept NULL, so they can be chained.
 */
#pragma once

enum { JSON_DEPTH_MAX = 64 };

struct json;

/* Parses exactly one value. On failure the error (MAS_DAMAGED) gives line, column and reason. */
int json_parse(const char *text, size_t len, size_t max_size, struct json **ret, struct err *err);
void json_free(struct json *root);
void json_freep(struct json **root);
#define _cleanup_json_ __attribute__((cleanup(json_freep)))

/* Type tests; false for NULL. */
bool json_is_object(const struct json *node);
bool json_is_array(const struct json *node);
bool json_is_string(const struct json *node);
bool json_is_number(const struct json *node);
bool json_is_null(const struct json *node); /* false if the node is missing */
/* Returns member `key` of an object; keys are case-sensitive. NULL if it is missing. */
const struct json *json_get(const struct json *object, const char *key);
/* Returns the text of a string node: UTF-8 without NULs, owned by the document. NULL for another
 * type. */
const char *json_text(const struct json *node);
/* Shorthand for json_text(json_get()). */
const char *json_get_text(const struct json *object, const char *key);
/* Like json_get_text(), but returns `fallback` instead of NULL. */
const char *json_get_text_or(const struct json *object, const char *key, const char *fallback);
/* Return the value of a boolean, an integer of at most 2^53, or a number; `fallback` if the node is
 * missing or has another type. */
bool json_bool(const struct json *node, bool fallback);
int64_t json_int(const struct json *node, int64_t fallback);
double json_number(const struct json *node, double fallback);
/* A copy of a node and all in it, which the caller frees; NULL of NULL. */
struct json *json_copy(const struct json *node);
/* Frees *to and puts a copy in its place. */
void json_replace(struct json **to, const struct json *node);
/* json_first() returns the first child of an array or object, json_next() the next sibling. NULL at
 * the end. */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *node);
/* Returns the key of an object's member; NULL for an element of an array. */
const char *json_key(const struct json *node);

/*
 * Output. Open and close objects and arrays in order; the writer inserts the commas. Bytes that are
 * not UTF-8 (a file name may contain any bytes) become U+FFFD. A `key` of NULL writes an array
 * element or the root.
 *
 *     struct json_out out = {.to = &s};
 *     json_open(&out, NULL, '{');
 *     json_put(&out, "sessionId", id);
 *     json_close(&out, '}');
 */
struct json_out {
    struct str *to; /* not owned */
    bool comma; /* the next value needs a comma before it */
};

/* Open and close an object ('{' and '}') or an array ('[' and ']'). */
void json_open(struct json_out *out, const char *key, char bracket);
void json_close(struct json_out *out, char bracket);
void json_put(struct json_out *out, const char *key, const char *text); /* NULL becomes null */
/* Like json_put(), but at most `max` bytes of the text, cut at a character as str_fit() does. */
void json_put_fit(struct json_out *out, const char *key, const char *text, size_t max);
/* Write a number or a boolean. */
void json_put_int(struct json_out *out, const char *key, int64_t n);
void json_put_bool(struct json_out *out, const char *key, bool b);
/* A time in ms since 1970, as time_format() writes it; null if it is 0. */
void json_put_time(struct json_out *out, const char *key, int64_t ms);
/* Writes a node and everything in it; numbers keep their spelling. NULL becomes null. */
void json_put_node(struct json_out *out, const char *key, const struct json *node);
/* Writes `text`, which must already be JSON. */
void json_put_raw(struct json_out *out, const char *key, const char *text);

/*
 * The same as a list: a whole object, or a part of one, by one call.
 *
 *     json_put_all(&out, JO(NULL), JT("sessionId", id), JI("agents", n), JOE);
 */
struct json_part {
    enum json_part_kind {
        JSON_PART_OPEN,
        JSON_PART_CLOSE,
        JSON_PART_TEXT,
        JSON_PART_INT,
        JSON_PART_BOOL,
        JSON_PART_NODE,
        JSON_PART_RAW,
    } kind;
    const char *key;
    union {
        char bracket;
        const char *text;
        int64_t number;
        bool flag;
        const struct json *node;
    } value;
};

#define JSON_PART(kind_, key_, ...)                                                                \
    (struct json_part)                                                                             \
    {                                                                                              \
        .kind = JSON_PART_##kind_, .key = (key_), .value = { __VA_ARGS__ }                         \
    }
#define JO(key) JSON_PART(OPEN, key, .bracket = '{') /* opens an object */
#define JOE JSON_PART(CLOSE, NULL, .bracket = '}') /* and closes it */
#define JA(key) JSON_PART(OPEN, key, .bracket = '[') /* an array */
#define JAE JSON_PART(CLOSE, NULL, .bracket = ']')
#define JT(key, text_) JSON_PART(TEXT, key, .text = (text_))
#define JI(key, number_) JSON_PART(INT, key, .number = (int64_t)(number_))
#define JB(key, flag_) JSON_PART(BOOL, key, .flag = (flag_))
#define JN(key, node_) JSON_PART(NODE, key, .node = (node_))
#define JR(key, text_) JSON_PART(RAW, key, .text = (text_))

void json_put_parts(struct json_out *out, const struct json_part *parts, size_t count);
#define json_put_all(out, ...)                                                                     \
    json_put_parts(out, (const struct json_part[]){__VA_ARGS__},                                   \
                   sizeof((const struct json_part[]){__VA_ARGS__}) / sizeof(struct json_part))

/* Appends the object that two objects make, at most 1 MiB each: a list of the first goes before one
 * of the second, and of two other values of a member the first one counts. Returns false, and
 * appends nothing, if one of the texts is no object. */
bool json_merge(const char *old, const char *more, struct str *to);
enum { JSON_MERGED_MAX = 1 << 20 };
