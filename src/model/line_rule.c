/*
 * A rule is checked whole when it is read, so that protocol/line.h need not doubt it. What tells
 * the words apart is the mark behind the path. A path becomes its names, with "[]" as a name of its
 * own. A new fact or member needs a name in its table, and has_member() says what goes together.
 */

#include "model/line_rule.h"

#include "base/suggest.h"
#include "base/value.h"

enum { PATH_NAMES_MAX = 16 };

#define PATH_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$-/.[]"

const char *const told_facts[TOLD_FACT_COUNT + 1] = {
    [TOLD_STARTS] = "starts",   [TOLD_PROMPT] = "prompt",   [TOLD_TOOL] = "tool",
    [TOLD_ASKS] = "asks",       [TOLD_DONE] = "done",       [TOLD_FAILED] = "failed",
    [TOLD_STOPPED] = "stopped", [TOLD_ENDS] = "ends",       [TOLD_WORKS] = "works",
    [TOLD_RESTS] = "rests",     [TOLD_RETRIES] = "retries", [TOLD_LINE] = "line",
    [TOLD_SAYS] = "says",       [TOLD_USAGE] = "usage",     [TOLD_SESSION] = "session",
    [TOLD_QUOTA] = "quota",     [TOLD_JOINS] = "joins",     [TOLD_NOTHING] = "nothing",
};

static const char *const members[MEMBER_COUNT + 1] = {
    [MEMBER_SESSION] = "session",
    [MEMBER_TEXT] = "text",
    [MEMBER_WHY] = "why",
    [MEMBER_TOOL] = "tool",
    [MEMBER_TOOL_ID] = "tool_id",
    [MEMBER_INPUT] = "input",
    [MEMBER_OUTPUT] = "output",
    [MEMBER_THOUGHT] = "thought",
    [MEMBER_CACHED] = "cached",
    [MEMBER_TOTAL] = "total",
    [MEMBER_USED] = "used",
    [MEMBER_CACHE_WRITE] = "cache_write",
    [MEMBER_WINDOW] = "window",
    [MEMBER_COST] = "cost",
    [MEMBER_ONCE] = "once",
    [MEMBER_MODEL] = "model",
    [MEMBER_DIRECTORY] = "directory",
    [MEMBER_PERCENT] = "percent",
    [MEMBER_PART] = "part",
    [MEMBER_MINUTES] = "minutes",
    [MEMBER_RESETS] = "resets",
};

static int fail_unknown(const char *what, const char *name, const char *const *known,
                        struct err *err)
{
    const char *nearest = suggest_of(name, known);

    return nearest != NULL
               ? err_set(err, MAS_USAGE, "unknown %s '%s'; did you mean '%s'?", what, name, nearest)
               : err_set(err, MAS_USAGE, "unknown %s '%s'", what, name);
}

/* Returns true if facts of this kind have the member. */
static bool has_member(enum told_fact fact, enum line_member member)
{
    switch (member) {
    case MEMBER_SESSION:
        return fact != TOLD_USAGE && fact != TOLD_QUOTA && fact != TOLD_NOTHING;
    case MEMBER_TEXT:
        return fact == TOLD_PROMPT || fact == TOLD_JOINS || fact == TOLD_DONE || fact == TOLD_SAYS;
    case MEMBER_WHY:
        return fact == TOLD_FAILED || fact == TOLD_RETRIES;
    case MEMBER_DIRECTORY:
        return fact == TOLD_SESSION;
    case MEMBER_PERCENT:
    case MEMBER_PART:
    case MEMBER_MINUTES:
    case MEMBER_RESETS:
        return fact == TOLD_QUOTA;
    case MEMBER_TOOL:
    case MEMBER_TOOL_ID:
        return fact == TOLD_TOOL || fact == TOLD_ASKS;
    case MEMBER_INPUT:
        return fact == TOLD_TOOL || fact == TOLD_ASKS || fact == TOLD_USAGE;
    default:
        return fact == TOLD_USAGE;
    }
}

