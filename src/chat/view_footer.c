#include "chat/view_internal.h"

#include "base/utf8.h"
#include "base/wrap.h"

/* Rows of the footer are truncated at the width of the terminal. */
static void put_footer_row(struct chat_view *view, enum style style, const char *text)
{
    size_t n = wrap_cut(text, strlen(text), view_room(view, style) - 1);
    view_put_row(view, &view->out, style, true, text, n);
    str_add(&view->out, "\r\n");
    view->footer_rows++;
}

/* The rows of the input around the cursor; `from` is the start of each. */
struct input {
    size_t from[64], len[64];
    size_t rows, cursor_row;
    int cursor_column;
};

enum { PROMPT_COLUMNS = 2 };

static void split_input(const struct chat_view *view, struct input *ret)
{
    const char *text = str_text(&view->input);
    size_t len = view->input.len;
    int columns = view->columns - PROMPT_COLUMNS - 1;
    size_t at = 0;

    ret->rows = 0;
    for (;;) {
        size_t line = strcspn(text + at, "\n");
        size_t next;
        size_t n = wrap_row(text + at, line, columns > 1 ? columns : 1, &next);
        if (ret->rows == ARRAY_LEN(ret->from)) { /* drop the oldest row */
            memmove(ret->from, ret->from + 1, sizeof ret->from - sizeof *ret->from);
            memmove(ret->len, ret->len + 1, sizeof ret->len - sizeof *ret->len);
            ret->rows--;
            ret->cursor_row -= ret->cursor_row > 0;
        }
        ret->from[ret->rows] = at;
        ret->len[ret->rows] = n;
        if (view->cursor >= at && view->cursor <= at + next) {
            ret->cursor_row = ret->rows;
            ret->cursor_column = wrap_columns(text + at, view->cursor - at);
        }
        ret->rows++;
        if (at + next >= len)
            return;
        at += next + (next == line);
        if (ret->rows >= ARRAY_LEN(ret->from) && view->cursor < at)
            return;
    }
}

static void put_input(struct chat_view *view, size_t most)
{
    struct input input = {.rows = 0};
    size_t first = 0;

    split_input(view, &input);
    if (input.rows > most) {
        first = input.cursor_row + 1 > most ? input.cursor_row + 1 - most : 0;
        input.rows = first + most;
    }
    for (size_t i = first; i < input.rows; i++) {
        str_add(&view->out, i > first ? "\r\n" : "");
        str_add(&view->out, view->colours > 0 ? "\033[1m" : "");
        str_add(&view->out, i == 0 ? "> " : "  ");
        str_add(&view->out, view->colours > 0 ? "\033[0m" : "");
        str_addn(&view->out, str_text(&view->input) + input.from[i], input.len[i]);
    }
    view->cursor_row = view->footer_rows + (int)(input.cursor_row - first);
    view->footer_rows += (int)(input.rows - first);
    int up = view->footer_rows - 1 - view->cursor_row;
    if (up > 0)
        str_addf(&view->out, "\033[%dA", up);
    str_addf(&view->out, "\r\033[%dC", PROMPT_COLUMNS + input.cursor_column);
}

static size_t input_rows(const struct chat_view *view)
{
    struct input input = {.rows = 0};
    split_input(view, &input);
    return input.rows;
}

static void put_state(struct chat_view *view)
{
    size_t n = wrap_cut(str_text(&view->state), view->state.len, view->columns - 1);

    str_add(&view->out, palette_sgr(view->state_tint, view->colours));
    str_add(&view->out, view->colours > 0 ? "\033[7m" : "");
    str_addn(&view->out, str_text(&view->state), n);
    int left = view->columns - 1 - wrap_columns(str_text(&view->state), n);
    if (left > 0 && view->colours > 0)
        str_addf(&view->out, "%*s", left, "");
    str_add(&view->out, view->colours > 0 ? "\033[0m\r\n" : "\r\n");
    view->footer_rows++;
}

/* Shows the last rows of what is still open of a text, at most `most`. Of very much it shows the
 * end as it is. */
static void put_growing(struct chat_view *view, size_t most)
{
    enum { DRAWN_MAX = 16 * 1024 };
    _cleanup_str_ struct str rows = STR_INIT;
    const char *text = str_text(&view->open);
    size_t len = view->open.len;
    size_t count = 0, from;

    if (len <= DRAWN_MAX)
        view_put_markdown(view, &rows, text, len);
    else
        (void)view_put_rows(view, &rows, STYLE_THOUGHT, text, len,
                            utf8_start(text, len - DRAWN_MAX / 4), true);
    for (from = rows.len; from > 0; from--)
        if (rows.data[from - 1] == '\n' && count++ == most)
            break;
    str_addn(&view->out, str_text(&rows) + from, rows.len - from);
    view->footer_rows += (int)(count < most ? count : most);
}

void view_put_footer(struct chat_view *view)
{
    size_t rows = (size_t)view->rows;
    size_t typed = input_rows(view);
    size_t most = rows > 4 ? rows / 2 : 1;
    size_t used = (typed < most ? typed : most) + 1;
    size_t live = rows > used + 2 ? rows - used - 2 : 0;

    view->footer_rows = 0;
    if (view->is_open && view->open_style == STYLE_TEXT) {
        size_t shown = view->live_count < live ? view->live_count : live;
        put_growing(view, rows > used + shown + 1 ? rows - used - shown - 1 : 1);
    } else if (view->is_open && view->open.len > view->printed) {
        view_put_row(view, &view->out, view->open_style, view->printed == 0,
                     str_text(&view->open) + view->printed, view->open.len - view->printed);
        str_add(&view->out, "\r\n");
        view->footer_rows++;
    }
    for (size_t i = 0; i < view->live_count && i < live; i++)
        put_footer_row(view, view->live[i].style, view->live[i].text);
    if (rows > 2)
        put_state(view);
    put_input(view, most);
}
