#include "host/expand.h"

#include "base/env.h"
#include "base/json.h"
#include "base/sha.h"

/* Reads the name in a placeholder. Returns its value; NULL: it is none. */
static const struct expand_value *find(const struct expand_value *values, size_t count,
                                       const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(values[i].name) == len && memcmp(values[i].name, name, len) == 0)
            return &values[i];
    return NULL;
}

static void add_json(const char *word, struct str *to)
{
    struct json_out out = {.to = to};

    json_put(&out, NULL, word);
}

/* Appends UserPromptSubmit as user_prompt_submit. */
static void add_snake(const char *word, struct str *to)
{
    for (const char *c = word; *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z' && c > word)
            str_addc(to, '_');
        str_addc(to, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
    }
}

static void add_sum(const char *word, struct str *to)
{
    char sum[SHA256_TEXT];

    sha256_of(word, strlen(word), sum);
    str_add(to, sum);
}

static void add_plain(const char *word, struct str *to)
{
    str_add(to, word);
}

static const struct {
    const char *prefix;
    void (*add)(const char *word, struct str *to);
} forms[] = {{"json:", add_json}, {"snake:", add_snake}, {"sha256:", add_sum}, {"", add_plain}};

/* Appends the value of the placeholder that the text begins with. Returns its length; 0: there is
 * none. */
static size_t add_placeholder(const struct expand_value *values, size_t count, const char *text,
                              const char *old, struct str *to)
{
    static const char before[] = "{,old}";
    size_t form = 0;

    if (str_starts(text, before)) {
        if (old != NULL && old[0] != '\0')
            str_addf(to, ",%s", old);
        return strlen(before);
    }
    if (text[0] != '{')
        return 0;
    while (!str_starts(text + 1, forms[form].prefix))
        form++;
    const char *name = text + 1 + strlen(forms[form].prefix);
    size_t len = strcspn(name, "{}");
    const struct expand_value *value = name[len] == '}' ? find(values, count, name, len) : NULL;
    if (value == NULL)
        return 0;
    forms[form].add(value->text != NULL ? value->text : "", to);
    return (size_t)(name + len + 1 - text);
}

char *expand_text(const struct expand_value *values, size_t count, const char *text,
                  const char *old)
{
    _cleanup_str_ struct str out = STR_INIT;

    while (*text != '\0') {
        size_t n = add_placeholder(values, count, text, old, &out);
        if (n == 0)
            str_addc(&out, *text++);
        text += n;
    }
    return str_steal(&out);
}

void expand_words(const struct expand_value *values, size_t count, const char *words, char ***to)
{
    _cleanup_strv_ char **split = NULL;
    struct err ignored = ERR_INIT; /* model/preset.c has checked the quotes */

    (void)str_split_words(words, &split, &ignored);
    for (char **word = split; word != NULL && *word != NULL; word++) {
        _cleanup_free_ char *whole = expand_text(values, count, *word, NULL);
        strv_push(to, whole);
    }
}

bool expand_variable(const struct expand_value *values, size_t count,
                     const struct kv_pair *variable, char ***env)
{
    const char *old = env_get(*env, variable->key);
    _cleanup_free_ char *value = expand_text(values, count, variable->value, old);
    _cleanup_str_ struct str merged = STR_INIT;

    if (old == NULL || old[0] == '\0' || strstr(variable->value, "{,old}") != NULL)
        env_put(env, variable->key, value);
    else if (json_merge(old, value, &merged))
        env_put(env, variable->key, merged.data);
    else
        return false;
    return true;
}
