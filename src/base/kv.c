/*
 * A line is taken or refused as a whole, and pairs keep the order of the file; a file has few
 * enough keys to look for them one by one. From a damaged file kv_salvage() takes each line that is
 * good by itself, but no key that is there twice: which of its values holds cannot be told.
 */

#include "base/kv.h"

/* Every file of a session passes here: ranges cost a tenth of strchr() in the whole alphabet. */
static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_key(const char *key, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_upper(key[i]) && (i == 0 || (!is_digit(key[i]) && key[i] != '_')))
            return false;
    return len > 0 && len <= 64;
}

/* Returns true for what needs no quotes in a value. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || is_upper(c) || is_digit(c) ||
           (c != '\0' && strchr("_./:@%+,-", c) != NULL);
}

/* Reads the value in [p, end) into *out. Returns NULL, or what is wrong with it. */
static const char *read_value(const char *p, const char *end, struct str *out)
{
    if (p == end || *p != '\'') {
        for (; p < end; p++)
            if (!is_plain(*p))
                return "missing quotes around a value";
        return NULL;
    }
    for (p++;;) {
        const char *quote = memchr(p, '\'', (size_t)(end - p));
        if (quote == NULL)
            return "unterminated quote";
        str_addn(out, p, (size_t)(quote - p));
        p = quote + 1;
        if (p == end)
            return NULL;
        if (end - p < 3 || memcmp(p, "\\''", 3) != 0)
            return "text follows a quoted value";
        str_addc(out, '\'');
        p += 3;
    }
}

/* Takes over both texts. */
static void append(struct kv *kv, char *key, char *value)
{
    kv->pairs = mem_room(kv->pairs, kv->count, sizeof *kv->pairs);
    kv->pairs[kv->count++] = (struct kv_pair){.key = key, .value = value};
}

static int add_line(struct kv *kv, const char *line, const char *end, int number, struct err *err)
{
    const char *eq = memchr(line, '=', (size_t)(end - line));
    if (eq == NULL || !is_key(line, (size_t)(eq - line)))
        return err_set(err, MAS_DAMAGED, "line %d is not KEY=value", number);
    for (const char *p = line; p < end; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return err_set(err, MAS_DAMAGED, "line %d contains a control character", number);
    if (kv->count == KV_PAIRS_MAX)
        return err_set(err, MAS_DAMAGED, "it has more than %d keys", KV_PAIRS_MAX);

    _cleanup_str_ struct str value = STR_INIT;
    const char *wrong = read_value(eq + 1, end, &value);
    if (eq + 1 < end && eq[1] != '\'')
        str_addn(&value, eq + 1, (size_t)(end - eq - 1));
    if (wrong != NULL)
        return err_set(err, MAS_DAMAGED, "line %d: %s", number, wrong);

    _cleanup_free_ char *key = mem_dupn(line, (size_t)(eq - line));
    if (kv_get(kv, key) != NULL)
        return err_set(err, MAS_DAMAGED, "line %d: duplicate key %s", number, key);
    append(kv, TAKE_PTR(key), str_steal(&value));
    return 0;
}

int kv_parse(const char *text, size_t len, struct kv *ret, struct err *err)
{
    const char *end = text + len;
    int number = 0;

    if (len > KV_FILE_MAX)
        return err_set(err, MAS_DAMAGED, "it is larger than %d bytes", KV_FILE_MAX);
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        number++;
        if (newline == NULL) {
            kv_free(ret);
            return err_set(err, MAS_DAMAGED, "line %d does not end in a newline", number);
        }
        if (add_line(ret, text, newline, number, err) == -1) {
            kv_free(ret);
            return -1;
        }
        text = newline + 1;
    }
    return 0;
}

void kv_salvage(const char *text, size_t len, struct kv *ret)
{
    const char *end = text + len;
    _cleanup_kv_ struct kv twice = {.count = 0};

    for (const char *newline; (newline = memchr(text, '\n', (size_t)(end - text))) != NULL;
         text = newline + 1) {
        struct kv one = {.count = 0};
        struct err ignored = ERR_INIT;
        if (ret->count < KV_PAIRS_MAX && add_line(&one, text, newline, 1, &ignored) == 0)
            kv_put(kv_get(ret, one.pairs[0].key) == NULL ? ret : &twice, one.pairs[0].key,
                   one.pairs[0].value);
        kv_free(&one);
    }
    for (size_t i = 0; i < twice.count; i++)
        free(kv_pop(ret, twice.pairs[i].key));
}

void kv_free(struct kv *kv)
{
    for (size_t i = 0; i < kv->count; i++) {
        free(kv->pairs[i].key);
        free(kv->pairs[i].value);
    }
    free(kv->pairs);
    kv->pairs = NULL;
    kv->count = 0;
}

const char *kv_get(const struct kv *kv, const char *key)
{
    for (size_t i = 0; i < kv->count; i++)
        if (strcmp(kv->pairs[i].key, key) == 0)
            return kv->pairs[i].value;
    return NULL;
}

void kv_put(struct kv *kv, const char *key, const char *value)
{
    free(kv_pop(kv, key));
    append(kv, mem_dup(key), mem_dup(value));
}

char *kv_pop(struct kv *kv, const char *key)
{
    for (size_t i = 0; i < kv->count; i++) {
        if (strcmp(kv->pairs[i].key, key) != 0)
            continue;
        char *value = kv->pairs[i].value;
        free(kv->pairs[i].key);
        memmove(&kv->pairs[i], &kv->pairs[i + 1], (kv->count - i - 1) * sizeof *kv->pairs);
        kv->count--;
        return value;
    }
    return NULL;
}

void kv_add(struct str *to, const char *key, const char *value)
{
    str_add(to, key);
    str_addc(to, '=');
    str_add_shell(to, value, false);
    str_addc(to, '\n');
}
