/*
 * Lines go into `lines`, where the newest are kept for a new size of the terminal, and as rows into
 * `fresh`. view_draw() moves up to where the footer began, writes these rows over it, so that the
 * terminal scrolls and keeps them as its own history, and draws the footer below. A line that is
 * still open is printed row by row. It never clears the whole screen: tmux would move that into the
 * history.
 */

#include "chat/view.h"

#include "base/palette.h"
#include "base/wrap.h"
#include "os/loop.h"

#include <langinfo.h>
#include <sys/ioctl.h>

/* ---- rows */

/* Prefixes of the first row of a line (also in ASCII) and of the others, and the tint. */
static const struct {
    const char *first, *ascii, *rest;
    enum tint tint;
} looks[STYLE_COUNT] = {
    [STYLE_TEXT] = {"", "", "", TINT_PLAIN},
    [STYLE_USER] = {"\u203a ", "> ", "  ", TINT_BOLD},
    [STYLE_USER_MORE] = {"  ", "  ", "  ", TINT_BOLD},
    [STYLE_THOUGHT] = {"", "", "", TINT_DIM},
    [STYLE_NOTE] = {"", "", "", TINT_DIM},
    [STYLE_ERROR] = {"", "", "", TINT_BAD},
    [STYLE_TOOL] = {"\u2026 ", ". ", "  ", TINT_NEWS},
    [STYLE_DONE] = {"\u2713 ", "+ ", "  ", TINT_GOOD},
    [STYLE_FAILED] = {"\u2717 ", "x ", "  ", TINT_BAD},
    [STYLE_DETAIL] = {"  ", "  ", "  ", TINT_DIM},
    [STYLE_ADDED] = {"  ", "  ", "  ", TINT_GOOD},
    [STYLE_REMOVED] = {"  ", "  ", "  ", TINT_BAD},
    [STYLE_PLACE] = {"  ", "  ", "  ", TINT_NEWS},
    [STYLE_ASKS] = {"? ", "? ", "  ", TINT_ASKS},
    [STYLE_CHOICE] = {"  ", "  ", "    ", TINT_BOLD},
    [STYLE_PLAN] = {"", "", "    ", TINT_PLAIN},
};

static const char *first_of(const struct chat_view *view, enum style style)
{
    return view->unicode ? looks[style].first : looks[style].ascii;
}

/* Returns how many columns a row of this style has for text. */
static int view_room(const struct chat_view *view, enum style style)
{
    int columns = view->columns - (int)strlen(looks[style].rest);
    return columns > 4 ? columns : view->columns;
}

/* Appends one row in its colour, without a line end. `first`: the first row of its line. */
static void view_put_row(const struct chat_view *view, struct str *to, enum style style, bool first,
                         const char *text, size_t len)
{
    const char *tint = palette_sgr(looks[style].tint, view->colours);

    str_add(to, tint);
    str_add(to, first ? first_of(view, style) : looks[style].rest);
    str_addn(to, text, len);
    str_add(to, tint[0] != '\0' ? "\033[0m" : "");
}

/* Appends the rows of a line, starting at byte `from`; the last row only with `whole`. Returns
 * where the remaining row begins. */
static size_t view_put_rows(const struct chat_view *view, struct str *to, enum style style,
                            const char *text, size_t len, size_t from, bool whole)
{
    while (true) {
        size_t next;
        size_t n = wrap_row(text + from, len - from, view_room(view, style), &next);
        bool last = from + next >= len;
        if (last && !whole)
            return from;
        view_put_row(view, to, style, from == 0, text + from, n);
        str_add(to, "\r\n");
        if (last)
            return len;
        from += next;
    }
}

/* ---- the footer */

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
        size_t n = wrap_cut(text + at, line, columns > 1 ? columns : 1);
        if (n == 0 && line > 0)
            n = line;
        if (ret->rows == ARRAY_LEN(ret->from)) { /* drop the oldest row */
            memmove(ret->from, ret->from + 1, sizeof ret->from - sizeof *ret->from);
            memmove(ret->len, ret->len + 1, sizeof ret->len - sizeof *ret->len);
            ret->rows--;
            ret->cursor_row -= ret->cursor_row > 0;
        }
        ret->from[ret->rows] = at;
        ret->len[ret->rows] = n;
        if (view->cursor >= at && view->cursor <= at + n) {
            ret->cursor_row = ret->rows;
            ret->cursor_column = wrap_columns(text + at, view->cursor - at);
        }
        ret->rows++;
        if (at + n >= len)
            return;
        at += n + (text[at + n] == '\n');
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

