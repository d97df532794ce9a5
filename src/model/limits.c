/*
 * Each kind has a name, and a type: the values that it can have. "none" is kept as -1, apart
 * from 0, so that it overrides a limit from a place that is farther away. CPUs are integers, too:
 * in hundredths.
 */

#include "model/limits.h"

enum { CENT = 100 };

static const char *const names[LIMIT_KIND_COUNT] = {
    [LIMIT_SESSION] = "session", [LIMIT_AGENT] = "agent",         [LIMIT_MEMORY] = "memory",
    [LIMIT_CPUS] = "cpus",       [LIMIT_PROCESSES] = "processes",
};

#define LIMIT(want_, ...)                                                                          \
    {                                                                                              \
        VALUE_NUMBER, want_, .zero = true, .none = "none", .nothing = -1, __VA_ARGS__              \
    }
#define DISK_LIMIT                                                                                 \
    LIMIT("a size up to 1024T, such as 500M, or none", .max = LIMIT_SIZE_MAX,                      \
          VALUE_UNITS(number_sizes))

const struct value_type limit_types[LIMIT_KIND_COUNT] = {
    [LIMIT_SESSION] = DISK_LIMIT,
    [LIMIT_AGENT] = DISK_LIMIT,
    [LIMIT_MEMORY] = LIMIT("a size from 16M to 1024T, such as 2G, or none", .min = LIMIT_MEMORY_MIN,
                           .max = LIMIT_SIZE_MAX, VALUE_UNITS(number_sizes)),
    [LIMIT_CPUS] = LIMIT("a number of CPUs up to 4096, such as 1.5, or none",
                         .max = LIMIT_CPUS_MAX * CENT, .decimals = 2),
    [LIMIT_PROCESSES] = LIMIT("a number up to 4194304, or none", .max = LIMIT_PROCESSES_MAX),
};

const char *limit_kind_name(enum limit_kind kind)
{
    return names[kind];
}

bool limit_kind_parse(const char *text, size_t len, enum limit_kind *ret)
{
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        if (strlen(names[i]) != len || strncmp(text, names[i], len) != 0)
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
    return VALUE_PARSE(&limit_types[kind], text, ret);
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
    if (amount <= 0 || limit_types[kind].units == NULL)
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
        json_put(out, names[i], text);
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
        json_open(out, names[i], '{');
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
        const struct json *one = json_get(object, names[i]);
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
        str_addf(to, "%s%s%s ", first ? "" : ", ", names[i], i <= LIMIT_AGENT ? "'s disk" : "");
        limit_format(i, held->of[i].used, text);
        if (held->of[i].used > 0)
            str_addf(to, "%s of ", text);
        limit_format(i, held->of[i].amount, text);
        str_addf(to, "%s (%s)", text, held->of[i].from);
        first = false;
    }
}
