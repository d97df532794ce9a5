#include "unit.h"

#include "model/key_names.h"

TEST(names_of_keys_are_read_one_after_the_other)
{
    const char *at = " Esc  Ctrl-C y 1 Shift-Tab Enter";
    static const char *const bytes[] = {"\033", "\003", "y", "1", "\033[Z", "\r"};
    char key[KEY_BYTES];

    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        CHECK(key_next(&at, key));
        CHECK_STR(key, bytes[i]);
    }
    CHECK(!key_next(&at, key));
}

TEST(a_time_is_a_pause_before_the_next_key)
{
    const char *at = "Esc 200ms 50ms Tab 7";
    char key[KEY_BYTES];

    CHECK_INT(key_pause(&at), 0);
    CHECK(key_next(&at, key));
    CHECK_INT(key_pause(&at), 250);
    CHECK(key_next(&at, key));
    CHECK_STR(key, "\t");
    CHECK_INT(key_pause(&at), 0);
    CHECK(key_next(&at, key));
    CHECK_STR(key, "7");
    at = " 1ms y"; /* also if nobody asks for it */
    CHECK(key_next(&at, key));
    CHECK_STR(key, "y");
}

TEST(only_known_keys_are_keys_and_not_too_many)
{
    static const struct {
        const char *text;
        bool known;
    } cases[] = {
        {"Esc Esc", true},
        {"1", true},
        {"Ctrl-u", true},
        {"a b c d e f g h", true},
        {"Escape", false},
        {"Ctrl-1", false},
        {"Ctrl-", false},
        {"a b c d e f g h i", false},
        {"Esc 5ms", false},
        {"Esc 20000ms a", false},
        {"5ms Esc 9999ms a", true},
        {"Esc 5s a", false},
        {"Esc no", false},
        {"\xc3\xa4", false},
        {"\t", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK(keys_are_known(cases[i].text) == cases[i].known);
}
