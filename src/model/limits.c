/*
 * Each kind is a row of kinds[]: its name, its parser, and whether it is a size. "none" is kept as
 * -1, apart from 0, so that it overrides a limit from a place that is farther away. CPUs are parsed
 * as digits around a point, in hundredths, without floating point.
 */

#include "model/limits.h"

#include "base/number.h"

enum { CENT = 100 };

static const struct unit plain[] = {{"", 1}};

static const char *parse_bytes(const char *text, uint64_t min, uint64_t *ret)
{
    uint64_t n = 0;

    if (!number_parse_size(text, LIMIT_SIZE_MAX, &n) || (n != 0 && n < min))
        return "";
    *ret = n;
    return NULL;
}

static const char *parse_disk(const char *text, uint64_t *ret)
{
    return parse_bytes(text, 0, ret) == NULL ? NULL : "a size up to 1024T, such as 500M, or none";
}

static const char *parse_memory(const char *text, uint64_t *ret)
{
    return parse_bytes(text, LIMIT_MEMORY_MIN, ret) == NULL
               ? NULL
               : "a size from 16M to 1024T, such as 2G, or none";
}

bool limit_parse_cpus(const char *text, unsigned *ret)
{
    const char *point = strchr(text, '.');
    size_t places = point != NULL ? strlen(point + 1) : 0;
    _cleanup_free_ char *digits =
        mem_printf("%.*s%s%s", point != NULL ? (int)(point - text) : (int)strlen(text), text,
                   point != NULL ? point + 1 : "",
                   places == 0   ? "00"
                   : places == 1 ? "0"
                                 : "");
    uint64_t n = 0;

    if (*text == '\0' || point == text || (point != NULL && places == 0) || places > 2 ||
        !number_parse(digits, plain, ARRAY_LEN(plain), LIMIT_CPUS_MAX * CENT, &n))
        return false;
    *ret = (unsigned)n;
    return true;
}

static const char *parse_cpus(const char *text, uint64_t *ret)
{
    unsigned cpus = 0;

    if (!limit_parse_cpus(text, &cpus))
        return "a number of CPUs up to 4096, such as 1.5, or none";
    *ret = cpus;
    return NULL;
}

static const char *parse_count(const char *text, uint64_t *ret)
{
    return number_parse(text, plain, ARRAY_LEN(plain), LIMIT_PROCESSES_MAX, ret)
               ? NULL
               : "a number up to 4194304, or none";
}

static const struct {
    const char *name;
    const char *(*parse)(const char *text, uint64_t *ret);
    bool is_size;
} kinds[LIMIT_KIND_COUNT] = {
    [LIMIT_SESSION] = {"session", parse_disk, true},
    [LIMIT_AGENT] = {"agent", parse_disk, true},
    [LIMIT_MEMORY] = {"memory", parse_memory, true},
    [LIMIT_CPUS] = {"cpus", parse_cpus, false},
    [LIMIT_PROCESSES] = {"processes", parse_count, false},
};

const char *limit_kind_name(enum limit_kind kind)
{
    return kinds[kind].name;
}

bool limit_kind_parse(const char *text, size_t len, enum limit_kind *ret)
{
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        if (strlen(kinds[i].name) != len || strncmp(text, kinds[i].name, len) != 0)
            continue;
        *ret = i;
        return true;
    }
    return false;
}

bool limit_is_of_agent(enum limit_kind kind)
{
    return kind != LIMIT_SESSION;
}

const char *limit_parse(enum limit_kind kind, const char *text, int64_t *ret)
{
    uint64_t n = 0;
    const char *want = strcmp(text, "none") == 0 ? NULL : kinds[kind].parse(text, &n);

    if (want == NULL)
        *ret = n > 0 ? (int64_t)n : -1;
    return want;
}

static void write_cpus(int64_t cents, char buf[LIMIT_TEXT])
{
    if (cents % CENT == 0)
        (void)snprintf(buf, LIMIT_TEXT, "%lld", (long long)(cents / CENT));
    else
        (void)snprintf(buf, LIMIT_TEXT, cents % 10 == 0 ? "%lld.%01lld" : "%lld.%02lld",
                       (long long)(cents / CENT),
                       (long long)(cents % 10 == 0 ? cents % CENT / 10 : cents % CENT));
}

