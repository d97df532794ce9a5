/*
 * The text is scanned first, so cJSON gets valid text only. The scan records in document order what
 * cJSON loses, and the parsed tree is walked in the same order: which numbers are exact integers (a
 * double cannot tell), and where each key is. A struct json is cJSON's node by another name, with
 * two of its members put to another use, see note_number(). The writer below needs no tree.
 */

#include "base/json.h"

#include "base/json_internal.h"
#include "base/time.h"

#include <cjson/cJSON.h>

/* Walking cJSON's tree. */

struct named {
    const char *key;
    size_t ordinal; /* among all keys of the document */
};

struct json_walk {
    const char *numbers; /* the next entry from the scan */
    const char *raw; /* likewise */
    size_t keys; /* likewise */
    struct named twice; /* the first duplicate key; key NULL: none */
};

static int member_cmp(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void note_twice(struct json_walk *w, const struct named *later)
{
    if (w->twice.key == NULL || later->ordinal < w->twice.ordinal)
        w->twice = *later;
}

enum { MEMBERS_FEW = 32 }; /* up to this size, comparing all pairs is faster than sorting */

static void check_members(struct json_walk *w, struct named *members, size_t count)
{
    if (count > MEMBERS_FEW) {
        qsort(members, count, sizeof(*members), member_cmp);
        for (size_t i = 1; i < count; i++) {
            if (strcmp(members[i - 1].key, members[i].key) == 0)
                note_twice(w, &members[i]);
        }
        return;
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (members[i].key[0] == members[j].key[0] &&
                strcmp(members[i].key, members[j].key) == 0)
                note_twice(w, &members[i]);
        }
    }
}

static size_t count_children(const cJSON *node)
{
    size_t count = 0;

    for (const cJSON *child = node->child; child != NULL; child = child->next)
        count++;
    return count;
}

/* From here on, valueint (obsolete in cJSON) says whether a number is an exact integer, and
 * valuestring is its text if the value alone is not enough. */
static void note_number(struct json_walk *w, cJSON *node)
{
    unsigned kind = (unsigned char)*w->numbers++;

    node->valueint = (kind & JSON_NUMBER_INTEGER) != 0;
    if ((kind & JSON_NUMBER_RAW) != 0) {
        node->valuestring = mem_dup(w->raw);
        w->raw += strlen(w->raw) + 1;
    }
}

static void walk(struct json_walk *w, cJSON *node)
{
    bool object = cJSON_IsObject(node);
    struct named few[MEMBERS_FEW];
    _cleanup_free_ struct named *many = NULL;
    struct named *members = few;
    size_t count = 0;

    if (cJSON_IsNumber(node))
        note_number(w, node);
    if (object && count_children(node) > MEMBERS_FEW)
        members = many = mem_grow(NULL, count_children(node), sizeof(*many));
    for (cJSON *child = node->child; child != NULL; child = child->next) {
        if (object)
            members[count++] = (struct named){.key = child->string, .ordinal = w->keys++};
        walk(w, child);
    }
    check_members(w, members, count);
}

static int fail_twice(struct json_scan *s, const struct named *twice)
{
    _cleanup_str_ struct str why = STR_INIT;

    str_addf(&why, "duplicate key '%s' in an object", twice->key);
    return json_scan_fail_key(s, twice->ordinal, str_text(&why));
}

/* Passes scanned text to cJSON and checks the tree. */
static int build(struct json_scan *s, cJSON **ret)
{
    struct json_walk w = {.numbers = str_text(&s->numbers), .raw = str_text(&s->raw)};
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(s->text, s->pos, &end, false);

    if (root == NULL || end != s->text + s->pos) {
        cJSON_Delete(root);
        return json_scan_fail(s, 0,
                              "cannot parse the text"); /* out of memory, or a gap in the scan */
    }
    walk(&w, root);
    if (w.twice.key != NULL) {
        (void)fail_twice(s, &w.twice);
        cJSON_Delete(root);
        return -1;
    }
    *ret = root;
    return 0;
}

int json_parse(const char *text, size_t len, size_t max_size, struct json **ret, struct err *err)
{
    struct json_scan s = {.text = text, .len = len, .wanted_key = SIZE_MAX, .err = err};
    cJSON *root = NULL;
    int rc;

    if (len > max_size)
        return err_set(err, MAS_DAMAGED, "the text has %zu bytes, more than the %zu allowed", len,
                       max_size);
    rc = json_scan(&s);
    if (rc == 0)
        rc = build(&s, &root);
    str_free(&s.numbers);
    str_free(&s.raw);
    if (rc == 0)
        *ret = (struct json *)root;
    return rc;
}

