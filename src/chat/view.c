/*
 * Lines go into `lines`, where the newest are kept for a new size of the terminal, and as rows into
 * `fresh`. view_draw() moves up to where the footer began, writes these rows over it, so that the
 * terminal scrolls and keeps them as its own history, and draws the footer below. A line that is
 * still open is printed row by row. The text of an agent is open as far as its last block may still
 * change: it is drawn anew in the footer each time. It never clears the whole screen: tmux would
 * move that into the history.
 */

#include "chat/view_internal.h"

#include "base/wrap.h"
#include "chat/draw.h"
#include "markdown/markdown.h"
#include "os/loop.h"

#include <langinfo.h>
#include <sys/ioctl.h>

enum {
    KEPT_LINES = 1000,
    KEPT_BYTES = 256 * 1024,
    CUT_BYTES = 1024 * 1024, /* of output that can be shown in full */
    PROMPT_LINES = 20, /* shown of a prompt */
    LINE_MAX_BYTES = 64 * 1024, /* longer lines are split */
    TAB_COLUMNS = DRAW_TAB,
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

/* Moves the first `len` bytes of a text that is open above the footer. */
static void end_blocks(struct chat_view *view, size_t len)
{
    const char *text = str_text(&view->open);
    size_t shown = len;

    while (shown > 0 && strchr(" \t\n", text[shown - 1]) != NULL)
        shown--;
    if (shown > 0) {
        view_put_line(view, &view->fresh, STYLE_TEXT, text, shown);
        keep(view, STYLE_TEXT, text, shown);
    }
    if (len > 0)
        memmove(view->open.data, view->open.data + len, view->open.len + 1 - len);
    view->open.len -= len;
}

/* Appends to the text of an agent, and ends the blocks in it that are whole. */
static void add_text(struct chat_view *view, const char *text, size_t len)
{
    str_add_without_nul(&view->open, text, len);
    size_t whole = markdown_whole(str_text(&view->open), view->open.len);
    if (whole > 0) {
        end_blocks(view, whole);
        (void)view_put_rows(view, &view->fresh, STYLE_TEXT, "", 0, 0, true);
        keep(view, STYLE_TEXT, "", 0);
    } else if (view->open.len > MARKDOWN_BYTES_MAX) {
        end_blocks(view, view->open.len);
    }
    view->changed = true;
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
    if (view->open_style == STYLE_TEXT) {
        end_blocks(view, view->open.len);
        view->is_open = false;
        view->changed = true;
        return;
    }
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
    if (style == STYLE_TEXT) {
        add_text(view, text, len);
        return;
    }
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

/* Returns the length of the first `most` lines of a text; *ret_left is the number of the others. */
static size_t cut_lines(const char *text, size_t len, size_t most, size_t *ret_left)
{
    size_t lines = 0, cut = len;

    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n' && ++lines == most)
            cut = i;
    *ret_left = lines >= most ? lines - most + 1 : 0;
    return cut;
}

/* Says how many lines of a text are not shown, and keeps it for view_unfold(). */
static void note_cut(struct chat_view *view, size_t left, const char *text, size_t len)
{
    if (left == 0)
        return;
    view_addf(view, STYLE_DETAIL, "(%zu more lines: Ctrl-O)", left);
    str_clear(&view->cut);
    str_addn(&view->cut, text, str_cut(text, len, CUT_BYTES));
}

void view_prompt(struct chat_view *view, const char *text, size_t len)
{
    size_t left, shown = cut_lines(text, len, PROMPT_LINES, &left);
    const char *newline = memchr(text, '\n', shown);
    size_t first = newline != NULL ? (size_t)(newline - text) : shown;

    view_add(view, STYLE_USER, text, first);
    if (newline != NULL)
        view_add(view, STYLE_USER_MORE, newline + 1, shown - first - 1);
    note_cut(view, left, text, len);
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
    static const enum style styles[TINT_COUNT] = {[TINT_PLAIN] = STYLE_DETAIL,
                                                  [TINT_NEWS] = STYLE_PLACE,
                                                  [TINT_GOOD] = STYLE_ADDED,
                                                  [TINT_BAD] = STYLE_REMOVED};
    return styles[diff ? draw_diff_tint(line, len) : TINT_PLAIN];
}

void view_details(struct chat_view *view, const char *text, size_t len, size_t most)
{
    size_t left;
    bool diff = false;

    view_end(view);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t shown = cut_lines(text, len, most, &left);
    for (size_t at = 0; at < shown;) {
        const char *line = text + at;
        const char *newline = memchr(line, '\n', shown - at);
        size_t n = newline != NULL ? (size_t)(newline - line) : shown - at;
        diff = diff || str_starts(line, "--- ");
        view_add(view, detail_style(line, n, diff), n > 0 ? line : " ", n > 0 ? n : 1);
        at += n + (newline != NULL);
    }
    note_cut(view, left, text, len);
}

void view_unfold(struct chat_view *view)
{
    size_t len = view->cut.len;
    _cleanup_free_ char *text = str_steal(&view->cut);

    if (len == 0)
        return;
    view_gap(view);
    view_addf(view, STYLE_NOTE, "---- all of the output ----");
    view_details(view, text, len, SIZE_MAX);
    view_gap(view);
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
        str_clear(&body);
        view_put_line(view, &body, line->style, line->text, strlen(line->text));
        for (const char *end = str_text(&body); (end = strchr(end, '\n')) != NULL; end++)
            rows++;
    }
    str_clear(&body);
    for (size_t i = from; i < view->count; i++)
        view_put_line(view, &body, view->lines[i].style, view->lines[i].text,
                      strlen(view->lines[i].text));
    if (view->is_open && view->open_style != STYLE_TEXT)
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
    str_free(&view->cut);
    str_free(&view->state);
    str_free(&view->input);
}
