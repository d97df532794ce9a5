#include "unit.h"

#include "base/term_text.h"

/* Each line with a bar behind it. */
static void note_line(const char *line, size_t len, void *arg)
{
    struct str *to = arg;

    CHECK_INT(strlen(line), len);
    str_addn(to, line, len);
    str_addc(to, '|');
}

/* The lines of bytes that come in chunks of `step`; behind a tilde the one without an end. */
static char *lines(const char *bytes, size_t len, size_t step)
{
    struct term_text plain = {.columns = 0};
    struct str to = STR_INIT;

    for (size_t i = 0; i < len; i += step)
        term_text_feed(&plain, bytes + i, len - i < step ? len - i : step, note_line, &to);
    _cleanup_str_ struct str last = STR_INIT;
    term_text_end(&plain, note_line, &last);
    if (last.len > 0)
        str_addf(&to, "~%s", last.data);
    term_text_free(&plain);
    return str_steal(&to);
}

static void check(const char *bytes, size_t len, const char *want)
{
    static const size_t steps[] = {1, 2, 3, 4096};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        _cleanup_free_ char *got = lines(bytes, len, steps[i]);
        CHECK_STR(got, want);
    }
}

#define CHECK_LINES(bytes, want) check(bytes, sizeof(bytes) - 1, want)

TEST(lines_end_with_newlines)
{
    CHECK_LINES("", "");
    CHECK_LINES("one\ntwo\n", "one|two|");
    CHECK_LINES("one\r\n\r\ntwo", "one||~two|");
    CHECK_LINES("\n", "|");
    CHECK_LINES("blanks stay  \n", "blanks stay  |");
}

TEST(carriage_returns_and_backspaces_write_over)
{
    CHECK_LINES(" 10%\r 50%\r100%\n", "100%|");
    CHECK_LINES("longer\rshort\n", "shortr|");
    CHECK_LINES("teh\b\bhe\n", "the|");
    CHECK_LINES("x\b\b\by\n", "y|");
    CHECK_LINES("abc\b \b\n", "ab |");
}

/* What bash prints in a terminal that is narrower than its line, and as that is resized. */
TEST(a_line_that_is_edited_goes_on_at_the_margin)
{
    CHECK_LINES("\033[?2004hu@h:/a/b# \033[?2004h \recho again\r\n\033[?2004l\ragain\r\n",
                "u@h:/a/b# echo again|again|");
    CHECK_LINES("\033[?2004h/a# \r\033[K\r\033M\033[K\r/a#  \recho x\r\n\033[?2004l\rx\r\n",
                "/a# echo x|x|");
    CHECK_LINES("\033[?2004h/a#  \r\r\033[K\r/a# ls\r\n", "/a# ls|");
    CHECK_LINES("\033[?2004h/a# \r\n\033[?2004l\r 10% \r 20% \r\n", "/a# | 20% |");
    CHECK_LINES("\033[?2004h/a# abc \033[2D\rX\r\n", "Xa# abc |");
    CHECK_LINES(" 10% \r 50%\r100%\n", "100% |");
}

TEST(tabs_stay_where_nothing_is_written_over)
{
    CHECK_LINES("a\tb\t\n", "a\tb\t|");
    CHECK_LINES("\033[31m\t\033[0mx\n", "\tx|");
    CHECK_LINES("0123456789\r\tX\n", "01234567X9|");
}

TEST(colours_titles_and_strings_are_gone)
{
    CHECK_LINES("\033[1;31mred\033[0m \033]0;title\atext\033P1$q\033\\!\n", "red text!|");
    CHECK_LINES("\033[?2004h$ \033[?25l\033=\033(B\a\016\017\x7f"
                "ls\n",
                "$ ls|");
}

TEST(moves_within_the_line_are_made)
{
    CHECK_LINES("a\033[3Cb\n", "a   b|");
    CHECK_LINES("abc\033[2DX\n", "aXc|");
    CHECK_LINES("abc\033[99DX\n", "Xbc|");
    CHECK_LINES("abc\033[2GX\033[5`Y\n", "aXc Y|");
    CHECK_LINES("\033[4C\n", "|");
}

TEST(what_is_erased_is_gone)
{
    CHECK_LINES("working...\r\033[Kdone\n", "done|");
    CHECK_LINES("working...\033[2K\rdone\n", "done|");
    CHECK_LINES("working...\033[2Kdone\n", "          done|");
    CHECK_LINES("abcdef\033[3D\033[1KX\n", "   Xef|");
    CHECK_LINES("abcdef\033[4D\033[2X\n", "ab  ef|");
    CHECK_LINES("abcdef\033[4D\033[99X\n", "ab|");
    CHECK_LINES("$ \033[Jls\n", "$ ls|");
}