/* Appends the footer to view->out. The cursor must be in its first row. */
static void view_put_footer(struct chat_view *view)
{
    size_t rows = (size_t)view->rows;
    size_t typed = input_rows(view);
    size_t most = rows > 4 ? rows / 2 : 1;
    size_t used = (typed < most ? typed : most) + 1;
    size_t live = rows > used + 2 ? rows - used - 2 : 0;

    view->footer_rows = 0;
    if (view->is_open && view->open.len > view->printed) {
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

/* ---- lines */

enum {
    KEPT_LINES = 1000,
    KEPT_BYTES = 256 * 1024,
    LINE_MAX_BYTES = 64 * 1024, /* longer lines are split */
    TAB_COLUMNS = 4,
};

static void read_size(struct chat_view *view)
{
    struct winsize size = {.ws_row = 0};

    (void)ioctl(view->fd, TIOCGWINSZ, &size);
    view->rows = size.ws_row > 0 ? size.ws_row : 24;
    view->columns = size.ws_col > 1 ? size.ws_col : 80;
}

void view_open(struct chat_view *view, int fd)
{
    view->fd = fd;
    view->colours = palette_colours();
    view->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    view->changed = true;
    read_size(view);
}

/* ---- lines */

static void drop_old(struct chat_view *view)
{
    size_t drop = 0;

    while (view->count - drop > KEPT_LINES ||
           (view->bytes > KEPT_BYTES && view->count - drop > 1)) {
        view->bytes -= strlen(view->lines[drop].text);
        free(view->lines[drop++].text);
    }
    /* rarely, so that adding a line has a constant cost */
    if (drop == 0)
        return;
    view->count -= drop;
    memmove(view->lines, view->lines + drop, view->count * sizeof *view->lines);
}

static void keep(struct chat_view *view, enum style style, const char *text, size_t len)
{
    view->lines = mem_room(view->lines, view->count, sizeof *view->lines);
    view->lines[view->count++] = (struct view_line){.style = style, .text = mem_dupn(text, len)};
    view->bytes += len;
    view->added++;
    if (view->count > KEPT_LINES + KEPT_LINES / 4 || view->bytes > KEPT_BYTES + KEPT_BYTES / 4)
        drop_old(view);
}

/* Ends the open line and moves it above the footer. */
static void end_line(struct chat_view *view)
{
    (void)view_put_rows(view, &view->fresh, view->open_style, str_text(&view->open), view->open.len,
                        view->printed, true);
    keep(view, view->open_style, str_text(&view->open), view->open.len);
    str_clear(&view->open);
    view->printed = 0;
    view->changed = true;
}

/* Appends text without newlines to the open line. */
static void extend(struct chat_view *view, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\t') {
            str_addc(&view->open, text[i]);
            continue;
        }
        int column = wrap_columns(view->open.data != NULL ? view->open.data : "", view->open.len);
        str_addf(&view->open, "%*s", TAB_COLUMNS - column % TAB_COLUMNS, "");
    }
    if (view->open.len > LINE_MAX_BYTES)
        end_line(view);
    view->printed = view_put_rows(view, &view->fresh, view->open_style, str_text(&view->open),
                                  view->open.len, view->printed, false);
}

static void add_escaped(struct chat_view *view, const char *text, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - text) : len;
        extend(view, text, n);
        if (newline != NULL)
            end_line(view);
        text += n + (newline != NULL);
        len -= n + (newline != NULL);
    }
    view->changed = true;
}

void view_end(struct chat_view *view)
{
    _cleanup_str_ struct str rest = STR_INIT;

    if (!view->is_open)
        return;
    term_escape_end(&view->escape, &rest);
    extend(view, str_text(&rest), rest.len);
    if (view->open.len > 0)
        end_line(view);
    view->is_open = false;
}

void view_piece(struct chat_view *view, enum style style, const char *text, size_t len)
{
    _cleanup_str_ struct str safe = STR_INIT;

    if (view->is_open && view->open_style != style)
        view_end(view);
    view->is_open = true;
    view->open_style = style;
    term_escape_add(&view->escape, text, len, &safe);
    add_escaped(view, str_text(&safe), safe.len);
}

void view_add(struct chat_view *view, enum style style, const char *text, size_t len)
{
    view_end(view);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    view_piece(view, style, text, len);
    view_end(view);
}

void view_prompt(struct chat_view *view, const char *text, size_t len)
{
    const char *newline = memchr(text, '\n', len);
    size_t first = newline != NULL ? (size_t)(newline - text) : len;

    view_add(view, STYLE_USER, text, first);
    if (newline != NULL)
        view_add(view, STYLE_USER_MORE, newline + 1, len - first - 1);
}

void view_addf(struct chat_view *view, enum style style, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    view_add(view, style, text, strlen(text));
}

void view_gap(struct chat_view *view)
{
    view_end(view);
    if (view->count > 0 && view->lines[view->count - 1].text[0] != '\0') {
        view->open_style = STYLE_TEXT;
        end_line(view);
    }
}

