/*
 * A text is checked as a whole before anything is changed. Integers pass as int64_t between the
 * parser and a member of any size; a member that can be negative is an int or an int64_t.
 */

#include "base/value.h"

#include "base/time.h"

static const char *const no_yes[] = {"no", "yes", NULL};

const struct value_type value_text = {.kind = VALUE_TEXT};
const struct value_type value_chars = {.kind = VALUE_CHARS};
const struct value_type value_time = {.kind = VALUE_TIME, .want = "a time"};
const struct value_type value_ms = {.kind = VALUE_MS, .min = 1, .max = INT64_MAX};
const struct value_type value_yes = {VALUE_WORD, "yes or no", .words = no_yes};

int64_t value_load(const void *from, size_t size)
{
    int64_t wide = 0;
    int32_t narrow = 0;

    if (size == sizeof(bool))
        return *(const bool *)from;
    if (size == sizeof narrow) {
        memcpy(&narrow, from, size);
        return narrow;
    }
    memcpy(&wide, from, sizeof wide);
    return wide;
}

void value_store(void *to, size_t size, int64_t number)
{
    int32_t narrow = (int32_t)number;

    if (size == sizeof(bool))
        *(bool *)to = number != 0;
    else
        memcpy(to, size == sizeof narrow ? (void *)&narrow : (void *)&number, size);
}

int value_word(const char *const *words, const char *text)
{
    for (int i = 0; text != NULL && words[i] != NULL; i++)
        if (words[i][0] != '\0' && strcmp(words[i], text) == 0)
            return i;
    return -1;
}

bool value_is_command(const char *text)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;

    return str_split_words(text, &words, &ignored) == 0;
}

/* Copies a number without its point, with as many digits behind it as the type has. */
static bool drop_point(const char *text, unsigned decimals, struct str *to)
{
    const char *point = strchr(text, '.');
    size_t places = point != NULL ? strlen(point + 1) : 0;

    if (point == text || (point != NULL && places == 0) || places > decimals || *text == '\0')
        return false;
    str_addn(to, text, point != NULL ? (size_t)(point - text) : strlen(text));
    str_add(to, point != NULL ? point + 1 : "");
    for (; places < decimals; places++)
        str_addc(to, '0');
    return true;
}

static bool parse_number(const struct value_type *type, const char *text, int64_t *ret)
{
    _cleanup_str_ struct str digits = STR_INIT;
    uint64_t n = 0;

    if (type->decimals > 0) {
        if (!drop_point(text, type->decimals, &digits))
            return false;
        text = digits.data;
    }
    if (type->units != NULL
            ? !number_parse(text, type->units, type->unit_count, (uint64_t)type->max, &n)
            : !number_parse_count(text, (uint64_t)type->max, &n))
        return false;
    *ret = n == 0 && type->zero ? type->nothing : (int64_t)n;
    return (n == 0 && type->zero) || (int64_t)n >= type->min;
}

static bool parse_set(const struct value_type *type, const char *text, int64_t *ret)
{
    _cleanup_strv_ char **list = str_split_list(text);
    unsigned set = 0;

    for (char **one = list; one != NULL && *one != NULL; one++) {
        int i = value_word(type->words, *one);
        if (i == -1)
            return false;
        set |= 1U << i;
    }
    *ret = set;
    return set >= type->min;
}

static bool parse_integer(const struct value_type *type, const char *text, int64_t *ret)
{
    time_t t = 0;

    switch (type->kind) {
    case VALUE_WORD:
        *ret = value_word(type->words, text);
        return *ret != -1;
    case VALUE_SET:
        return parse_set(type, text, ret);
    case VALUE_TIME:
        if (!time_parse(text, &t))
            return false;
        *ret = t;
        return true;
    default:
        return parse_number(type, text, ret);
    }
}

static bool is_good_text(const struct value_type *type, const char *text)
{
    if (text[0] == '\0')
        return type->min == 0;
    return (type->max == 0 || strlen(text) <= (size_t)type->max) &&
           !(type->line && str_has_control(text)) && !(type->absolute && text[0] != '/') &&
           (type->fits == NULL || type->fits(text));
}

static bool parse_list(const struct value_type *type, const char *text, char ***ret)
{
    _cleanup_strv_ char **list = str_split_list(text);

    if (strv_len(list) > (size_t)type->max)
        return false;
    for (char **one = list; one != NULL && *one != NULL; one++)
        if (!type->fits(*one))
            return false;
    if (ret == NULL)
        return true;
    strv_free(*ret);
    *ret = TAKE_PTR(list);
    return true;
}

const char *value_parse(const struct value_type *type, const char *text, void *to, size_t size)
{
    bool is_none = type->none != NULL && strcmp(text, type->none) == 0;
    int64_t number = type->nothing;
    const char *const refused = type->want != NULL ? type->want : "valid";
    const char *want = NULL;

    switch (type->kind) {
    case VALUE_TEXT:
    case VALUE_CHARS:
        if (type->check != NULL && (want = type->check(text)) != NULL)
            return want;
        if (!is_good_text(type, text) || (type->kind == VALUE_CHARS && strlen(text) >= size))
            return refused;
        if (to != NULL && type->kind == VALUE_CHARS) {
            memcpy(to, text, strlen(text) + 1);
        } else if (to != NULL) {
            char *old = *(char **)to; /* the text may be in it */
            *(char **)to = mem_dup(text);
            free(old);
        }
        return NULL;
    case VALUE_LIST:
        return parse_list(type, text, to) ? NULL : refused;
    case VALUE_OTHER:
        return type->parse(text, to);
    default:
        if (!is_none && !parse_integer(type, text, &number))
            return refused;
        if (to != NULL)
            value_store(to, size, number);
        return NULL;
    }
}

void value_write(const struct value_type *type, const void *from, size_t size, struct str *to)
{
    char when[TIME_TEXT];

    switch (type->kind) {
    case VALUE_TEXT:
        str_add(to, *(char *const *)from != NULL ? *(char *const *)from : "");
        break;
    case VALUE_CHARS:
        str_add(to, from);
        break;
    case VALUE_WORD:
        str_add(to, type->words[value_load(from, size)]);
        break;
    case VALUE_TIME:
        time_format((time_t)value_load(from, size), when);
        str_add(to, when);
        break;
    default:
        str_addf(to, "%" PRId64, value_load(from, size));
        break;
    }
}

bool value_is_empty(const struct value_type *type, const void *from, size_t size)
{
    const char *text = NULL;

    switch (type->kind) {
    case VALUE_LIST:
        return *(char **const *)from == NULL;
    case VALUE_TEXT:
        text = *(char *const *)from;
        return text == NULL || text[0] == '\0';
    case VALUE_CHARS:
        return *(const char *)from == '\0';
    default:
        return value_load(from, size) == type->nothing;
    }
}

void value_free(const struct value_type *type, void *member)
{
    if (type->kind == VALUE_TEXT) {
        free(*(char **)member);
        *(char **)member = NULL;
    } else if (type->kind == VALUE_LIST) {
        strv_free(*(char ***)member);
        *(char ***)member = NULL;
    }
}
