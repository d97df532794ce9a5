/*
 * tool_words_read() makes texts of what came and keeps those; the other functions only put them
 * together. Of an input the telling member comes first, two sides of a change become a diff, and
 * what the content shows is left out. The tables at the top are the names that agents give to
 * members.
 */

#include "protocol/tool_words.h"

#include "base/diff.h"
#include "base/json.h"

enum {
    SUBJECT_MAX = 150, /* bytes of the subject in a line; with the title it fits a notification */
    TITLE_MAX = 90, /* bytes of the title behind it */
    ALONE_MAX = 250, /* bytes of a title that stands alone */
    VALUE_MAX = 16 * 1024, /* bytes of a value */
    INPUT_MAX = 64 * 1024, /* bytes of the input, and one value more */
    MEMBERS_MAX = 1000, /* of the input */
    LOCATIONS_MAX = 100,
    CONTENT_MAX = 1 << 20, /* bytes */
    DEPTH_MAX = 8, /* of objects in objects; what is deeper is shown as JSON */
    INDENT = 4,
};

static const char blanks[] = " \t\r\n";

/* Members that say what a call works on, the most telling first. */
static const char *const subjects[] = {
    "command", "cmd", "fullCommandText", "commandLine", "command_line", "script",
    "url",     "uri", "question",        NULL};
static const char *const paths[] = {"path",          "file_path",     "filePath", "filepath",
                                    "abs_path",      "absolute_path", "fileName", "filename",
                                    "notebook_path", "target_file",   NULL};

/* The two sides of a change, as agents name them. */
static const struct {
    const char *before, *after;
} changes[] = {
    {"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"},
    {"oldText", "newText"},       {"old_text", "new_text"},
};

void tool_words_free(struct tool_words *tool)
{
    free(tool->subject);
    free(tool->path);
    free(tool->place);
    free(tool->changed);
    free(tool->input);
    free(tool->locations);
    *tool = (struct tool_words){.subject = NULL};
}

static void replace(char **to, char *text)
{
    free(*to);
    *to = text;
}

/* ---- text */

/* Appends text on one line, one blank for several, cut with a mark. */
static void add_on_line(struct str *to, const char *text, size_t max)
{
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_str_ struct str shown = STR_INIT;

    for (text += strspn(text, blanks); *text != '\0';) {
        size_t len = strcspn(text, blanks);
        str_add(&line, line.len > 0 ? " " : "");
        str_addn(&line, text, len);
        text += len + strspn(text + len, blanks);
    }
    str_add_visible(&shown, str_text(&line), line.len);
    size_t len = str_fit(str_text(&shown), max);
    str_addn(to, str_text(&shown), len);
    str_add(to, len < shown.len ? "\u2026" : "");
}

/* Appends lines, indented, up to a limit. */
static void add_lines(struct str *to, const char *text, size_t indent, size_t max)
{
    size_t shown = str_fit(text, max);

    for (size_t at = 0, len; at < shown; at += len + 1) {
        const char *end = memchr(text + at, '\n', shown - at);
        len = end != NULL ? (size_t)(end - text) - at : shown - at;
        str_addf(to, "%*s", len > 0 ? (int)indent : 0, "");
        str_add_line(to, text + at, len);
        str_addc(to, '\n');
    }
    if (text[shown] != '\0')
        str_addf(to, "%*s(%zu more bytes are left out)\n", (int)indent, "", strlen(text + shown));
}

/* Returns a value as text, which the caller frees. The words of a command can be told apart. */
static char *text_of(const struct json *node)
{
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (json_text(node) != NULL) {
        str_add(&text, json_text(node));
    } else if (json_is_array(node) && json_text(json_first(node)) != NULL) {
        for (const struct json *it = json_first(node); it != NULL; it = json_next(it)) {
            _cleanup_free_ char *word = text_of(it);
            str_add(&text, it != json_first(node) ? " " : "");
            str_add_shell(&text, word, false);
        }
    } else {
        json_put_node(&out, NULL, node);
    }
    return str_steal(&text);
}

/* ---- the input */

/* Returns the first of these members that has a value, also if it is in an object of the object:
 * some agents wrap the input. NULL: none. */
