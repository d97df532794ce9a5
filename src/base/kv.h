/*
 * Metadata in shell format: one KEY=value a line, safe to source with a POSIX shell's `.`.
 *
 * A key is [A-Z][A-Z0-9_]{0,63}. A value is either [A-Za-z0-9_./:@%+,-]* or one single-quoted word
 * ('it'\''s'), so that a shell executes nothing in it. kv_parse() accepts exactly the format that
 * kv_add() writes. Anything else is damage: a comment, a duplicate key, a control character, a
 * missing newline at the end.
 */
#pragma once

enum { KV_FILE_MAX = 64 * 1024, KV_PAIRS_MAX = 256 };

struct kv {
    struct kv_pair {
        char *key;
        char *value;
    } * pairs;
    size_t count;
};

/* Parses `len` bytes of text into *ret, which must be zeroed; the caller releases it with
 * kv_free(). Fails with MAS_DAMAGED. */
int kv_parse(const char *text, size_t len, struct kv *ret, struct err *err);
/* Recovers the valid lines of a damaged text. Drops keys that appear twice. *ret must be zeroed. */
void kv_salvage(const char *text, size_t len, struct kv *ret);
void kv_free(struct kv *kv);
#define _cleanup_kv_ __attribute__((cleanup(kv_free)))
const char *kv_get(const struct kv *kv, const char *key); /* NULL if missing; owned by kv */
/* Appends a pair and removes an older one with the same key. Copies both texts. */
void kv_put(struct kv *kv, const char *key, const char *value);
/* Removes a pair and returns its value, which the caller frees; NULL if the key is missing. */
char *kv_pop(struct kv *kv, const char *key);

/* Appends "KEY=value\n" to `to`, with quotes if the value needs them. */
void kv_add(struct str *to, const char *key, const char *value);
