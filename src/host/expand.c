#include "host/expand.h"

#include "base/json.h"

/* Reads the name in a placeholder. Returns its value; NULL: it is none. */
static const struct expand_value *find(const struct expand_value *values, size_t count,
                                       const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(values[i].name) == len && memcmp(values[i].name, name, len) == 0)
            return &values[i];
    return NULL;
}

/* Appends the value of the placeholder that the text begins with. Returns its length; 0: there is
 * none. */
static size_t add_placeholder(const struct expand_value *values, size_t count, const char *text,
                              const char *old, struct str *to)
{
    static const char as_json[] = "json:", before[] = "{,old}";
    const char *name = text + 1;

    if (str_starts(text, before)) {
        if (old != NULL && old[0] != '\0')
            str_addf(to, ",%s", old);
        return strlen(before);
    }
    bool json = str_starts(name, as_json);
    name += json ? strlen(as_json) : 0;
    size_t len = strcspn(name, "{}");
    const struct expand_value *value =
        text[0] == '{' && name[len] == '}' ? find(values, count, name, len) : NULL;
    if (value == NULL)
        return 0;
    const char *word = value->text != NULL ? value->text : "";
    struct json_out out = {.to = to};
    if (json)
        json_put(&out, NULL, word);
    else
        str_add(to, word);
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
