/*
 * A record is known by its address alone: the table says what is where. Each reader asks
 * value_parse() for the check and the copy, and adds what its kind of file says of missing and
 * wrong values.
 */

#include "model/member.h"

#include "base/suggest.h"
#include "base/time.h"

void *member_of(const struct member *member, void *record)
{
    return (char *)record + member->offset;
}

const void *member_in(const struct member *member, const void *record)
{
    return (const char *)record + member->offset;
}

void members_fill(const struct member *members, void *record)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        char **text = member_of(m, record);
        if (m->type->kind == VALUE_TEXT && *text == NULL)
            *text = mem_dup("");
    }
}

void members_free(const struct member *members, void *record)
{
    for (const struct member *m = members; m->key != NULL; m++)
        value_free(m->type, member_of(m, record));
}

bool members_equal(const struct member *members, const void *a, const void *b)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        _cleanup_str_ struct str x = STR_INIT;
        _cleanup_str_ struct str y = STR_INIT;
        if (m->type->kind == VALUE_MS)
            continue;
        value_write(m->type, member_in(m, a), m->size, &x);
        value_write(m->type, member_in(m, b), m->size, &y);
        if (strcmp(str_text(&x), str_text(&y)) != 0)
            return false;
    }
    return true;
}

const struct member *members_find(const struct member *members, const char *key)
{
    for (const struct member *m = members; m->key != NULL; m++)
        if (key[0] == m->key[0] && strcmp(key, m->key) == 0 && (m->how & MEMBER_OF_JSON) == 0)
            return m;
    return NULL;
}

int members_read_line(const struct member *members, const struct ini_line *line,
                      const char *unknown, void *record, struct err *err)
{
    const struct member *found = members_find(members, line->key);
    struct suggest suggest = SUGGEST_INIT(line->key);

    if (found != NULL)
        return ini_value(line, found->type, member_of(found, record), found->size, err);
    for (const struct member *m = members; m->key != NULL; m++)
        if ((m->how & MEMBER_OF_JSON) == 0)
            suggest_try(&suggest, m->key);
    return ini_fail_unknown(line, unknown, suggest.nearest, err);
}

int members_take(const struct member *members, struct kv *kv, void *record, struct err *err)
{
    members_fill(members, record);
    for (const struct member *m = members; m->key != NULL; m++) {
        _cleanup_free_ char *value = kv_pop(kv, m->key);
        bool needed = (m->how & MEMBER_NEEDED) != 0;
        if (value == NULL && needed)
            return err_set(err, MAS_DAMAGED, "%s is missing", m->key);
        if (value == NULL || (value[0] == '\0' && !needed && m->type->kind != VALUE_TEXT))
            continue;
        const char *want = value_parse(m->type, value, member_of(m, record), m->size);
        if (want != NULL)
            return m->type->sentence ? err_set(err, MAS_DAMAGED, "%s", want)
                                     : err_set(err, MAS_DAMAGED, "%s is not %s", m->key, want);
    }
    return 0;
}

void members_salvage(const struct member *members, const struct kv *kv, void *record)
{
    members_fill(members, record);
    for (const struct member *m = members; m->key != NULL; m++) {
        const char *value = kv_get(kv, m->key);
        if (value != NULL)
            (void)value_parse(m->type, value, member_of(m, record), m->size);
    }
}

/* Returns true if a record says nothing that has to be written. */
static bool is_left_out(const struct member *m, const void *record)
{
    return (m->how & MEMBER_SAID) != 0 && value_is_empty(m->type, member_in(m, record), m->size);
}

void members_format(const struct member *members, const void *record, struct str *to)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        _cleanup_str_ struct str text = STR_INIT;
        if (is_left_out(m, record))
            continue;
        value_write(m->type, member_in(m, record), m->size, &text);
        kv_add(to, m->key, str_text(&text));
    }
}

static const char *text_in(const struct member *m, const void *record)
{
    const void *value = member_in(m, record);

    if (m->type->kind == VALUE_WORD)
        return m->type->words[value_load(value, m->size)];
    return m->type->kind == VALUE_CHARS ? value : *(char *const *)value;
}

static bool is_number(const struct member *m)
{
    return m->type->kind == VALUE_NUMBER || m->type->kind == VALUE_MS;
}

/* Writes a time in ms for readers of text, under its key without "Ms". */
static void put_time(const struct member *m, int64_t ms, struct json_out *out)
{
    _cleanup_free_ char *key = mem_dupn(m->key, strlen(m->key) - strlen("Ms"));

    json_put_time(out, key, ms);
}

static void put(const struct member *members, const void *record, bool all, struct json_out *out)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        bool left_out = is_left_out(m, record);
        if ((m->how & MEMBER_OF_INI) != 0 || (left_out && !all))
            continue;
        if (m->type->kind == VALUE_MS && all)
            put_time(m, value_load(member_in(m, record), m->size), out);
        if (left_out)
            json_put(out, m->key, (m->how & MEMBER_BLANK) != 0 ? "" : NULL);
        else if (is_number(m))
            json_put_int(out, m->key, value_load(member_in(m, record), m->size));
        else if (m->type->max > 0)
            json_put_fit(out, m->key, text_in(m, record), (size_t)m->type->max);
        else
            json_put(out, m->key, text_in(m, record));
    }
}

void members_put(const struct member *members, const void *record, struct json_out *out)
{
    put(members, record, false, out);
}

void members_put_all(const struct member *members, const void *record, struct json_out *out)
{
    put(members, record, true, out);
}

const struct member *members_read(const struct member *members, const struct json *object,
                                  void *record)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        const struct json *node = json_get(object, m->key);
        const char *text = json_text(node);
        void *to = member_of(m, record);
        int64_t n = json_int(node, INT64_MIN);
        if ((m->how & MEMBER_OF_INI) != 0 || (node == NULL && (m->how & MEMBER_NEEDED) == 0))
            continue;
        if (is_number(m) && n >= m->type->min && n <= m->type->max)
            value_store(to, m->size, n);
        else if (is_number(m) || text == NULL || value_parse(m->type, text, to, m->size) != NULL)
            return m;
    }
    return NULL;
}

void members_guess(const struct member *members, const struct json *object, void *record)
{
    members_fill(members, record);
    for (const struct member *m = members; m->key != NULL; m++) {
        const struct json *node = json_get(object, m->key);
        const char *text = json_text(node);
        int64_t n = json_int(node, INT64_MIN);
        void *to = member_of(m, record);
        bool is_text = m->type->kind == VALUE_TEXT || m->type->kind == VALUE_CHARS;
        if (is_number(m)) {
            bool good = n >= m->type->min && n <= m->type->max;
            value_store(to, m->size, good ? n : m->type->nothing);
        } else if (text != NULL) {
            _cleanup_free_ char *cut = is_text && m->type->max > 0
                                           ? mem_dupn(text, str_fit(text, (size_t)m->type->max))
                                           : NULL;
            (void)value_parse(m->type, cut != NULL ? cut : text, to, m->size);
        }
    }
}
