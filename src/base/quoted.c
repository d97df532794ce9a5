#include "base/quoted.h"

enum { LINE = 300 };

void str_add_quoted(struct str *s, const char *text, size_t len, size_t max, bool end)
{
    _cleanup_str_ struct str shown = STR_INIT;

    for (const char *stop = text + len, *next; text < stop; text = next + 1) {
        next = memchr(text, '\n', (size_t)(stop - text));
        next = next != NULL ? next : stop;
        str_add(&shown, "| ");
        size_t size = (size_t)(next - text);
        str_add_line(&shown, text, size > LINE ? str_cut(text, size, LINE) : size);
        str_addc(&shown, '\n');
    }
    if (shown.len <= max) {
        str_addn(s, str_text(&shown), shown.len);
    } else if (end) {
        const char *last = shown.data + shown.len - max;
        while (((unsigned char)*last & 0xc0) == 0x80) /* within a character */
            last++;
        str_addf(s, "| ...%s", last);
    } else {
        str_addn(s, shown.data, str_cut(shown.data, shown.len, max));
        str_add(s, "...\n");
    }
}
