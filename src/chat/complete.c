/*
 * The candidates are the pane's own commands, then those that the agent has told of. The first TAB
 * adds what all of them have in common; if that is nothing, it notes the line in chat->listed, and
 * the footer shows the list for as long as the line stays the same. Nothing is kept in between: the
 * candidates are found again each time.
 */

#include "chat/chat.h"

#include "base/wrap.h"

/* Characters that end a command's name and cannot be part of it. */
#define BLANKS " \t\n"

struct candidate {
    const char *name, *operand, *summary;
};

struct candidates {
    struct candidate *list;
    size_t count;
};

/* Returns true if the cursor is at the end of a command's name; *ret is the text after '/'. */
static bool find_word(const struct str *line, size_t cursor, const char **ret, size_t *ret_len)
{
    const char *text = str_text(line);

    if (text[0] != '/' || text[1] == '/' || strcspn(text, BLANKS) != cursor)
        return false;
    *ret = text + 1;
    *ret_len = cursor - 1;
    return true;
}

/* An agent may send any name. Offer only names that a user can type and a terminal shows
 * unchanged. */
static bool is_typed(const char *name)
{
    _cleanup_str_ struct str visible = STR_INIT;

    str_add_visible(&visible, name, strlen(name));
    return name[0] != '\0' && name[strcspn(name, BLANKS)] == '\0' &&
           strcmp(str_text(&visible), name) == 0;
}

static void offer(struct candidates *to, struct candidate one)
{
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->list[i].name, one.name) == 0)
            return;
    to->list = mem_room(to->list, to->count, sizeof *to->list);
    to->list[to->count++] = one;
}

/* Finds the commands that begin with a word. The pane's own come first, as when they are
 * executed. */
static struct candidates find(const struct chat *chat, const char *word, size_t len)
{
    struct candidates found = {.list = NULL};

    for (const struct command *own = chat_commands; own->name != NULL; own++)
        if (strncmp(own->name, word, len) == 0)
            offer(&found, (struct candidate){own->name, own->operand, own->summary});
    for (const struct json *one = json_first(chat->commands); one != NULL; one = json_next(one)) {
        const char *name = json_get_text(one, "name");
        const char *description = json_get_text(one, "description");
        if (name != NULL && strncmp(name, word, len) == 0 && is_typed(name))
            offer(&found, (struct candidate){name, "", description != NULL ? description : ""});
    }
    return found;
}

/* Returns the length of the common beginning in bytes, up to a whole character. */
static size_t common(const struct candidates *found)
{
    const char *first = found->list[0].name;
    size_t len = strlen(first);

    for (size_t i = 1; i < found->count; i++) {
        size_t same = 0;
        while (same < len && found->list[i].name[same] == first[same])
            same++;
        len = same;
    }
    return str_fit(first, len);
}

void complete(struct chat *chat)
{
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_str_ struct str more = STR_INIT;
    const char *word;
    size_t cursor, len;

    line_get(chat->line, &line, &cursor);
    if (!find_word(&line, cursor, &word, &len))
        return;
    struct candidates found = find(chat, word, len);
    if (found.count > 0) {
        str_addn(&more, found.list[0].name + len, common(&found) - len);
        if (found.count == 1 && word[len] == '\0')
            str_addc(&more, ' ');
    }
    line_insert(chat->line, str_text(&more), more.len);
    if (found.count > 1 && more.len == 0) {
        free(chat->listed);
        chat->listed = str_steal(&line);
    }
    free(found.list);
}

/* ---- the list */

/* "/name [operand]" */
static char *label_of(const struct candidate *one)
{
    return mem_printf("/%s%s%s", one->name, one->operand[0] != '\0' ? " " : "", one->operand);
}

static int widest(const struct candidates *found, size_t count)
{
    int columns = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *label = label_of(&found->list[i]);
        int wide = wrap_columns(label, strlen(label));
        columns = wide > columns ? wide : columns;
    }
    return columns;
}

bool complete_list(struct chat *chat, const struct str *line, size_t cursor, size_t rows)
{
    const char *word;
    size_t len;

    if (chat->listed != NULL && strcmp(chat->listed, str_text(line)) != 0) {
        free(chat->listed);
        chat->listed = NULL;
    }
    if (chat->listed == NULL || !find_word(line, cursor, &word, &len))
        return false;
    struct candidates found = find(chat, word, len);
    size_t shown = found.count > rows && rows > 0 ? rows - 1 : found.count;
    int columns = widest(&found, shown);
    columns = columns < chat->view.columns / 2 ? columns : chat->view.columns / 2;
    for (size_t i = 0; i < shown; i++) {
        const struct candidate *one = &found.list[i];
        _cleanup_free_ char *label = label_of(one);
        int left = columns - wrap_columns(label, strlen(label));
        _cleanup_free_ char *row =
            mem_printf("%s%*s  %s", label, left > 0 ? left : 0, "", one->summary);
        view_live(&chat->view, STYLE_NOTE, row);
    }
    if (shown < found.count) {
        _cleanup_free_ char *row = mem_printf("+%zu more", found.count - shown);
        view_live(&chat->view, STYLE_NOTE, row);
    }
    free(found.list);
    return true;
}
