/* term_text_feed() on any bytes: lines are safe to print, and the same wherever the bytes are cut.
 */
#include "base/term_text.h"
#include "fuzz.h"

static void note_line(const char *line, size_t len, void *arg)
{
    _cleanup_str_ struct str visible = STR_INIT;
    struct str *to = arg;

    must(line[len] == '\0' && len <= (size_t)TERM_TEXT_COLUMNS_MAX * 4 * 4);
    for (const char *p = line; *p != '\0';) { /* tabs stay; nothing else has to be made visible */
        size_t part = strcspn(p, "\t");
        str_add_visible(&visible, p, part);
        p += part;
        if (*p == '\t')
            str_addc(&visible, *p++);
    }
    must(visible.len == len && memcmp(str_text(&visible), line, len) == 0);
    str_addn(to, line, len);
    str_addc(to, '\n');
}

static void feed(const char *bytes, size_t size, size_t step, struct str *to)
{
    struct term_text plain = {.columns = 0};

    for (size_t i = 0; i < size; i += step) {
        term_text_feed(&plain, bytes + i, size - i < step ? size - i : step, note_line, to);
        must(plain.columns <= TERM_TEXT_COLUMNS_MAX && plain.cursor <= TERM_TEXT_COLUMNS_MAX);
    }
    term_text_end(&plain, note_line, to);
    term_text_free(&plain);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    must_be_same_in_pieces(data, size, 16, feed);
    return 0;
}
