/*
 * If all conditions of a rule hold, its members are read; a rule for `nothing` needs only one, and
 * reads none. line_may_apply() looks for the plain texts of a rule in the bytes of a line, because
 * most lines need not be parsed at all. Of several values at a path texts are joined, and of the
 * others the first counts.
 */

#include "protocol/line.h"

enum {
    SCALAR_MAX = 64, /* bytes of a number */
    PERCENT_MAX = 999,
};

/* Handles a value; returns false to stop. */
typedef bool each_value(const struct json *value, void *arg);

/* Returns false if `each` has stopped it. */
static bool walk(const struct json *node, char *const *path, each_value *each, void *arg)
{
    if (node == NULL || json_is_null(node))
        return true;
    if (*path == NULL)
        return each(node, arg);
    if (strcmp(*path, "[]") != 0)
        return walk(json_get(node, *path), path + 1, each, arg);
    if (!json_is_array(node))
        return true;
    for (const struct json *child = json_first(node); child != NULL; child = json_next(child))
        if (!walk(child, path + 1, each, arg))
            return false;
    return true;
}

/* Returns the text of a value that has one; NULL. */
static const char *scalar(const struct json *value, char buf[SCALAR_MAX])
{
    const char *text = json_text(value);

    if (text != NULL || json_is_object(value) || json_is_array(value))
        return text;
    if (!json_is_number(value))
        return json_bool(value, false) ? "true" : "false";
    _cleanup_str_ struct str number = STR_INIT;
    struct json_out out = {.to = &number};
    json_put_node(&out, NULL, value);
    (void)snprintf(buf, SCALAR_MAX, "%s", str_text(&number));
    return buf;
}

/* ---- conditions */

static bool differs(const struct json *value, void *arg)
{
    const struct line_word *word = arg;
    char buf[SCALAR_MAX];
    const char *text = scalar(value, buf);

    if (word->text == NULL) /* that there is one is all that counts */
        return false;
    if (text == NULL)
        return true;
    return word->test == LINE_BEGINS || word->test == LINE_BEGINS_NOT
               ? !str_starts(text, word->text)
               : strcmp(text, word->text) != 0;
}

static bool holds(const struct line_word *word, const struct json *line)
{
    bool found = !walk(line, word->path, differs, (void *)(uintptr_t)word);
    bool denies =
        word->test == LINE_IS_NOT || word->test == LINE_BEGINS_NOT || word->test == LINE_IS_MISSING;

    return denies ? !found : found;
}

static bool is_in(const char *text, size_t len, const char *part)
{
    return memmem(text, len, part, strlen(part)) != NULL;
}

/* Returns true if a string of JSON has this text as it is. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("\"\\/", *text) != NULL || (unsigned char)*text < ' ' ||
            (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

bool line_may_apply(const struct line_rule *rule, const char *text, size_t len)
{
    const bool any = rule->fact == TOLD_NOTHING;

    if (memchr(text, '\\', len) != NULL && is_in(text, len, "\\u00"))
        return true; /* letters may be escaped */
    for (size_t i = 0; i < rule->count; i++) {
        const struct line_word *word = &rule->words[i];
        bool may = (word->test != LINE_IS && word->test != LINE_BEGINS) || !is_plain(word->text) ||
                   is_in(text, len, word->text);
        if (may == any)
            return any;
    }
    return !any;
}

/* ---- members */

static bool join(const struct json *value, void *arg)
{
    struct str *to = arg;
    const char *text = json_text(value);

    if (text != NULL && text[0] != '\0' && to->len > 0)
        str_addc(to, '\n');
    if (text != NULL)
        str_add(to, text);
    return true;
}

static bool take_first(const struct json *value, void *arg)
{
    *(const struct json **)arg = value;
    return false;
}

static int64_t count_of(const struct json *value)
{
    int64_t n = json_int(value, -1);

    return n < 0 || n > TOKENS_MAX ? -1 : n;
}

/* Members of one name are added up. */
static void add_count(int64_t *to, const struct json *value)
{
    int64_t n = count_of(value);

    if (n != -1)
        *to = *to == -1 ? n : *to + n;
}

