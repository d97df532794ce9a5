/*
 * The parts of a pattern are tried from left to right, and each in the ways in which it can be
 * read, until the rest fits, too. A path that an agent chose could have many ways, so their number
 * is limited.
 */
#include "model/path_pattern.h"

#include "base/number.h"

enum {
    FIRST = 8, /* characters of {id8} */
    UUID = 36,
    TRIES_MAX = 100000,
};

#define DIGITS "0123456789"
#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_" DIGITS

struct matching {
    struct path_found *found;
    const char *id; /* NULL: any */
    bool uuid; /* {id} is one */
    int tries;
};

static bool rest_matches(struct matching *matching, const char *pattern, const char *path);

static bool is_uuid(const char *text, size_t len)
{
    if (len != UUID)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : strchr("0123456789abcdefABCDEF", text[i]) == NULL)
            return false;
    }
    return true;
}

/* Takes the first `len` bytes for an id. Returns false if they are none, or another one. */
static bool take_id(struct matching *matching, const char *path, size_t len)
{
    struct path_found *found = matching->found;

    if (found->whole) /* it stands twice */
        return strlen(found->id) == len && strncmp(found->id, path, len) == 0;
    if (matching->id != NULL ? strlen(matching->id) != len || strncmp(matching->id, path, len) != 0
                             : matching->uuid && !is_uuid(path, len))
        return false;
    (void)snprintf(found->id, sizeof found->id, "%.*s", (int)len, path);
    found->whole = true;
    return true;
}

static bool match_id(struct matching *matching, const char *pattern, const char *path)
{
    const struct path_found before = *matching->found;
    size_t most = strspn(path, WORD);

    for (size_t len = most < PATH_ID_MAX ? most : PATH_ID_MAX; len > 0; len--) {
        if (take_id(matching, path, len) && rest_matches(matching, pattern, path + len))
            return true;
        *matching->found = before;
    }
    return false;
}

static bool match_first(struct matching *matching, const char *pattern, const char *path)
{
    struct path_found *found = matching->found;
    const char *id = found->whole ? found->id : matching->id;

    if (strspn(path, WORD) < FIRST || (id != NULL && strncmp(id, path, FIRST) != 0))
        return false;
    if (!found->whole)
        (void)snprintf(found->id, sizeof found->id, "%.*s", FIRST, path);
    return rest_matches(matching, pattern, path + FIRST);
}

static bool match_pid(struct matching *matching, const char *pattern, const char *path)
{
    uint64_t pid = 0;
    size_t len = strspn(path, DIGITS);
    _cleanup_free_ char *text = mem_dupn(path, len);

    if (!number_parse_count(text, INT32_MAX, &pid))
        return false;
    matching->found->pid = (pid_t)pid;
    return rest_matches(matching, pattern, path + len);
}

static bool match_star(struct matching *matching, const char *pattern, const char *path)
{
    const struct path_found before = *matching->found;
    size_t most = strcspn(path, "/");

    if (before.star_count == PATH_STARS_MAX)
        return false;
    for (size_t len = 0; len <= most; len++) {
        matching->found->stars[matching->found->star_count++] =
            (struct path_star){.text = path, .len = len};
        if (rest_matches(matching, pattern, path + len))
            return true;
        *matching->found = before;
    }
    return false;
}

static bool rest_matches(struct matching *matching, const char *pattern, const char *path)
{
    if (matching->tries-- <= 0)
        return false;
    for (; *pattern != '\0' && *pattern != '*' && *pattern != '{'; pattern++, path++)
        if (*path == '\0' || (*pattern == '?' ? *path == '/' : *pattern != *path))
            return false;
    if (*pattern == '\0')
        return *path == '\0';
    if (*pattern == '*')
        return match_star(matching, pattern + 1, path);
    if (str_starts(pattern, "{id}"))
        return match_id(matching, pattern + strlen("{id}"), path);
    if (str_starts(pattern, "{id8}"))
        return match_first(matching, pattern + strlen("{id8}"), path);
    if (str_starts(pattern, "{pid}"))
        return match_pid(matching, pattern + strlen("{pid}"), path);
    return *path == '{' && rest_matches(matching, pattern + 1, path + 1);
}

const char *path_pattern_below(const char *pattern, char **ret_name)
{
    size_t len = strcspn(pattern, "/");

    *ret_name = NULL;
    if (pattern[0] != '$' || pattern[len] != '/')
        return pattern;
    *ret_name = mem_dupn(pattern + 1, len - 1);
    return pattern + len + 1;
}

bool path_pattern_match(const char *pattern, const char *path, const char *id,
                        struct path_found *ret)
{
    for (int any = id != NULL ? 1 : 0; any <= 1; any++) {
        struct matching matching = {.found = ret, .id = id, .uuid = any == 0, .tries = TRIES_MAX};
        *ret = (struct path_found){.star_count = 0};
        if (rest_matches(&matching, pattern, path))
            return true;
    }
    return false;
}

char *path_pattern_fill(const char *pattern, const struct path_found *found, const char *id)
{
    _cleanup_str_ struct str path = STR_INIT;
    size_t stars = 0;

    while (*pattern != '\0') {
        if (str_starts(pattern, "{id}")) {
            str_add(&path, id);
            pattern += strlen("{id}");
        } else if (str_starts(pattern, "{id8}")) {
            str_addn(&path, id, str_fit(id, FIRST));
            pattern += strlen("{id8}");
        } else if (*pattern == '*' && stars < found->star_count) {
            str_addn(&path, found->stars[stars].text, found->stars[stars].len);
            stars++, pattern++;
        } else if (strchr("*?", *pattern) != NULL) {
            return NULL;
        } else {
            str_addc(&path, *pattern++);
        }
    }
    return stars == found->star_count ? str_steal(&path) : NULL;
}

size_t path_pattern_plain(const char *pattern)
{
    size_t len = strcspn(pattern, "*?{");

    while (len > 0 && pattern[len - 1] != '/')
        len--;
    return len;
}