static const struct json *find(const struct json *object, const char *const keys[])
{
    for (size_t i = 0; keys[i] != NULL; i++) {
        const struct json *node = json_get(object, keys[i]);
        const char *text = json_text(node);
        if (text != NULL ? text[strspn(text, blanks)] != '\0' : json_first(node) != NULL)
            return node;
    }
    for (const struct json *it = json_first(object); it != NULL; it = json_next(it)) {
        const struct json *in = json_is_array(it) && keys == subjects ? json_first(it) : it;
        const struct json *found = json_is_object(in) ? find(in, keys) : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* What is shown of an input. */
struct shown_input {
    struct str *to;
    const char *content; /* cut; "": none */
    size_t members; /* looked at */
};

static bool is_full(struct shown_input *shown)
{
    return shown->to->len > INPUT_MAX || shown->members > MEMBERS_MAX;
}

/* Returns true if the content shows the lines of a value, as they are or as added to a file. */
static bool is_shown(const struct shown_input *shown, const char *value)
{
    _cleanup_str_ struct str added = STR_INIT;

    if (shown->content[0] == '\0' || strchr(value, '\n') == NULL)
        return false;
    if (strstr(shown->content, value) != NULL)
        return true;
    diff_unified(&added, "", value);
    return strstr(shown->content, str_text(&added)) != NULL;
}

static void add_object(struct shown_input *shown, const struct json *object, size_t depth);

static void add_member(struct shown_input *shown, const char *key, const struct json *node,
                       size_t depth)
{
    size_t indent = depth * INDENT;

    shown->members++;
    if (json_is_null(node) || is_full(shown))
        return;
    if (depth < DEPTH_MAX && json_is_array(node) && json_text(json_first(node)) == NULL) {
        for (const struct json *it = json_first(node); it != NULL; it = json_next(it))
            add_member(shown, key, it, depth);
        return;
    }
    bool nested = depth < DEPTH_MAX && json_is_object(node);
    _cleanup_free_ char *text = nested ? mem_dup("") : text_of(node);
    bool on_line = text[0] != '\0' && strchr(text, '\n') == NULL;
    if (is_shown(shown, text))
        return;
    str_addf(shown->to, "%*s", (int)indent, "");
    add_on_line(shown->to, key, SUBJECT_MAX);
    str_add(shown->to, on_line ? ": " : ":\n");
    if (nested)
        add_object(shown, node, depth + 1);
    else
        add_lines(shown->to, text, on_line ? 0 : indent + INDENT, VALUE_MAX);
}

/* Finds the two sides of a change in an object. Returns false if there are none, or if they are too
 * long to compare; then they are shown as they are. */
static bool find_change(const struct json *object, const struct json **ret_before,
                        const struct json **ret_after)
{
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        *ret_before = json_get(object, changes[i].before);
        *ret_after = json_get(object, changes[i].after);
        const char *before = json_text(*ret_before);
        const char *after = json_text(*ret_after);
        if (before != NULL && after != NULL)
            return strlen(before) <= VALUE_MAX && strlen(after) <= VALUE_MAX;
    }
    return false;
}

static void add_object(struct shown_input *shown, const struct json *object, size_t depth)
{
    const struct json *subject = depth == 0 ? find(object, subjects) : NULL;
    const struct json *before = NULL, *after = NULL;
    bool changes_text = find_change(object, &before, &after);

    for (const struct json *it = json_first(object); it != NULL; it = json_next(it))
        if (it == subject) /* first: what a short view cuts off is the rest */
            add_member(shown, json_key(it), it, depth);
    for (const struct json *it = json_first(object); it != NULL && !is_full(shown);
         it = json_next(it))
        if (it != subject && !(changes_text && (it == before || it == after)))
            add_member(shown, json_key(it), it, depth);
    if (!changes_text)
        return;
    _cleanup_str_ struct str diff = STR_INIT;
    diff_unified(&diff, json_text(before), json_text(after));
    if (diff.len > 0 && strstr(shown->content, diff.data) == NULL)
        add_lines(shown->to, diff.data, depth * INDENT, 2 * VALUE_MAX);
}

/* Returns the input for reading, which the caller frees. */
static char *read_input(const struct json *input, const char *content)
{
    struct str text = STR_INIT;
    _cleanup_free_ char *cut =
        content != NULL ? mem_dupn(content, str_fit(content, CONTENT_MAX)) : mem_dup("");
    struct shown_input shown = {.to = &text, .content = cut};

    if (json_is_object(input))
        add_object(&shown, input, 0);
    else
        add_member(&shown, "input", input, 0);
    if (is_full(&shown))
        str_add(&text, "(more of the input is left out)\n");
    return str_steal(&text);
}

/* ---- the locations */

/* Returns the places for reading, which the caller frees. */
static char *read_locations(const struct json *locations)
{
    struct str text = STR_INIT;
    size_t count = 0;

    for (const struct json *it = json_first(locations); it != NULL; it = json_next(it)) {
        const char *path = json_get_text(it, "path");
        int64_t line = json_int(json_get(it, "line"), 0);
        if (path == NULL || ++count > LOCATIONS_MAX)
            continue;
        add_on_line(&text, path, VALUE_MAX);
        if (line > 0)
            str_addf(&text, ":%lld", (long long)line);
        str_addc(&text, '\n');
    }
    if (count > LOCATIONS_MAX)
        str_addf(&text, "(%zu more)\n", count - LOCATIONS_MAX);
    return str_steal(&text);
}

/* Appends the locations that are not named yet: as a value, or as the file of a diff. */
static void add_locations(struct str *to, const char *locations, const char *content)
{
    while (*locations != '\0') {
        size_t len = strcspn(locations, "\n");
        _cleanup_free_ char *named = mem_printf(" %.*s\n", (int)len, locations);
        bool known = strstr(str_text(to), named) != NULL || strstr(content, named) != NULL;
        if (!known)
            str_addf(to, "location:%s", named);
        locations += len + 1;
    }
}

/* ---- */

/* Returns the first file that the content of a call changes, NULL if it shows no diff. */
static const char *find_changed(const struct json *content)
{
    for (const struct json *it = json_first(content); it != NULL; it = json_next(it))
        if (strcmp(json_get_text_or(it, "type", ""), "diff") == 0)
            return json_get_text(it, "path");
    return NULL;
}

void tool_words_read_input(struct tool_words *tool, const struct json *input, const char *content)
{
    if (input == NULL || json_is_null(input))
        return;
    const struct json *subject = find(input, subjects);
    const struct json *path = find(input, paths);
    replace(&tool->input, read_input(input, content));
    replace(&tool->subject, subject != NULL ? text_of(subject) : NULL);
    replace(&tool->path, path != NULL ? text_of(path) : NULL);
}

void tool_words_read(struct tool_words *tool, const struct json *update, const char *content)
{
    const struct json *locations = json_get(update, "locations");
    const struct json *shown = json_get(update, "content");

    tool_words_read_input(tool, json_get(update, "rawInput"), content);
    if (json_is_array(locations)) {
        replace(&tool->locations, read_locations(locations));
        replace(&tool->place, mem_dup(json_get_text(json_first(locations), "path")));
    }
    if (json_is_array(shown))
        replace(&tool->changed, mem_dup(find_changed(shown)));
}

/* Returns true if the title names it as a word, not as a part of one. */
static bool names(const char *title, const char *subject)
{
    for (const char *at = strstr(title, subject); at != NULL; at = strstr(at + 1, subject)) {
        bool begins = at == title || !isalnum((unsigned char)at[-1]);
        if (begins && !isalnum((unsigned char)at[strlen(subject)]))
            return true;
    }
    return false;
}

/* Returns what the call works on, "" if that is not known. */
static const char *subject_of(const struct tool_words *tool, const char *cwd)
{
    const char *path = tool->path != NULL    ? tool->path
                       : tool->place != NULL ? tool->place
                                             : tool->changed;
    size_t len = strlen(cwd);

    if (tool->subject != NULL || path == NULL)
        return tool->subject != NULL ? tool->subject : "";
    bool within = str_starts(path, cwd) && path[len] == '/' && path[len + 1] != '\0';
    return within ? path + len + 1 : path;
}

char *tool_words_line(const struct tool_words *tool, const char *title, const char *cwd)
{
    const char *text = subject_of(tool, cwd);
    _cleanup_str_ struct str whole = STR_INIT;
    struct str line = STR_INIT;

    add_on_line(&whole, text, VALUE_MAX);
    if (whole.len == 0 || (strlen(title) <= ALONE_MAX && names(title, whole.data)))
        return mem_dup(title);
    add_on_line(&line, text, SUBJECT_MAX);
    if (title[strspn(title, blanks)] != '\0') {
        str_add(&line, " (");
        add_on_line(&line, title, TITLE_MAX);
        str_add(&line, ")");
    }
    return str_steal(&line);
}

char *tool_words_details(const struct tool_words *tool, const char *content)
{
    struct str text = STR_INIT;

    str_add(&text, tool->input != NULL ? tool->input : "");
    if (tool->locations != NULL)
        add_locations(&text, tool->locations, content != NULL ? content : "");
    if (content != NULL)
        add_lines(&text, content, 0, CONTENT_MAX);
    if (text.len > 0)
        text.data[--text.len] = '\0'; /* the last newline */
    return str_steal(&text);
}