static enum style detail_style(const char *line, size_t len, bool diff)
{
    if (!diff || len == 0)
        return STYLE_DETAIL;
    if (str_starts(line, "---") || str_starts(line, "+++") || str_starts(line, "@@"))
        return STYLE_PLACE;
    return line[0] == '+' ? STYLE_ADDED : line[0] == '-' ? STYLE_REMOVED : STYLE_DETAIL;
}

void view_details(struct chat_view *view, const char *text, size_t len, size_t most)
{
    size_t shown = 0, left = 0;
    bool diff = false;

    view_end(view);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - text) : len;
        diff = diff || str_starts(text, "--- ");
        if (shown < most)
            view_add(view, detail_style(text, n, diff), n > 0 ? text : " ", n > 0 ? n : 1);
        shown += shown < most;
        left += shown == most;
        text += n + (newline != NULL);
        len -= n + (newline != NULL);
    }
    if (left > 1)
        view_addf(view, STYLE_DETAIL, "(%zu more lines)", left - 1);
}

/* ---- the footer */

void view_live_clear(struct chat_view *view)
{
    for (size_t i = 0; i < view->live_count; i++)
        free(view->live[i].text);
    view->live_count = 0;
    view->changed = true;
}

void view_live(struct chat_view *view, enum style style, const char *text)
{
    _cleanup_str_ struct str safe = STR_INIT;

    if (view->live_count == VIEW_LIVE_MAX)
        return;
    str_add_visible(&safe, text, strcspn(text, "\n"));
    view->live[view->live_count++] = (struct view_line){.style = style, .text = str_steal(&safe)};
}

/* ---- drawing */

static void flush(struct chat_view *view)
{
    size_t at = 0;

    while (at < view->out.len) {
        ssize_t n = write(view->fd, view->out.data + at, view->out.len - at);
        if (n >= 0) {
            at += (size_t)n;
        } else if (errno == EAGAIN) {
            (void)loop_wait_for(view->fd, POLLOUT, -1);
        } else if (errno != EINTR) {
            break;
        }
    }
    str_clear(&view->out);
}

static void to_footer(struct chat_view *view)
{
    str_add(&view->out, "\033[?25l\033[?7l");
    if (view->cursor_row > 0)
        str_addf(&view->out, "\033[%dA", view->cursor_row);
    /* tmux moves a screen that is cleared from its first cell into the history */
    str_add(&view->out, "\r\033[K\033[C\033[J\r");
}

void view_draw(struct chat_view *view)
{
    if (!view->changed)
        return;
    view->changed = false;
    to_footer(view);
    str_add(&view->out, "\033[?7h");
    str_addn(&view->out, str_text(&view->fresh), view->fresh.len);
    str_add(&view->out, "\033[?7l");
    str_clear(&view->fresh);
    view_put_footer(view);
    str_add(&view->out, "\033[?7h\033[?25h");
    flush(view);
}

/* Clears the rows one by one, because clearing the whole screen would move it into the history. */
void view_repaint(struct chat_view *view)
{
    _cleanup_str_ struct str body = STR_INIT;
    size_t from = view->count;
    size_t want;
    size_t rows = 0;

    read_size(view);
    size_t footer = view->live_count + 2;
    want = (size_t)view->rows > footer ? (size_t)view->rows - footer : 1;
    str_add(&view->out, "\033[?25l");
    for (int row = 1; row <= view->rows; row++)
        str_addf(&view->out, "\033[%d;1H\033[2K", row);
    str_add(&view->out, "\033[1;1H");
    str_clear(&view->fresh);
    while (from > 0 && rows < want) {
        const struct view_line *line = &view->lines[--from];
        size_t len = strlen(line->text);
        rows += (size_t)(wrap_columns(line->text, len) / view_room(view, line->style)) + 1;
    }
    for (size_t i = from; i < view->count; i++)
        (void)view_put_rows(view, &body, view->lines[i].style, view->lines[i].text,
                            strlen(view->lines[i].text), 0, true);
    if (view->is_open)
        view->printed = view_put_rows(view, &body, view->open_style, str_text(&view->open),
                                      view->open.len, 0, false);
    /* the terminal's history already has the rest */
    const char *start = str_text(&body);
    size_t lines = 0;
    for (size_t i = body.len; i > 1; i--)
        if (body.data[i - 1] == '\n' && ++lines == want) {
            start = body.data + i;
            break;
        }
    str_add(&view->fresh, start);
    view->cursor_row = 0;
    view->changed = true;
    view_draw(view);
}

void view_close(struct chat_view *view)
{
    view_end(view);
    view_live_clear(view);
    to_footer(view);
    str_addn(&view->out, str_text(&view->fresh), view->fresh.len);
    str_add(&view->out, "\033[?7h\033[?25h");
    flush(view);
    for (size_t i = 0; i < view->count; i++)
        free(view->lines[i].text);
    free(view->lines);
    str_free(&view->out);
    str_free(&view->fresh);
    str_free(&view->open);
    str_free(&view->state);
    str_free(&view->input);
}