void json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
}

void json_freep(struct json **root)
{
    json_free(*root);
}

/* Reading. The functions of cJSON accept NULL and return false for it. */

static const cJSON *to_cjson(const struct json *node)
{
    return (const cJSON *)node;
}

bool json_is_object(const struct json *node)
{
    return cJSON_IsObject(to_cjson(node));
}

bool json_is_array(const struct json *node)
{
    return cJSON_IsArray(to_cjson(node));
}

bool json_is_string(const struct json *node)
{
    return cJSON_IsString(to_cjson(node));
}

bool json_is_number(const struct json *node)
{
    return cJSON_IsNumber(to_cjson(node));
}

bool json_is_null(const struct json *node)
{
    return cJSON_IsNull(to_cjson(node));
}

const struct json *json_get(const struct json *object, const char *key)
{
    if (!json_is_object(object))
        return NULL;
    /* not cJSON's function, which is slow for hosts' objects: it calls strcmp() for each of many
     * members */
    for (const cJSON *node = to_cjson(object)->child; node != NULL; node = node->next)
        if (node->string[0] == key[0] && strcmp(node->string, key) == 0)
            return (const struct json *)node;
    return NULL;
}

const char *json_text(const struct json *node)
{
    return cJSON_GetStringValue(to_cjson(node));
}

const char *json_get_text(const struct json *object, const char *key)
{
    return json_text(json_get(object, key));
}

const char *json_get_text_or(const struct json *object, const char *key, const char *fallback)
{
    const char *text = json_get_text(object, key);
    return text != NULL ? text : fallback;
}

bool json_bool(const struct json *node, bool fallback)
{
    return cJSON_IsBool(to_cjson(node)) ? cJSON_IsTrue(to_cjson(node)) : fallback;
}

int64_t json_int(const struct json *node, int64_t fallback)
{
    const cJSON *number = to_cjson(node);

    /* valueint: see note_number() */
    return cJSON_IsNumber(number) && number->valueint ? (int64_t)number->valuedouble : fallback;
}

double json_number(const struct json *node, double fallback)
{
    const cJSON *number = to_cjson(node);

    return cJSON_IsNumber(number) ? number->valuedouble : fallback;
}

const struct json *json_first(const struct json *container)
{
    return container != NULL ? (const struct json *)to_cjson(container)->child : NULL;
}

const struct json *json_next(const struct json *node)
{
    return node != NULL ? (const struct json *)to_cjson(node)->next : NULL;
}

const char *json_key(const struct json *node)
{
    return node != NULL ? to_cjson(node)->string : NULL;
}

/* Writing. */

/* Appends an ASCII character; writes \u00NN if it is not allowed in JSON or unsafe on a
 * terminal. */
static void add_ascii(struct str *to, char c)
{
    static const char short_form[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *p = short_form; *p != '\0'; p += 2) {
        if (c == p[0]) {
            str_addc(to, '\\');
            str_addc(to, p[1]);
            return;
        }
    }
    if ((unsigned char)c < 0x20 || c == 0x7F)
        str_addf(to, "\\u%04x", (unsigned)c);
    else
        str_addc(to, c);
}

/* Returns the code point of a valid UTF-8 character of two or three bytes. */
static unsigned code_point(const char *text, size_t n)
{
    const unsigned char *u = (const unsigned char *)text;

    if (n == 2)
        return ((u[0] & 0x1Fu) << 6) | (u[1] & 0x3Fu);
    return ((u[0] & 0x0Fu) << 12) | ((u[1] & 0x3Fu) << 6) | (u[2] & 0x3Fu);
}

/* Appends the character of two or more bytes at `text` and returns its length. JSON may be shown on
 * a terminal, so characters that could control it or change the text direction are escaped. */
static size_t add_wide(struct str *to, const char *text, size_t len)
{
    size_t n = json_wide_char(text, len);
    unsigned code = n == 2 || n == 3 ? code_point(text, n) : 0;

    if (n == 0) {
        str_add(to, "\xEF\xBF\xBD"); /* U+FFFD */
        return 1;
    }
    if ((code >= 0x80 && code <= 0x9F) || code == 0x061C || code == 0x200E || code == 0x200F ||
        (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069))
        str_addf(to, "\\u%04x", code);
    else
        str_addn(to, text, n);
    return n;
}

static bool is_ordinary(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7F && c != '"' && c != '\\';
}

