#include "base/term_escape.h"

/* Returns how many bytes at the end of a text begin an incomplete character. */
static size_t unfinished(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)text[len - back];
        size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
        if (need != 0)
            return c < 0xf5 && need > back ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static void add_lines(const char *text, size_t len, struct str *to)
{
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        bool kept = i < len && (text[i] == '\n' || text[i] == '\t');
        if (i < len && !kept && text[i] != '\r')
            continue;
        str_add_visible(to, text + start, i - start);
        if (kept)
            str_addc(to, text[i]);
        start = i + 1;
    }
}

void term_escape_add(struct term_escape *escape, const char *piece, size_t len, struct str *to)
{
    _cleanup_str_ struct str joined = STR_INIT;

    if (escape->count > 0) {
        str_addn(&joined, escape->held, escape->count);
        str_addn(&joined, piece, len);
        piece = joined.data;
        len = joined.len;
    }
    escape->count = unfinished(piece, len);
    len -= escape->count;
    memcpy(escape->held, piece + len, escape->count);
    add_lines(piece, len, to);
}

void term_escape_end(struct term_escape *escape, struct str *to)
{
    add_lines(escape->held, escape->count, to);
    escape->count = 0;
}
