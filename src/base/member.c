/*
 * A record is known by its address alone: the table says what is where. Each reader asks
 * value_parse() for the check and the copy, and adds what its kind of file says of missing and
 * wrong values.
 */

#include "base/member.h"

#include "base/suggest.h"

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
            return err_set(err, MAS_DAMAGED, "%s is not %s", m->key, want);
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

void members_put(const struct member *members, const void *record, struct json_out *out)
{
    for (const struct member *m = members; m->key != NULL; m++) {
        _cleanup_str_ struct str text = STR_INIT;
        const void *value = member_in(m, record);
        if ((m->how & MEMBER_OF_INI) != 0 || is_left_out(m, record))
            continue;
        if (m->type->kind == VALUE_NUMBER) {
            json_put_int(out, m->key, value_load(value, m->size));
            continue;
        }
        value_write(m->type, value, m->size, &text);
        json_put(out, m->key, str_text(&text));
    }
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
        if (m->type->kind == VALUE_NUMBER && n >= m->type->min && n <= m->type->max)
            value_store(to, m->size, n);
        else if (m->type->kind == VALUE_NUMBER || text == NULL ||
                 value_parse(m->type, text, to, m->size) != NULL)
            return m;
    }
    return NULL;
}