/* Splits `a.b[].c` into "a", "b", "[]" and "c". */
static int parse_path(const char *text, size_t len, char ***ret, struct err *err)
{
    const char *end = text + len;
    bool named = false;

    while (text < end) {
        size_t n = strcspn(text, ".[");
        n = n < (size_t)(end - text) ? n : (size_t)(end - text);
        _cleanup_free_ char *name = mem_dupn(text, n);
        if (n == 0 || strchr(name, ']') != NULL)
            break;
        strv_push(ret, name);
        text += n;
        while (text + 2 <= end && strncmp(text, "[]", 2) == 0) {
            strv_push(ret, "[]");
            text += 2;
        }
        named = text == end;
        if (text < end && *text++ != '.')
            break;
    }
    if (!named || strspn(end - len, PATH_CHARS) < len || strv_len(*ret) > PATH_NAMES_MAX)
        return err_set(err, MAS_USAGE,
                       "a path is at most %d names joined by dots, such as message.content[].text",
                       PATH_NAMES_MAX);
    return 0;
}

static int parse_member(enum told_fact fact, const char *name, struct line_word *ret,
                        struct err *err)
{
    int i = value_word(members, name);

    if (i == -1)
        return fail_unknown("member", name, members, err);
    ret->member = (enum line_member)i;
    return has_member(fact, ret->member)
               ? 0
               : err_set(err, MAS_USAGE, "a fact '%s' has no member '%s'", told_facts[fact], name);
}

static int parse_word(enum told_fact fact, const char *word, struct line_word *ret, struct err *err)
{
    static const struct {
        const char *mark;
        enum line_test test;
        bool has_text;
    } marks[] = {{"!=", LINE_IS_NOT, true},   {"!^=", LINE_BEGINS_NOT, true},
                 {"^=", LINE_BEGINS, true},   {"=", LINE_IS, true},
                 {"?", LINE_IS_THERE, false}, {"!", LINE_IS_MISSING, false}};
    size_t len = strspn(word, PATH_CHARS);
    const char *rest = word + len;

    if (*rest == ':') {
        _cleanup_free_ char *name = mem_dupn(word, len);
        ret->test = LINE_SAYS;
        return parse_member(fact, name, ret, err) == -1
                   ? -1
                   : parse_path(rest + 1, strlen(rest + 1), &ret->path, err);
    }
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t n = strlen(marks[i].mark);
        if (strncmp(rest, marks[i].mark, n) != 0 || (!marks[i].has_text && rest[n] != '\0'))
            continue;
        ret->test = marks[i].test;
        ret->text = marks[i].has_text ? mem_dup(rest + n) : NULL;
        return parse_path(word, len, &ret->path, err);
    }
    return err_set(err, MAS_USAGE,
                   "it has to be PATH=VALUE, PATH!=VALUE, PATH^=BEGINNING, PATH!^=BEGINNING, "
                   "PATH?, PATH!, MEMBER:PATH or past");
}

int line_rule_parse(const char *text, struct line_rule *ret, struct err *err)
{
    _cleanup_strv_ char **words = NULL;

    *ret = (struct line_rule){.count = 0};
    if (str_split_words(text, &words, err) == -1)
        return -1;
    const char *name = words != NULL && words[0] != NULL ? words[0] : "";
    int fact = value_word(told_facts, name);
    if (fact == -1 || fact == TOLD_LINE)
        return fail_unknown("fact", name, told_facts, err);
    ret->fact = (enum told_fact)fact;
    if (strv_len(words) < 2 || strv_len(words) - 1 > LINE_WORDS_MAX)
        return err_set(err, MAS_USAGE, "a fact is followed by 1 to %d words", LINE_WORDS_MAX);
    for (char **word = words + 1; *word != NULL; word++) {
        struct err why = ERR_INIT;
        if (strcmp(*word, "past") == 0)
            ret->past = true;
        else if (parse_word(ret->fact, *word, &ret->words[ret->count++], &why) == -1)
            return err_set(err, MAS_USAGE, "'%s': %s", *word, why.text);
    }
    return 0;
}

void line_rule_free(struct line_rule *rule)
{
    for (size_t i = 0; i < rule->count; i++) {
        strv_free(rule->words[i].path);
        free(rule->words[i].text);
    }
    free(rule->name);
    *rule = (struct line_rule){.count = 0};
}
