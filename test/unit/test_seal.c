#include "fleet/seal.h"

#include "unit.h"

/* Takes a text in pieces of this size. The caller frees what is left of it. */
static char *take(struct seal *seal, const char *text, size_t piece)
{
    struct str to = STR_INIT;
    size_t len = strlen(text);

    for (size_t at = 0; at < len; at += piece)
        seal_take(seal, text + at, len - at < piece ? len - at : piece, &to);
    seal_end(seal, &to);
    return str_steal(&to);
}

static struct seal make(void)
{
    struct err err = ERR_INIT;
    struct seal seal;

    CHECK_INT(seal_make(&seal, &err), 0);
    CHECK_INT(strlen(seal.line), SEAL_LEN);
    return seal;
}

/* Makes one of an output that has begun. */
static struct seal begin(void)
{
    struct str to = STR_INIT;
    struct seal seal = make();

    seal_take(&seal, seal.line, SEAL_LEN, &to);
    CHECK(seal.begun);
    CHECK_INT(to.len, 0);
    return seal;
}

TEST(keeps_what_comes_before_it)
{
    static const struct {
        const char *said, *kept;
    } rows[] = {{"", ""},
                {"\n \r\n", ""},
                {"\n  Welcome\nto n1\n", "Welcome\nto n1\n"},
                {"no end of a line", "no end of a line"},
                {"\x1e"
                 "550e8400\n",
                 "\x1e"
                 "550e8400\n"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t piece = 1; piece < 80; piece++) {
            struct seal seal = make();
            _cleanup_str_ struct str text = STR_INIT;
            str_addf(&text, "%s%soutput\n%s", rows[i].said, seal.line, seal.line);
            _cleanup_free_ char *left = take(&seal, text.data, piece);
            CHECK(seal.begun && seal.whole);
            CHECK_STR(seal.before, rows[i].kept);
            CHECK_STR(left, "output\n");
        }
}

TEST(of_a_stranger_has_not_begun)
{
    char long_text[3 * SEAL_BEFORE_MAX];
    struct seal seal = make();

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    _cleanup_free_ char *left = take(&seal, long_text, 7);
    CHECK(left == NULL || left[0] == '\0');
    CHECK(!seal.begun && !seal.whole);
    CHECK_INT(strlen(seal.before), SEAL_BEFORE_MAX);
}

TEST(is_taken_from_the_end)
{
    static const char *const outputs[] = {"",
                                          "x",
                                          "no end of a line",
                                          "two\nlines\n",
                                          "\x1e",
                                          "\x1e\x1e\x1e",
                                          "\x1e"
                                          "550e8400-e29b",
                                          "a\x1e"
                                          "b\x1e"};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (size_t piece = 1; piece < 80; piece++) {
            struct seal seal = begin();
            _cleanup_str_ struct str text = STR_INIT;
            str_addf(&text, "%s%s", outputs[i], seal.line);
            _cleanup_free_ char *left = take(&seal, text.data, piece);
            CHECK(seal.whole);
            CHECK_STR(left != NULL ? left : "", outputs[i]);
        }
}

TEST(misses_what_was_lost)
{
    for (size_t lost = 1; lost <= SEAL_LEN; lost++)
        for (size_t piece = 1; piece < 60; piece++) {
            struct seal seal = begin();
            _cleanup_str_ struct str text = STR_INIT;
            str_addf(&text, "output%.*s", (int)(SEAL_LEN - lost), seal.line);
            _cleanup_free_ char *left = take(&seal, text.data, piece);
            CHECK(!seal.whole);
            CHECK_STR(left, text.data);
        }
}

TEST(lets_the_beginnings_of_itself_pass)
{
    for (size_t len = 1; len < SEAL_LEN; len++)
        for (size_t piece = 1; piece < 60; piece++) {
            struct seal seal = begin();
            _cleanup_str_ struct str text = STR_INIT;
            _cleanup_str_ struct str want = STR_INIT;
            str_addf(&want, "%.*s%.*s.", (int)len, seal.line, (int)len, seal.line);
            str_addf(&text, "%s%s", want.data, seal.line);
            _cleanup_free_ char *left = take(&seal, text.data, piece);
            CHECK(seal.whole);
            CHECK_STR(left, want.data);
        }
}

TEST(of_another_command_is_none)
{
    struct seal one = begin();
    struct seal other = make();
    _cleanup_free_ char *left = take(&one, other.line, 7);

    CHECK(!one.whole);
    CHECK_STR(left, other.line);
}

TEST(keeps_nothing_else_back)
{
    struct seal seal = begin();
    _cleanup_str_ struct str to = STR_INIT;

    seal_take(&seal, "a part of a line", 16, &to);
    CHECK_STR(to.data, "a part of a line");
    CHECK_INT(seal.seen, 0);
}

TEST(has_a_text_of_its_form)
{
    char mas[] = "mas";
    char *const argv[] = {mas, NULL};
    struct err err = ERR_INIT;
    int code = 0;

    CHECK_INT(seal_run("550e8400", argv, &code, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
}
