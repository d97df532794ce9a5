#include "unit.h"

#include "model/message.h"

static const char *check(const char *text)
{
    return message_check(text, strlen(text));
}

TEST(text_is_good)
{
    CHECK(check("") == NULL);
    CHECK(check("two lines\n\tand a tab\n") == NULL);
    CHECK(check("#(touch x) $(x) `x` ; \\ ' \" %") == NULL);
    CHECK(check("Größe ⚙ 🙂 \u00a0 \u0100") == NULL);
}

TEST(control_characters_are_refused)
{
    static const char want[] = "contains a control character other than tab and newline";

    for (int c = 1; c < 0x20; c++) {
        char text[] = {'a', (char)c, 'b', '\0'};
        CHECK_STR(check(text), c == '\t' || c == '\n' ? NULL : want);
    }
    CHECK_STR(message_check("a\0b", 3), want);
    CHECK_STR(check("\x7f"), want);
    CHECK_STR(check("a\xc2\x80"), want); /* C1: some terminals take them for ESC [ and the like */
    CHECK_STR(check("a\xc2\x9b"), want);
    CHECK_STR(check("\r\n"), want);
}

TEST(bytes_that_are_no_utf8_are_refused)
{
    CHECK_STR(check("\xff"), "is not UTF-8");
    CHECK_STR(check("a\xc2"), "is not UTF-8");
    CHECK_STR(check("\xed\xa0\x80"), "is not UTF-8");
}

TEST(a_message_has_4_mib_at_most)
{
    _cleanup_free_ char *text = mem_alloc(MESSAGE_MAX + 1);

    memset(text, 'a', MESSAGE_MAX + 1);
    CHECK(message_check(text, MESSAGE_MAX) == NULL);
    CHECK_STR(message_check(text, MESSAGE_MAX + 1), "is longer than 4 MiB");
}
