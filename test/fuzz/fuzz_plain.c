/* plain_feed() on any bytes: lines are safe to print, and the same wherever the bytes are cut. */
#include "base/plain.h"
#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void note_line(const char *line, size_t len, void *arg)
{
    _cleanup_str_ struct str visible = STR_INIT;
    struct str *to = arg;

    must(line[len] == '\0' && len <= (size_t)PLAIN_COLUMNS_MAX * 4 * 4);
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
    struct plain plain = {.columns = 0};

    for (size_t i = 0; i < size; i += step) {
        plain_feed(&plain, bytes + i, size - i < step ? size - i : step, note_line, to);
        must(plain.columns <= PLAIN_COLUMNS_MAX && plain.cursor <= PLAIN_COLUMNS_MAX);
    }
    _cleanup_free_ char *current = mem_dup(plain_current(&plain));
    size_t before = to->len;
    plain_end(&plain, note_line, to);
    must(to->len == before || strncmp(to->data + before, current, to->len - before - 1) == 0);
    plain_free(&plain);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    must_be_same_in_pieces(data, size, 16, feed);
    return 0;
}
