/*
 * The words of walls, the lists of paths that presets and settings have, and the report of a host.
 * Paths are checked as texts only; whether they are there is looked at when a wall is planned.
 * Those of wall.home stay in one copy of the value, into which the entries point. Texts of a report
 * are cut to the room that they have, because whoever sends one may be another version.
 */

#include "model/wall.h"

#include "model/member.h"
#include "model/network.h"

static const char *const level_names[WALL_LEVEL_COUNT + 1] = {
    [WALL_UNSET] = "", [WALL_OFF] = "off", [WALL_TRY] = "try", [WALL_REQUIRE] = "require"};

const struct value_type wall_level_type = {VALUE_WORD, "off, try or require", .words = level_names};

const char *const wall_part_names[WALL_PART_COUNT] = {
    [WALL_FILES] = "files",     [WALL_PROCESSES] = "processes", [WALL_CALLS] = "system calls",
    [WALL_SIGNALS] = "signals", [WALL_NETWORK] = "network",     [WALL_RESOURCES] = "resources",
    [WALL_DISK] = "disk",
};

static const char *const own_sandbox[] = {"", "off", NULL};
static const struct value_type sandbox_type = {VALUE_WORD, .words = own_sandbox};
static const struct value_type holder_type = {VALUE_CHARS, .max = WALL_HOLDER_MAX - 1};
static const struct value_type why_type = {VALUE_CHARS, .max = WALL_WHY_MAX - 1};

#define PART(key, part)                                                                            \
    {                                                                                              \
        MEMBER(key, holder_type, struct wall_report, held_by[part]), .how = MEMBER_SAID            \
    }

/* The parts, in their order, and then the rest of a report. */
static const struct member report_members[] = {
    PART("files", WALL_FILES),
    PART("processes", WALL_PROCESSES),
    PART("systemCalls", WALL_CALLS),
    PART("signals", WALL_SIGNALS),
    PART("network", WALL_NETWORK),
    PART("resources", WALL_RESOURCES),
    PART("disk", WALL_DISK),
    {MEMBER("ownSandbox", sandbox_type, struct wall_report, sandbox_off), .how = MEMBER_SAID},
    {MEMBER("missing", why_type, struct wall_report, missing), .how = MEMBER_SAID},
    MEMBER_END,
};

static const char not_home[] = "a list of at most 64 paths below the home directory, such as "
                               ".config/x .gitconfig:ro, none of them below another one";

const char *wall_level_name(enum wall_level level)
{
    return level_names[level];
}

/* Returns true for a path of `len` bytes without "", "." and ".." in it. It has no slash in
 * front. */
static bool is_below(const char *path, size_t len)
{
    size_t start = 0; /* of a name in it */

    if (len > WALL_PATH_MAX)
        return false;
    for (size_t i = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)path[i] : '/';
        if (c < 0x20 || c == 0x7F)
            return false;
        if (c != '/')
            continue;
        size_t name = i - start;
        if (name == 0 || (name <= 2 && memcmp(path + start, "..", name) == 0))
            return false;
        start = i + 1;
    }
    return true;
}

/* Returns true if one of two paths leads to the other. */
static bool are_nested(const char *a, size_t a_len, const char *b, size_t b_len)
{
    const char *longer = a_len > b_len ? a : b;
    size_t len = a_len < b_len ? a_len : b_len;

    return (longer[len] == '/' || longer[len] == '\0') && memcmp(a, b, len) == 0;
}

/* Cuts the word of `len` bytes to its path, to which *ret points. Returns the length of that; 0: it
 * is none. */
static size_t parse_entry(char *word, size_t len, struct wall_home *ret)
{
    static const struct {
        const char *ending;
        enum wall_home_kind kind;
    } kinds[] = {{"ro", WALL_HOME_READ}, {"copy", WALL_HOME_COPY}, {"own", WALL_HOME_OWN}};
    char *colon = memchr(word, ':', len);
    size_t i = 0;

    if (len > 2 && word[0] == '~' && word[1] == '/') {
        word += 2;
        len -= 2;
    }
    *ret = (struct wall_home){.path = word, .kind = WALL_HOME_WRITE};
    if (colon != NULL) {
        size_t ending = len - (size_t)(colon + 1 - word);
        while (i < ARRAY_LEN(kinds) && (strlen(kinds[i].ending) != ending ||
                                        memcmp(kinds[i].ending, colon + 1, ending) != 0))
            i++;
        if (i == ARRAY_LEN(kinds))
            return 0;
        ret->kind = kinds[i].kind;
        len = (size_t)(colon - word);
    }
    word[len] = '\0';
    return is_below(word, len) ? len : 0;
}

