#include "model/wall.h"

#include "model/network.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[WALL_LEVEL_COUNT] = {
    [WALL_UNSET] = "", [WALL_OFF] = "off", [WALL_TRY] = "try", [WALL_REQUIRE] = "require"};

static const struct {
    const char *name, *member;
} parts[WALL_PART_COUNT] = {
    [WALL_FILES] = {"files", "files"},
    [WALL_PROCESSES] = {"processes", "processes"},
    [WALL_CALLS] = {"system calls", "systemCalls"},
    [WALL_SIGNALS] = {"signals", "signals"},
    [WALL_NETWORK] = {"network", "network"},
    [WALL_RESOURCES] = {"resources", "resources"},
    [WALL_DISK] = {"disk", "disk"},
};

static const char not_home[] = "a list of at most 64 paths below the home directory, such as "
                               ".config/x .gitconfig:ro, none of them below another one";

const char *wall_level_name(enum wall_level level)
{
    return level_names[level];
}

bool wall_level_parse(const char *text, enum wall_level *ret)
{
    for (enum wall_level i = WALL_OFF; i < WALL_LEVEL_COUNT; i++) {
        if (strcmp(text, level_names[i]) != 0)
            continue;
        *ret = i;
        return true;
    }
    return false;
}

const char *wall_part_name(enum wall_part part)
{
    return parts[part].name;
}

const char *wall_part_member(enum wall_part part)
{
    return parts[part].member;
}

/* Returns true for a path without "", "." and ".." in it. It has no slash in front. */
static bool is_below(const char *path)
{
    if (strlen(path) > WALL_PATH_MAX || str_has_control(path))
        return false;
    for (;;) {
        size_t len = strcspn(path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && strncmp(path, "..", 2) == 0))
            return false;
        if (path[len] == '\0')
            return true;
        path += len + 1;
    }
}

/* Returns true if one of two paths leads to the other. */
static bool are_nested(const char *a, size_t a_len, const char *b, size_t b_len)
{
    const char *longer = a_len > b_len ? a : b;
    size_t len = a_len < b_len ? a_len : b_len;

    return (longer[len] == '/' || longer[len] == '\0') && memcmp(a, b, len) == 0;
}

static void free_home(struct wall_home *home, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(home[i].path);
    free(home);
}

/* Cuts the word to its path, to which *ret points. */
static bool parse_entry(char *word, struct wall_home *ret)
{
    static const struct {
        const char *ending;
        enum wall_home_kind kind;
    } kinds[] = {{":ro", WALL_HOME_READ}, {":copy", WALL_HOME_COPY}, {":own", WALL_HOME_OWN}};

    *ret = (struct wall_home){.path = word, .kind = WALL_HOME_WRITE};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!str_ends(word, kinds[i].ending))
            continue;
        word[strlen(word) - strlen(kinds[i].ending)] = '\0';
        ret->kind = kinds[i].kind;
        break;
    }
    if (str_starts(word, "~/"))
        memmove(word, word + 2, strlen(word + 2) + 1);
    return strchr(word, ':') == NULL && is_below(word);
}

const char *wall_parse_home(const char *text, struct wall_options *ret)
{
    char **words = str_split_list(text);
    size_t count = strv_len(words);
    bool is_good = count <= WALL_PATHS_MAX;
    struct wall_home *home = is_good ? mem_alloc((count + 1) * sizeof *home) : NULL;
    size_t lens[WALL_PATHS_MAX] = {0};

    for (size_t i = 0; is_good && i < count; i++) {
        is_good = parse_entry(words[i], &home[i]);
        lens[i] = strlen(words[i]);
        for (size_t j = 0; is_good && j < i; j++)
            is_good = !are_nested(words[j], lens[j], words[i], lens[i]);
    }
    if (!is_good) {
        free(home);
        strv_free(words);
        return not_home;
    }
    free(words); /* `home` has them */
    free_home(ret->home, ret->home_count);
    ret->home = home;
    ret->home_count = count;
    return NULL;
}

const char *wall_parse_paths(const char *text, char ***ret)
{
    _cleanup_strv_ char **words = str_split_list(text);

    if (strv_len(words) > WALL_PATHS_MAX)
        return "a list of at most 64 paths";
    for (char **word = words; word != NULL && *word != NULL; word++) {
        const char *rest = str_starts(*word, "~/") ? *word + 2 : *word + 1;
        bool is_absolute = (*word)[0] == '/' || rest == *word + 2;
        if (!is_absolute || !is_below(rest))
            return "a list of paths that begin with / or ~/, without . and ..";
    }
    if (ret == NULL)
        return NULL;
    strv_free(*ret);
    *ret = TAKE_PTR(words);
    return NULL;
}

const char *wall_check_network(const char *text)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err ignored = ERR_INIT;

    return text[0] == '\0' || network_parse(text, &network, &ignored) == 0
               ? NULL
               : "open, none, or hosts: a name, *.NAME or an address, each perhaps with :PORT";
}

void wall_options_free(struct wall_options *options)
{
    free_home(options->home, options->home_count);
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
    bool same = a->level == b->level && a->sandbox_off == b->sandbox_off &&
                strcmp(a->missing, b->missing) == 0;

    for (enum wall_part i = 0; same && i < WALL_PART_COUNT; i++)
        same = strcmp(a->held_by[i], b->held_by[i]) == 0;
    return same;
}

void wall_report_put(const struct wall_report *report, struct json_out *out)
{
    if (report->level == WALL_UNSET) {
        json_put(out, "wall", NULL);
        return;
    }
    json_open(out, "wall", '{');
    json_put(out, "level", wall_level_name(report->level));
    for (enum wall_part i = 0; i < WALL_PART_COUNT; i++)
        json_put(out, parts[i].member, report->held_by[i][0] != '\0' ? report->held_by[i] : NULL);
    json_put(out, "ownSandbox", report->sandbox_off ? "off" : NULL);
    json_put(out, "missing", report->missing[0] != '\0' ? report->missing : NULL);
    json_close(out, '}');
}

static void copy_text(const char *text, char *to, size_t size)
{
    size_t len = text != NULL ? str_fit(text, size - 1) : 0;

    memcpy(to, text != NULL ? text : "", len);
    to[len] = '\0';
}

void wall_report_parse(const struct json *object, struct wall_report *ret)
{
    const char *level = json_get_text(object, "level");

    *ret = (struct wall_report){.level = WALL_UNSET};
    if (level == NULL || !wall_level_parse(level, &ret->level))
        return;
    for (enum wall_part i = 0; i < WALL_PART_COUNT; i++)
        copy_text(json_get_text(object, parts[i].member), ret->held_by[i], WALL_HOLDER_MAX);
    ret->sandbox_off = json_get_text(object, "ownSandbox") != NULL;
    copy_text(json_get_text(object, "missing"), ret->missing, WALL_WHY_MAX);
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
    for (enum wall_part i = 0; i < WALL_PART_COUNT; i++)
        str_addf(to, "%s%s: %s", i > 0 ? ", " : "", parts[i].name,
                 report->held_by[i][0] != '\0' ? report->held_by[i] : "nothing");
    if (report->sandbox_off)
        str_add(to, ", own sandbox: off");
    if (report->missing[0] != '\0')
        str_addf(to, "; %s", report->missing);
}
