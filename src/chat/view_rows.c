#include "chat/view_internal.h"

#include "base/wrap.h"
#include "chat/draw.h"

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
    [STYLE_CURRENT] = {"\u203a ", "> ", "  ", TINT_ASKS},
    [STYLE_CHOICE] = {"  ", "  ", "    ", TINT_BOLD},
    [STYLE_PLAN] = {"", "", "    ", TINT_PLAIN},
};

static const char *first_of(const struct chat_view *view, enum style style)
{
    return view->unicode ? looks[style].first : looks[style].ascii;
}

int view_room(const struct chat_view *view, enum style style)
{
    int columns = view->columns - (int)strlen(looks[style].rest);
    return columns > 4 ? columns : view->columns;
}

void view_put_row(const struct chat_view *view, struct str *to, enum style style, bool first,
                  const char *text, size_t len)
{
    const char *tint = palette_sgr(looks[style].tint, view->colours);

    str_add(to, tint);
    str_add(to, first ? first_of(view, style) : looks[style].rest);
    str_addn(to, text, len);
    str_add(to, tint[0] != '\0' ? "\033[0m" : "");
}

size_t view_put_rows(const struct chat_view *view, struct str *to, enum style style,
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

void view_put_markdown(const struct chat_view *view, struct str *to, const char *text, size_t len)
{
    const struct drawing look = {
        .columns = view->columns, .colours = view->colours, .unicode = view->unicode};

    draw_markdown(&look, text, len, to);
}

void view_put_line(const struct chat_view *view, struct str *to, enum style style, const char *text,
                   size_t len)
{
    if (style == STYLE_TEXT && len > 0)
        view_put_markdown(view, to, text, len);
    else
        (void)view_put_rows(view, to, style, text, len, 0, true);
}