static void add_string(struct str *to, const char *text)
{
    size_t left = strlen(text);

    str_reserve(to, left + 2);
    str_addc(to, '"');
    while (left > 0) {
        size_t n = 0;

        while (n < left && is_ordinary(text[n]))
            n++;
        if (n > 0) {
            str_addn(to, text, n);
        } else if ((unsigned char)*text < 0x80) {
            add_ascii(to, *text);
            n = 1;
        } else {
            n = add_wide(to, text, left);
        }
        text += n;
        left -= n;
    }
    str_addc(to, '"');
}

/* Writes what precedes a value: the comma and the key. */
static void begin(struct json_out *out, const char *key)
{
    if (out->comma)
        str_addc(out->to, ',');
    if (key != NULL) {
        add_string(out->to, key);
        str_addc(out->to, ':');
    }
    out->comma = true;
}

void json_open(struct json_out *out, const char *key, char bracket)
{
    begin(out, key);
    str_addc(out->to, bracket);
    out->comma = false;
}

void json_close(struct json_out *out, char bracket)
{
    str_addc(out->to, bracket);
    out->comma = true;
}

void json_put(struct json_out *out, const char *key, const char *text)
{
    begin(out, key);
    if (text == NULL)
        str_add(out->to, "null");
    else
        add_string(out->to, text);
}

void json_put_fit(struct json_out *out, const char *key, const char *text, size_t max)
{
    _cleanup_free_ char *cut = text != NULL ? mem_dupn(text, str_fit(text, max)) : NULL;
    json_put(out, key, cut);
}

void json_put_int(struct json_out *out, const char *key, int64_t n)
{
    begin(out, key);
    str_addf(out->to, "%lld", (long long)n);
}

void json_put_bool(struct json_out *out, const char *key, bool b)
{
    begin(out, key);
    str_add(out->to, b ? "true" : "false");
}

void json_put_time(struct json_out *out, const char *key, int64_t ms)
{
    char text[TIME_TEXT];

    if (ms != 0)
        time_format((time_t)(ms / 1000), text);
    json_put(out, key, ms != 0 ? text : NULL);
}

static void put_number(struct json_out *out, const cJSON *node)
{
    if (node->valuestring != NULL)
        str_add(out->to, node->valuestring);
    else
        str_addf(out->to, "%lld", (long long)node->valuedouble);
}

struct json *json_copy(const struct json *node)
{
    cJSON *copy = node != NULL ? cJSON_Duplicate(to_cjson(node), true) : NULL;

    if (node != NULL && copy == NULL)
        mem_fail();
    return (struct json *)copy;
}

void json_replace(struct json **to, const struct json *node)
{
    struct json *copy = json_copy(node); /* the node may be a part of *to */

    json_free(*to);
    *to = copy;
}

/* json_parse() has limited the depth. */
void json_put_node(struct json_out *out, const char *key, const struct json *node)
{
    const cJSON *it = to_cjson(node);
    bool object = cJSON_IsObject(it);

    if (object || cJSON_IsArray(it)) {
        json_open(out, key, object ? '{' : '[');
        for (const cJSON *child = it->child; child != NULL; child = child->next)
            json_put_node(out, object ? child->string : NULL, (const struct json *)child);
        json_close(out, object ? '}' : ']');
    } else if (cJSON_IsBool(it)) {
        json_put_bool(out, key, cJSON_IsTrue(it));
    } else if (cJSON_IsNumber(it)) {
        begin(out, key);
        put_number(out, it);
    } else {
        json_put(out, key, json_text(node));
    }
}

void json_put_raw(struct json_out *out, const char *key, const char *text)
{
    begin(out, key);
    str_add(out->to, text);
}

void json_put_parts(struct json_out *out, const struct json_part *parts, size_t count)
{
    for (const struct json_part *part = parts; part < parts + count; part++) {
        switch (part->kind) {
        case JSON_PART_OPEN:
            json_open(out, part->key, part->value.bracket);
            break;
        case JSON_PART_CLOSE:
            json_close(out, part->value.bracket);
            break;
        case JSON_PART_TEXT:
            json_put(out, part->key, part->value.text);
            break;
        case JSON_PART_INT:
            json_put_int(out, part->key, part->value.number);
            break;
        case JSON_PART_BOOL:
            json_put_bool(out, part->key, part->value.flag);
            break;
        case JSON_PART_NODE:
            json_put_node(out, part->key, part->value.node);
            break;
        case JSON_PART_RAW:
            json_put_raw(out, part->key, part->value.text);
            break;
        }
    }
}