TEST(characters_are_put_in_and_taken_out)
{
    CHECK_LINES("abcd\033[3D\033[2P\n", "ad|");
    CHECK_LINES("abcd\033[3D\033[99P\n", "a|");
    CHECK_LINES("ad\033[D\033[2@bc\n", "abcd|");
    CHECK_LINES("ad\033[99@\n", "ad|");
}

TEST(what_leaves_the_line_ends_it)
{
    CHECK_LINES("one\033[Atwo\033[10;1Hthree\033[2J\033[Hfour", "one|   two|three|~four|");
    CHECK_LINES("\033[H\033[2J\033[H", "");
    CHECK_LINES("one\033[Etwo\033Dthree\033Efour\n", "one|two|   three|four|");
    CHECK_LINES("shell\033[?1049hvim\033[?1049l$ \n", "shell|     vim|        $ |");
    CHECK_LINES("text\0337\033[24;1Hstatus\0338\rmore\n", "text|status|more|");
}

TEST(utf_8_stays_whole)
{
    CHECK_LINES("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n",
                "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80|");
    CHECK_LINES("\xc3\xbc\xc3\xb6\b\xe2\x82\xac\rx\n", "x\xe2\x82\xac|");
    CHECK_LINES("\xc3\033[m \xbc\n", "\\xc3 \\xbc|");
}

TEST(what_could_move_a_terminal_becomes_visible)
{
    CHECK_LINES("a\xff"
                "b\xc3 \xe2\x82\n",
                "a\\xffb\\xc3 \\xe2\\x82|");
    CHECK_LINES("\xc2\x9b"
                "31m \x9b"
                "31m\n",
                "\\xc2\\x9b31m \\x9b31m|");
    CHECK_LINES("\xe2\x80\xaetxt.exe\n", "\\xe2\\x80\\xaetxt.exe|");
    CHECK_LINES("\xc0\x9b \xed\xa0\x80 \xf8\x88\x80\x80\x80\n",
                "\\xc0\\x9b \\xed\\xa0\\x80 \\xf8\\x88\\x80\\x80\\x80|");
    CHECK_LINES("a\0b\n", "ab|");
}

TEST(lines_have_a_limit)
{
    _cleanup_str_ struct str in = STR_INIT;
    _cleanup_str_ struct str want = STR_INIT;

    for (int i = 0; i < TERM_TEXT_COLUMNS_MAX + 3; i++) {
        if (i == TERM_TEXT_COLUMNS_MAX)
            str_addc(&want, '|');
        str_addc(&in, 'x');
        str_addc(&want, 'x');
    }
    str_addc(&in, '\n');
    str_addc(&want, '|');
    check(in.data, in.len, want.data);
    CHECK_LINES("\033[99999C\033[99999C\033[D\033[1K\n", "|");
    CHECK_LINES("ab\033[D\033[99999@\033[99999@\033[99999Cx\r\033[Kc\n", "c|");
}

TEST(memory_for_long_lines_is_given_back)
{
    struct term_text plain = {.columns = 0};
    struct str to = STR_INIT;
    char bytes[4000];

    memset(bytes, 'x', sizeof bytes);
    term_text_feed(&plain, bytes, sizeof bytes, note_line, &to);
    CHECK(plain.room >= sizeof bytes);
    term_text_feed(&plain, "\nshort\n", 7, note_line, &to);
    CHECK(plain.room <= 512 && plain.text.cap <= 4096);
    term_text_free(&plain);
    str_free(&to);
}

TEST(a_line_without_an_end_comes_at_the_end_and_once)
{
    struct term_text plain = {.columns = 0};
    struct str to = STR_INIT;

    const char *text = "done\n\033[1mContinue? \033[0m[y/n] ";
    term_text_feed(&plain, text, strlen(text), note_line, &to);
    term_text_feed(&plain, "y", 1, note_line, &to);
    CHECK_STR(to.data, "done|");
    term_text_end(&plain, note_line, &to);
    term_text_end(&plain, note_line, &to);
    CHECK_STR(to.data, "done|Continue? [y/n] y|");
    term_text_free(&plain);
    str_free(&to);
}

/* What comes between the bytes of a character makes two pieces of it. */
TEST(a_character_that_is_cut_stays_cut)
{
    CHECK_LINES("\xc3\n\xbc\n", "\\xc3|\\xbc|");
    CHECK_LINES("\xe2\x82\t\xac\n", "\\xe2\\x82\t\\xac|");
    CHECK_LINES("a\xc3\rb\xbc\n", "b\\xbc|");
    CHECK_LINES("a\xc3\b\xbc\n", "a\\xbc|");
    CHECK_LINES("a\xc3\r\xbc\n", "\\xbc\\xc3|");
}
