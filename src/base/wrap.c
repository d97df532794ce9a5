#include "base/wrap.h"

#include <wchar.h>

size_t wrap_char(const char *text, size_t len, int *ret_columns)
{
    mbstate_t state = {0};
    wchar_t c = 0;

    *ret_columns = 1;
    if ((unsigned char)text[0] < 0x80)
        return 1;
    size_t n = mbrtowc(&c, text, len, &state);
    if (n == 0 || n > len)
        return 1;
    int columns = wcwidth(c);
    *ret_columns = columns >= 0 ? columns : 1;
    return n;
}

int wrap_columns(const char *text, size_t len)
{
    int all = 0;

    for (size_t i = 0; i < len;) {
        int columns;
        i += wrap_char(text + i, len - i, &columns);
        all += columns;
    }
    return all;
}

size_t wrap_cut(const char *text, size_t len, int columns)
{
    size_t at = 0;

    while (at < len) {
        int wide;
        size_t n = wrap_char(text + at, len - at, &wide);
        if (wide > columns)
            break;
        columns -= wide;
        at += n;
    }
    return at;
}

size_t wrap_row(const char *text, size_t len, int columns, size_t *ret_next)
{
    size_t fits = wrap_cut(text, len, columns);
    size_t blank;

    if (fits == len) {
        *ret_next = len;
        return len;
    }
    if (fits == 0) { /* a row takes at least one character */
        int wide;
        fits = wrap_char(text, len, &wide);
    }
    blank = fits;
    while (blank > 0 && text[blank] != ' ')
        blank--;
    /* split a word that would leave most of the row empty */
    if (blank * 3 < fits) {
        *ret_next = fits;
        return fits;
    }
    *ret_next = blank + 1;
    return blank;
}
