#include "chat/view_internal.h"

#include "base/wrap.h"

#include <string.h>

/* Prefixes of the first row of a line (also in ASCII) and of the others, and the colour. */
static const struct {
    const char *first, *ascii, *rest, *colour;
} looks[STYLE_COUNT] = {
    [STYLE_TEXT] = {"", "", "", ""},
    [STYLE_USER] = {"\u203a ", "> ", "  ", "\033[1;36m"},
    [STYLE_USER_MORE] = {"  ", "  ", "  ", "\033[1;36m"},
    [STYLE_THOUGHT] = {"", "", "", "\033[2;3m"},
    [STYLE_NOTE] = {"", "", "", "\033[2m"},
    [STYLE_ERROR] = {"", "", "", "\033[31m"},
    [STYLE_TOOL] = {"\u2026 ", ". ", "  ", "\033[34m"},
    [STYLE_DONE] = {"\u2713 ", "+ ", "  ", "\033[32m"},
    [STYLE_FAILED] = {"\u2717 ", "x ", "  ", "\033[31m"},
    [STYLE_DETAIL] = {"  ", "  ", "  ", "\033[2m"},
    [STYLE_ADDED] = {"  ", "  ", "  ", "\033[32m"},
    [STYLE_REMOVED] = {"  ", "  ", "  ", "\033[31m"},
    [STYLE_PLACE] = {"  ", "  ", "  ", "\033[36m"},
    [STYLE_ASKS] = {"? ", "? ", "  ", "\033[1;33m"},
    [STYLE_CHOICE] = {"  ", "  ", "    ", "\033[33m"},
    [STYLE_PLAN] = {"", "", "    ", ""},
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
    bool coloured = view->colour && looks[style].colour[0] != '\0';

    str_add(to, coloured ? looks[style].colour : "");
    str_add(to, first ? first_of(view, style) : looks[style].rest);
    str_addn(to, text, len);
    str_add(to, coloured ? "\033[0m" : "");
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
