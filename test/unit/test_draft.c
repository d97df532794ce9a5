/* What a person has typed on the line, as the keys tell it. */
#include "host/terminal/draft.h"

#include "unit.h"

/* Presses keys on an empty line, one after the other. Returns what is on it: "?": unknown. */
static const char *typed(struct draft *draft, bool executes, const char *keys)
{
    draft_reset(draft);
    for (size_t i = 0; keys[i] != '\0'; i++)
        draft_keys(draft, executes, keys + i, 1, 1000);
    return draft->state == DRAFT_UNKNOWN ? "?" : str_text(&draft->text);
}

TEST(keys)
{
    static const struct {
        const char *keys, *shell, *words;
    } table[] = {
        {"", "", ""},
        {"echo", "echo", "echo"},
        {"ec\177\177", "", ""},
        {"\177\177a", "a", "a"},
        {"\303\244b\177\177", "", ""},
        {"\346\274\242\345\255\227\177", "\346\274\242", "\346\274\242"},
        {"a\r", "", ""},
        {"a\rb", "b", "b"},
        {"a\nb", "b", "?"},
        {"a\003", "", ""},
        {"a\025b", "b", "b"},
        {"a\014\032\023\021b", "ab", "ab"},
        {"\001\005\027\013", "", ""},
        {"a\001", "?", "?"},
        {"a\t", "?", "?"},
        {"\t", "?", "?"},
        {"\022x\177", "?", "?"},
        {"a\t\025", "?", "?"},
        {"a\t\r", "", ""},
        {"a\t\003", "", ""},
        {"echo 'a\r", "?", ""},
        {"echo a\\\r", "?", "?"},
        {"it's\r", "?", ""},
        {"\033[A", "?", "?"},
        {"\033[D\033[H", "", ""},
        {"a\033[D", "?", "?"},
        {"a\033b", "?", "?"},
        {"a\033\r", "?", "?"},
        {"a\033[13u", "", ""},
        {"a\033[97;5u", "?", "?"},
        {"\033[200~a b\033[201~", "a b", "a b"},
        {"\033[200~a\rb\033[201~", "?", "?"},
        {"\033[200~a\033[201~\r", "", ""},
        /* reports */
        {"\033[I\033[O", "", ""},
        {"\033[<0;10;20M\033[<0;10;20m", "", ""},
        {"a\033[12;40R", "a", "a"},
        {"\033[?62;4c\033[>1;3;0c\033[?1u\033[?2026;2$y", "", ""},
        {"\033]11;rgb:0000/0000/0000\033\\", "", ""},
        {"\033P>|tmux 3.3a\033\\", "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct draft draft = {.state = DRAFT_NONE};
        CHECK_STR(typed(&draft, true, table[i].keys), table[i].shell);
        CHECK_STR(typed(&draft, false, table[i].keys), table[i].words);
        draft_free(&draft);
    }
}

TEST(times)
{
    struct draft draft = {.state = DRAFT_NONE};

    draft_keys(&draft, true, "a", 1, 1000);
    draft_keys(&draft, true, "\033[I", 3, 2000);
    CHECK_INT(draft.touched, 1000);
    draft_keys(&draft, true, "b", 1, 3000);
    CHECK_INT(draft.touched, 3000);
    draft_free(&draft);
}

/* Escape alone is a key, and not the beginning of the next one. Only the program knows what it
 * does, and may take what comes then for commands. */
TEST(escape)
{
    struct draft draft = {.state = DRAFT_NONE};

    draft_keys(&draft, false, "a", 1, 1000);
    draft_keys(&draft, false, "\033", 1, 2000);
    CHECK(!draft_is_escaped(&draft, 2010));
    CHECK(draft_is_escaped(&draft, 3000));
    draft_keys(&draft, false, "\r", 1, 3000); /* it submits, and stays so in vi */
    CHECK_INT(draft.state, DRAFT_NONE);
    draft_keys(&draft, false, "i", 1, 4000);
    CHECK_INT(draft.state, DRAFT_UNKNOWN);
    draft_keys(&draft, false, "b\r", 2, 4100);
    draft_keys(&draft, false, "c", 1, 5000);
    CHECK_STR(str_text(&draft.text), "c");
    draft_keys(&draft, false, "\003\033", 2, 6000); /* an empty line is empty */
    CHECK(!draft_is_escaped(&draft, 7000));
    draft_keys(&draft, false, "\r", 1, 7000);
    draft_keys(&draft, false, "d", 1, 8000);
    CHECK_STR(str_text(&draft.text), "d");
    draft_free(&draft);
}

TEST(size)
{
    struct draft draft = {.state = DRAFT_NONE};

    for (int i = 0; i < 4095; i++)
        draft_keys(&draft, true, "x", 1, 1000);
    CHECK_INT(draft.text.len, 4095);
    draft_keys(&draft, true, "x", 1, 1000);
    CHECK_INT(draft.state, DRAFT_UNKNOWN);
    draft_free(&draft);
}
