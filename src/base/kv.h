/*
 * Shell-format metadata: one KEY=value a line, safe to read with a POSIX shell's `.`.
 *
 * A key is [A-Z][A-Z0-9_]{0,63}. A value is plain [A-Za-z0-9_./:@%+,-]* or one single-quoted word
 * ('it'\''s'), so that nothing in it can run. kv_parse() accepts exactly what kv_add() writes:
 * anything else, a comment, a key twice, a control character, no newline at the end, is damage.
 */
#ifndef MAS_BASE_KV_H
#define MAS_BASE_KV_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

enum { KV_FILE_MAX = 64 * 1024, KV_PAIRS_MAX = 256 };

struct kv {
    struct kv_pair {
        char *key;
        char *value;
    } * pairs;
    size_t count;
};

/* Parses text (len bytes) into *ret, which must be zeroed and is released with kv_free(). */
int kv_parse(const char *text, size_t len, struct kv *ret, struct err *err);
/* What of a damaged text is whole: each line that is good by itself, but for keys that stand there
 * twice. */
void kv_salvage(const char *text, size_t len, struct kv *ret);
void kv_free(struct kv *kv);
const char *kv_get(const struct kv *kv, const char *key); /* NULL where it is missing */
/* Puts a pair at the end, in place of an older one of that key. Copies both. */
void kv_put(struct kv *kv, const char *key, const char *value);
/* Takes the pair out; the value is the caller's, NULL where it is missing. */
char *kv_pop(struct kv *kv, const char *key);

/* Appends "KEY=value\n". */
void kv_add(struct str *to, const char *key, const char *value);

#endif
