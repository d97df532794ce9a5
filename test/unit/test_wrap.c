#include "unit.h"

#include "base/wrap.h"

#include <locale.h>

#define E_ACUTE "\xc3\xa9"
#define WIDE "\xe6\xbc\xa2" /* two columns */
#define ACCENT "\xcc\x81" /* none */

static void use_utf8(void)
{
    CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
}

TEST(characters_have_a_length_and_a_width)
{
    static const struct {
        const char *text;
        size_t len;
        size_t want;
        int columns;
    } cases[] = {
        {"ab", 2, 1, 1},
        {"\t", 1, 1, 1},
        {E_ACUTE "x", 3, 2, 1},
        {WIDE WIDE, 6, 3, 2},
        {ACCENT "x", 3, 2, 0},
        {"\xff"
         "a",
         2, 1, 1},
        {WIDE, 2, 1, 1},
        {"\xc2\x85", 2, 2, 1},
        {"\xe6"
         "ab",
         3, 1, 1},
    };

    use_utf8();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int columns = -1;
        if (!CHECK_INT(wrap_char(cases[i].text, cases[i].len, &columns), cases[i].want) ||
            !CHECK_INT(columns, cases[i].columns))
            unit_print_str("text", cases[i].text);
    }
    CHECK_INT(wrap_columns("a" E_ACUTE WIDE ACCENT "\xff", 9), 5);
    CHECK_INT(wrap_columns("abc", 2), 2);
    CHECK_INT(wrap_columns("", 0), 0);
}

TEST(a_text_is_cut_at_a_column)
{
    static const struct {
        const char *text;
        int columns;
        size_t want;
    } cases[] = {
        {"abc", 2, 2},    {"abc", 3, 3},          {"abc", 4, 3},    {"abc", 0, 0},
        {"", 3, 0},       {WIDE "a", 1, 0},       {WIDE "a", 2, 3}, {WIDE "a", 3, 4},
        {"a" WIDE, 2, 1}, {"a" ACCENT "b", 1, 3}, {ACCENT, 0, 2},
    };

    use_utf8();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(wrap_cut(cases[i].text, strlen(cases[i].text), cases[i].columns),
                       cases[i].want))
            unit_print_str("text", cases[i].text);
}

TEST(rows_end_at_spaces)
{
    static const struct {
        const char *text;
        int columns;
        const char *rows; /* with | between them */
    } cases[] = {
        {"", 4, ""},
        {"abcd", 4, "abcd"},
        {"abcde", 4, "abcd|e"},
        {"ab cd", 4, "ab|cd"},
        {"abcd ef", 4, "abcd|ef"}, /* the space that does not fit any more */
        {"abc d ef", 5, "abc d|ef"},
        {"a b c d", 3, "a b|c d"},
        {"ab cdefghijk", 6, "ab|cdefgh|ijk"}, /* a third of the row is enough */
        {"a cdefghijk", 6, "a cdef|ghijk"}, /* less is not */
        {"abc ", 3, "abc|"},
        {WIDE WIDE, 1, WIDE "|" WIDE}, /* a row takes at least one character */
        {WIDE " " WIDE, 3, WIDE "|" WIDE},
    };

    use_utf8();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str rows = STR_INIT;
        const char *at = cases[i].text;
        for (size_t left = strlen(at), next = 0; left > 0 && rows.len < 99;
             at += next, left -= next) {
            size_t len = wrap_row(at, left, cases[i].columns, &next);
            CHECK(next > 0 && next <= left && len <= next);
            str_addn(&rows, at, len);
            if (next < left || at[next - 1] == ' ')
                str_addc(&rows, '|');
        }
        CHECK_STR(str_text(&rows), cases[i].rows);
    }
}