static const char *parse_home(const char *text, void *to)
{
    struct wall_options *ret = to;
    static const char blanks[] = ", \t";
    struct wall_home home[WALL_PATHS_MAX];
    size_t lens[WALL_PATHS_MAX];
    size_t count = 0;
    _cleanup_free_ char *words = mem_dup(text);
    char *next = words + strspn(words, blanks);

    while (*next != '\0') {
        char *word = next;
        size_t len = strcspn(word, blanks);
        next += len + strspn(word + len, blanks);
        if (count == WALL_PATHS_MAX)
            return not_home;
        lens[count] = parse_entry(word, len, &home[count]);
        if (lens[count] == 0)
            return not_home;
        for (size_t i = 0; i < count; i++)
            if (are_nested(home[i].path, lens[i], home[count].path, lens[count]))
                return not_home;
        count++;
    }
    free(ret->home);
    free(ret->home_words);
    ret->home = mem_alloc((count + 1) * sizeof *home);
    if (count > 0)
        memcpy(ret->home, home, count * sizeof *home);
    ret->home_count = count;
    ret->home_words = TAKE_PTR(words);
    return NULL;
}

const struct value_type wall_home_type = {VALUE_OTHER, .parse = parse_home};

static const char *parse_paths(const char *text, void *to)
{
    char ***ret = to;
    _cleanup_strv_ char **words = str_split_list(text);

    if (strv_len(words) > WALL_PATHS_MAX)
        return "a list of at most 64 paths";
    for (char **word = words; word != NULL && *word != NULL; word++) {
        const char *rest = str_starts(*word, "~/") ? *word + 2 : *word + 1;
        bool is_absolute = (*word)[0] == '/' || rest == *word + 2;
        if (!is_absolute || !is_below(rest, strlen(rest)))
            return "a list of paths that begin with / or ~/, without . and ..";
    }
    if (ret == NULL)
        return NULL;
    strv_free(*ret);
    *ret = TAKE_PTR(words);
    return NULL;
}

const struct value_type wall_paths_type = {VALUE_OTHER, .parse = parse_paths};

const char *wall_check_paths(const char *text)
{
    return parse_paths(text, NULL);
}

static bool is_network(const char *text)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err ignored = ERR_INIT;

    return network_parse(text, &network, &ignored) == 0;
}

const struct value_type wall_network_type = {
    VALUE_TEXT, "open, none, or hosts: a name, *.NAME or an address, each perhaps with :PORT",
    .fits = is_network};

void wall_options_free(struct wall_options *options)
{
    free(options->home);
    free(options->home_words);
    strv_free(options->read);
    strv_free(options->write);
    free(options->network);
    *options = (struct wall_options){.home = NULL};
}

void wall_report_hold(struct wall_report *report, enum wall_part part, const char *by)
{
    (void)snprintf(report->held_by[part], WALL_HOLDER_MAX, "%s", by);
}

bool wall_report_equal(const struct wall_report *a, const struct wall_report *b)
{
    return a->level == b->level && members_equal(report_members, a, b);
}

void wall_report_put(const struct wall_report *report, struct json_out *out)
{
    if (report->level == WALL_UNSET) {
        json_put(out, "wall", NULL);
        return;
    }
    json_open(out, "wall", '{');
    json_put(out, "level", wall_level_name(report->level));
    members_put_all(report_members, report, out);
    json_close(out, '}');
}

void wall_report_parse(const struct json *object, struct wall_report *ret)
{
    const char *level = json_get_text(object, "level");

    *ret = (struct wall_report){.level = WALL_UNSET};
    if (level != NULL && VALUE_PARSE(&wall_level_type, level, &ret->level) == NULL)
        members_guess(report_members, object, ret);
}

/* Appends what holds the first `count` parts. */
static void describe_parts(const struct wall_report *report, enum wall_part count, struct str *to)
{
    for (enum wall_part i = 0; i < count; i++)
        str_addf(to, "%s%s: %s", i > 0 ? ", " : "", wall_part_names[i],
                 report->held_by[i][0] != '\0' ? report->held_by[i] : "nothing");
    if (report->sandbox_off)
        str_add(to, ", own sandbox: off");
    if (report->missing[0] != '\0')
        str_addf(to, "; %s", report->missing);
}

void wall_report_foretell(const struct wall_report *report, struct str *to)
{
    describe_parts(report, WALL_RESOURCES, to);
}

void wall_report_describe(const struct wall_report *report, struct str *to)
{
    if (report->level == WALL_UNSET || report->level == WALL_OFF) {
        str_add(to, report->level == WALL_OFF ? "off" : "unknown");
        if (report->held_by[WALL_RESOURCES][0] != '\0') /* needs no wall */
            str_addf(to, ", resources: %s", report->held_by[WALL_RESOURCES]);
        if (report->held_by[WALL_DISK][0] != '\0')
            str_addf(to, ", disk: %s", report->held_by[WALL_DISK]);
        if (report->missing[0] != '\0')
            str_addf(to, "; %s", report->missing);
        return;
    }
    describe_parts(report, WALL_PART_COUNT, to);
}
