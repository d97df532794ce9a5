#include "base/term_escape.h"
#include "unit.h"

/* What comes of a text in pieces of `piece` bytes. */
static void feed(const char *text, size_t piece, struct str *to)
{
    struct term_escape harmless = {.count = 0};
    size_t len = strlen(text);

    str_clear(to);
    for (size_t at = 0; at < len; at += piece)
        term_escape_add(&harmless, text + at, len - at < piece ? len - at : piece, to);
    term_escape_end(&harmless, to);
}

TEST(text_stays)
{
    static const char text[] = "a\tb\n\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80\n";
    _cleanup_str_ struct str s = STR_INIT;

    for (size_t piece = 1; piece < sizeof text; piece++) {
        feed(text, piece, &s);
        CHECK_STR(str_text(&s), text);
    }
}

TEST(control_characters_are_shown)
{
    _cleanup_str_ struct str s = STR_INIT;

    for (size_t piece = 1; piece < 8; piece++) {
        feed("\033[2J\a\177\xc2\x9b", piece, &s);
        CHECK_STR(str_text(&s), "\\x1b[2J\\x07\\x7f\\xc2\\x9b");
    }
}

TEST(carriage_returns_go)
{
    _cleanup_str_ struct str s = STR_INIT;

    feed("a\r\nb\rc\r", 2, &s);
    CHECK_STR(str_text(&s), "a\nbc");
}

TEST(what_is_not_utf8_is_shown)
{
    _cleanup_str_ struct str s = STR_INIT;

    for (size_t piece = 1; piece < 8; piece++) {
        feed("a\xff\xc3z\xe6\xbcz\xf5", piece, &s);
        CHECK_STR(str_text(&s), "a\\xff\\xc3z\\xe6\\xbcz\\xf5");
        feed("half \xf0\x9f\x98", piece, &s); /* it never gets its end */
        CHECK_STR(str_text(&s), "half \\xf0\\x9f\\x98");
    }
}