void limit_write(enum limit_kind kind, int64_t amount, char buf[LIMIT_TEXT])
{
    buf[0] = '\0';
    if (amount == -1)
        (void)snprintf(buf, LIMIT_TEXT, "none");
    else if (amount > 0 && kind == LIMIT_CPUS)
        write_cpus(amount, buf);
    else if (amount > 0)
        (void)snprintf(buf, LIMIT_TEXT, "%lld", (long long)amount);
}

void limit_format(enum limit_kind kind, int64_t amount, char buf[LIMIT_TEXT])
{
    char size[NUMBER_SIZE_TEXT];

    limit_write(kind, amount > 0 ? amount : -1, buf);
    if (amount <= 0 || !kinds[kind].is_size)
        return;
    number_format_size((uint64_t)amount, size);
    (void)snprintf(buf, LIMIT_TEXT, "%s", size);
}

void limit_set_put(const char *key, const struct limit_set *set, struct json_out *out)
{
    char text[LIMIT_TEXT];
    bool open = false;

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        limit_write(i, set->of[i], text);
        if (text[0] == '\0')
            continue;
        if (!open)
            json_open(out, key, '{');
        open = true;
        json_put(out, kinds[i].name, text);
    }
    if (open)
        json_close(out, '}');
}

bool limit_set_read(const struct json *object, struct limit_set *ret)
{
    enum limit_kind kind = LIMIT_SESSION;

    for (const struct json *it = json_first(object); it != NULL; it = json_next(it)) {
        const char *key = json_key(it);
        if (key == NULL || json_text(it) == NULL || !limit_kind_parse(key, strlen(key), &kind) ||
            limit_parse(kind, json_text(it), &ret->of[kind]) != NULL)
            return false;
    }
    return object == NULL || json_is_object(object);
}

bool limits_held_any(const struct limits_held *held)
{
    bool any = false;

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++)
        any = any || held->of[i].amount > 0;
    return any;
}

void limits_held_put(const struct limits_held *held, struct json_out *out)
{
    if (!limits_held_any(held)) {
        json_put(out, "limits", NULL);
        return;
    }
    json_open(out, "limits", '{');
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        if (held->of[i].amount <= 0)
            continue;
        char text[LIMIT_TEXT];
        limit_write(i, held->of[i].amount, text);
        json_open(out, kinds[i].name, '{');
        json_put(out, "amount", text);
        limit_write(i, held->of[i].used, text);
        if (held->of[i].used > 0)
            json_put(out, "used", text);
        json_put(out, "from", held->of[i].from);
        json_close(out, '}');
    }
    json_close(out, '}');
}

void limits_held_parse(const struct json *object, struct limits_held *ret)
{
    *ret = (struct limits_held){.of = {{.amount = 0}}};
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        const struct json *one = json_get(object, kinds[i].name);
        const char *amount = json_get_text(one, "amount");
        const char *from = json_get_text(one, "from");
        if (amount == NULL || from == NULL || limit_parse(i, amount, &ret->of[i].amount) != NULL)
            continue;
        (void)snprintf(ret->of[i].from, LIMIT_FROM_MAX, "%.*s",
                       (int)str_fit(from, LIMIT_FROM_MAX - 1), from);
    }
}

void limits_held_describe(const struct limits_held *held, struct str *to)
{
    bool first = true;

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        char text[LIMIT_TEXT];
        if (held->of[i].amount <= 0)
            continue;
        str_addf(to, "%s%s%s ", first ? "" : ", ", kinds[i].name,
                 i <= LIMIT_AGENT ? "'s disk" : "");
        limit_format(i, held->of[i].used, text);
        if (held->of[i].used > 0)
            str_addf(to, "%s of ", text);
        limit_format(i, held->of[i].amount, text);
        str_addf(to, "%s (%s)", text, held->of[i].from);
        first = false;
    }
}