static void read_usage(enum line_member member, const struct json *value, struct line_told *to)
{
    static const enum token_kind kinds[MEMBER_COUNT] = {
        [MEMBER_INPUT] = TOKENS_INPUT,
        [MEMBER_OUTPUT] = TOKENS_OUTPUT,
        [MEMBER_THOUGHT] = TOKENS_THOUGHT,
        [MEMBER_CACHED] = TOKENS_CACHED_READ,
        [MEMBER_CACHE_WRITE] = TOKENS_CACHED_WRITE,
        [MEMBER_TOTAL] = TOKENS_TOTAL,
    };
    char buf[SCALAR_MAX];

    if (member == MEMBER_USED)
        add_count(&to->usage.used, value);
    else if (member == MEMBER_WINDOW)
        add_count(&to->usage.window, value);
    else if (member == MEMBER_MODEL)
        to->usage.model = json_text(value);
    else if (member == MEMBER_ONCE && to->usage.once == NULL)
        to->usage.once = mem_dup(scalar(value, buf));
    else if (member == MEMBER_COST &&
             money_from_number(json_number(value, -1), &to->usage.cost.micro))
        (void)snprintf(to->usage.cost.currency, sizeof to->usage.cost.currency, "USD");
    else if (member != MEMBER_ONCE && member != MEMBER_COST)
        add_count(&to->usage.tokens.of[kinds[member]], value);
}

/* Numbers beyond what they can be are not told. */
static void read_quota(enum line_member member, const struct json *value, struct line_told *to)
{
    enum { MINUTES_MAX = 366 * 24 * 60, MS = 1000 };
    const double seconds_max = 1e11;
    double n = json_number(value, -1);

    if (member == MEMBER_PERCENT || member == MEMBER_PART) {
        n = member == MEMBER_PART ? n * 100 : n;
        to->quota.percent = n < 0 ? -1 : n > PERCENT_MAX ? PERCENT_MAX : (int)n;
    } else if (member == MEMBER_MINUTES && n >= 1 && n <= MINUTES_MAX) {
        to->quota.minutes = (int64_t)n;
    } else if (member == MEMBER_RESETS && n > 0 && n < seconds_max) {
        to->quota.resets_ms = (int64_t)n * MS;
    }
}

static void read_text(enum told_fact fact, const struct line_word *word, const struct json *line,
                      struct line_told *to)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (to->owned != NULL)
        str_add(&text, to->owned);
    (void)walk(line, word->path, join, &text);
    free(to->owned);
    to->owned = str_steal(&text);
    *(fact == TOLD_PROMPT || fact == TOLD_JOINS ? &to->told.prompt : &to->told.answer) = to->owned;
}

static void read_member(enum told_fact fact, const struct line_word *word, const struct json *line,
                        struct line_told *to)
{
    const struct json *value = NULL;

    if (word->member == MEMBER_TEXT) {
        read_text(fact, word, line, to);
        return;
    }
    (void)walk(line, word->path, take_first, (void *)&value);
    if (value == NULL)
        return;
    if (fact == TOLD_USAGE)
        read_usage(word->member, value, to);
    else if (fact == TOLD_QUOTA)
        read_quota(word->member, value, to);
    else if (word->member == MEMBER_SESSION)
        to->told.session = hook_id(json_text(value));
    else if (word->member == MEMBER_DIRECTORY)
        to->directory = json_text(value);
    else if (word->member == MEMBER_WHY)
        to->told.error = json_text(value);
    else if (word->member == MEMBER_TOOL)
        to->told.tool = json_text(value);
    else if (word->member == MEMBER_TOOL_ID)
        to->told.tool_id = json_text(value);
    else if (word->member == MEMBER_INPUT)
        to->told.input = value;
}

bool line_apply(const struct line_rule *rule, const struct json *line, struct line_told *ret)
{
    *ret = (struct line_told){.usage = {.tokens = token_counts_none(), .used = -1, .window = -1},
                              .quota = {.percent = -1}};
    const bool any = rule->fact == TOLD_NOTHING; /* one condition is enough */
    for (size_t i = 0; i < rule->count; i++)
        if (rule->words[i].test != LINE_SAYS && holds(&rule->words[i], line) == any)
            return any;
    if (any)
        return false;
    for (size_t i = 0; i < rule->count; i++)
        if (rule->words[i].test == LINE_SAYS)
            read_member(rule->fact, &rule->words[i], line, ret);
    return true;
}

void line_free(struct line_told *told)
{
    free(told->usage.once);
    free(told->owned);
    *told = (struct line_told){.owned = NULL};
}
