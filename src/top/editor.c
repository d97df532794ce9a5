#include "top/editor.h"

#include "base/utf8.h"
#include "top/text.h"

void editor_free(struct top_editor *editor)
{
    str_free(&editor->text);
    *editor = (struct top_editor){.cursor = 0};
}

void editor_set(struct top_editor *editor, const char *text)
{
    str_clear(&editor->text);
    str_add(&editor->text, text);
    editor->cursor = editor->text.len;
}

static void cut(struct top_editor *editor, size_t from, size_t to)
{
    struct str *text = &editor->text;

    if (from >= to)
        return;
    memmove(text->data + from, text->data + to, text->len - to + 1);
    text->len -= to - from;
    editor->cursor = from;
}

static void insert(struct top_editor *editor, const char *bytes)
{
    struct str *text = &editor->text;
    size_t len = strlen(bytes), tail = text->len - editor->cursor;

    if (text->len + len > EDITOR_MAX)
        return;
    str_addn(text, bytes, len);
    memmove(text->data + editor->cursor + len, text->data + editor->cursor, tail);
    memcpy(text->data + editor->cursor, bytes, len);
    editor->cursor += len;
}

static size_t word_start(const struct top_editor *editor)
{
    const char *text = str_text(&editor->text);
    size_t at = editor->cursor;

    while (at > 0 && text[at - 1] == ' ')
        at--;
    while (at > 0 && text[at - 1] != ' ')
        at--;
    return at;
}

static bool press_control(struct top_editor *editor, char letter)
{
    switch (letter) {
    case 'a':
        editor->cursor = 0;
        return true;
    case 'e':
        editor->cursor = editor->text.len;
        return true;
    case 'u':
        cut(editor, 0, editor->cursor);
        return true;
    case 'k':
        cut(editor, editor->cursor, editor->text.len);
        return true;
    case 'w':
        cut(editor, word_start(editor), editor->cursor);
        return true;
    default:
        return false;
    }
}

bool editor_press(struct top_editor *editor, const struct press *press)
{
    const char *text = str_text(&editor->text);
    size_t len = editor->text.len, cursor = editor->cursor;
    size_t before = cursor > 0 ? utf8_start(text, cursor - 1) : 0;
    size_t after = cursor < len ? utf8_next(text, len, cursor) : len;

    switch (press->kind) {
    case PRESS_TEXT:
        insert(editor, press->text);
        return true;
    case PRESS_CONTROL:
        return press_control(editor, press->text[0]);
    case PRESS_LEFT:
        editor->cursor = before;
        return true;
    case PRESS_RIGHT:
        editor->cursor = after;
        return true;
    case PRESS_HOME:
        editor->cursor = 0;
        return true;
    case PRESS_END:
        editor->cursor = len;
        return true;
    case PRESS_BACKSPACE:
        cut(editor, before, cursor);
        return true;
    case PRESS_DELETE:
        cut(editor, cursor, after);
        editor->cursor = cursor;
        return true;
    default:
        return false;
    }
}

void editor_draw(const struct top_editor *editor, struct canvas *canvas, size_t y)
{
    _cleanup_str_ struct str before = STR_INIT;
    size_t room = canvas_left(canvas, y);

    if (y >= canvas->rows || room == 0)
        return;
    str_addn(&before, str_text(&editor->text), editor->cursor);
    size_t wanted = text_columns(str_text(&before), canvas->unicode);
    _cleanup_str_ struct str shown = STR_INIT;
    size_t used = text_put_end(&shown, str_text(&before), room - 1, canvas->unicode);
    canvas_add(canvas, y, PAINT_PLAIN, str_text(&shown));
    canvas->cursor_row = y;
    canvas->cursor_column = canvas->row[y].used;
    if (wanted == used)
        canvas_add(canvas, y, PAINT_PLAIN, str_text(&editor->text) + editor->cursor);
}
