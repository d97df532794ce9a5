#include "top/text.h"

#include <wchar.h>

/* One character as it is shown. */
struct glyph {
    char bytes[5];
    size_t columns;
};

/* Returns true for characters without a width that change how others are shown: directions,
 * joiners, marks of byte order, and tags. Combining accents are none of them. */
static bool is_invisible(uint32_t c)
{
    return (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c == 0xAD || c == 0x61C ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

static uint32_t decode(const char *text, size_t len)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)text[0] & masks[len];

    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)text[i] & 0x3F);
    return c;
}

/* Returns the length of the character at `text`, 0 if it is not UTF-8. */
static size_t character_len(const char *text, size_t len)
{
    unsigned char first = (unsigned char)text[0];
    size_t n = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

    return n > 0 && n <= len && first < 0xF5 && str_is_utf8(text, n) ? n : 0;
}

static void escape(unsigned char byte, struct glyph *ret)
{
    (void)snprintf(ret->bytes, sizeof ret->bytes, "\\x%02X", byte);
    ret->columns = 4;
}

/* Reads one character of the text; returns how many bytes of it were read. */
static size_t next_glyph(const char *text, size_t len, bool unicode, struct glyph *ret)
{
    size_t n = character_len(text, len);

    *ret = (struct glyph){.columns = 1};
    if (n <= 1) {
        unsigned char c = (unsigned char)text[0];
        if (n == 1 && (c == '\n' || c == '\t' || c == '\r'))
            ret->bytes[0] = ' ';
        else if (n == 1 && c >= ' ' && c != 0x7F)
            ret->bytes[0] = text[0];
        else
            escape(c, ret);
        return 1;
    }
    uint32_t c = decode(text, n);
    int columns = unicode ? wcwidth((wchar_t)c) : 1;
    if (is_invisible(c)) {
        ret->columns = 0;
    } else if (c < 0xA0) { /* C1 */
        escape((unsigned char)c, ret);
    } else if (!unicode || columns < 0) {
        ret->bytes[0] = '?';
    } else {
        memcpy(ret->bytes, text, n);
        ret->columns = (size_t)columns;
    }
    return n;
}

static const char *ellipsis(bool unicode)
{
    return unicode ? "\u2026" : "~";
}

size_t text_columns(const char *text, bool unicode)
{
    size_t len = strlen(text), columns = 0;
    struct glyph glyph;

    for (size_t i = 0; i < len; columns += glyph.columns)
        i += next_glyph(text + i, len - i, unicode, &glyph);
    return columns;
}

size_t text_put(struct str *to, const char *text, size_t columns, bool unicode)
{
    size_t len = strlen(text);
    size_t start = to->len;
    size_t used = 0, cut = start, cut_used = 0; /* where an ellipsis fits */
    struct glyph glyph;

    for (size_t i = 0; i < len;) {
        i += next_glyph(text + i, len - i, unicode, &glyph);
        if (used + glyph.columns > columns) {
            to->len = cut;
            str_add(to, columns > 0 ? ellipsis(unicode) : "");
            return columns > 0 ? cut_used + 1 : 0;
        }
        str_add(to, glyph.bytes);
        used += glyph.columns;
        if (used < columns) {
            cut = to->len;
            cut_used = used;
        }
    }
    return used;
}

size_t text_put_end(struct str *to, const char *text, size_t columns, bool unicode)
{
    size_t len = strlen(text);
    size_t all = text_columns(text, unicode);
    struct glyph glyph;
    size_t i = 0;

    if (all <= columns || columns == 0)
        return text_put(to, text, columns, unicode);
    while (i < len && all > columns - 1) {
        i += next_glyph(text + i, len - i, unicode, &glyph);
        all -= glyph.columns;
    }
    str_add(to, ellipsis(unicode));
    return 1 + text_put(to, text + i, columns - 1, unicode);
}
