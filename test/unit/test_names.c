/* What may be a name: of a variable, of a template; and counts under the names of their kinds. */
#include "unit.h"

#include "model/env_name.h"
#include "model/template_name.h"
#include "model/token_counts.h"

TEST(variables_that_mas_sets_are_not_for_settings)
{
    static const char *const good[] = {"A",      "_",       "a1",           "PATH", "MAS",
                                       "XMAS_A", "TERM",    "TMUXED",       "HOME", "PWDS",
                                       "Z9_z",   "COLUMNS", "SESSION_NAMES"};
    static const char *const own[] = {"MAS_",      "MAS_SESSION_ID", "SESSION_NAME", "UNIT_DIR",
                                      "TMUX_PANE", "WORKFLOWS_DIR",  "PWD",          "TMUX"};
    static const char *const bad[] = {"",    "1A",  "9",        "A-B",     "A=B",      "A B",
                                      "A\n", "a.b", "\xc3\xa9", "MAS_A=1", "A\xc3\xa9"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(env_is_name(good[i]) && env_check_name(good[i]) == NULL);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        CHECK(env_is_name(own[i]));
        CHECK_STR(env_check_name(own[i]), "is set by mas itself");
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(!env_is_name(bad[i]));
        CHECK_STR(env_check_name(bad[i]), "is not a name of an environment variable");
    }
}

TEST(what_describes_a_terminal_belongs_to_its_pane)
{
    static const char *const pane[] = {
        "TERM=xterm",     "TERM=",      "TMUX=/tmp/x,1,0", "TMUX_PANE=%1", "COLUMNS=80",
        "LINES=1",        "PWD=/",      "OLDPWD=/",        "MAS_ROOT=x",   "MAS_",
        "SESSION_NAME=a", "UNIT_DIR=b", "WORKFLOWS_DIR=c"};
    static const char *const user[] = {"TERMINFO=/x", "COLORTERM=x", "TMUXED=1", "HOME=/",
                                       "XPWD=/",      "MAS=1",       "LINE=1",   "",
                                       "=TERM=",      "TMUX_PANES=1"};

    for (size_t i = 0; i < ARRAY_LEN(pane); i++)
        if (!CHECK(env_belongs_to_pane(pane[i])))
            unit_print_str("entry", pane[i]);
    for (size_t i = 0; i < ARRAY_LEN(user); i++)
        if (!CHECK(!env_belongs_to_pane(user[i])))
            unit_print_str("entry", user[i]);
}

TEST(a_template_is_a_word_or_an_absolute_path)
{
    static const char *const good[] = {"a",    "my_team-2", "abcdefghijklmnopqrstuvwxyz012345",
                                       "/a b", "/\xc3\xa9", "/"};
    static const char *const bad[] = {
        "",        "abcdefghijklmnopqrstuvwxyz0123456", "a b", "a/b", "./a", "..", "/a\nb", "/\xff",
        "\xc3\xa9"};
    char path[TEMPLATE_PATH_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(template_check_name(good[i]) == NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(template_check_name(bad[i]) != NULL))
            unit_print_str("name", bad[i]);
    memset(path, '/', sizeof path);
    path[TEMPLATE_PATH_MAX + 1] = '\0';
    CHECK(template_check_name(path) != NULL);
    path[TEMPLATE_PATH_MAX] = '\0';
    CHECK(template_check_name(path) == NULL);
}

TEST(counts_that_are_not_told_add_nothing)
{
    struct token_counts sum = token_counts_none();
    const struct token_counts parts = {{-1, 5, 0, -1, 7, 11}};
    const struct token_counts more = {{-1, 1, 2, 3, -1, -1}};

    CHECK_INT(token_counts_all(&sum), -1);
    token_counts_add(&sum, &sum);
    CHECK_INT(token_counts_all(&sum), -1);
    token_counts_add(&sum, &parts);
    CHECK(memcmp(&sum, &parts, sizeof sum) == 0);
    CHECK_INT(token_counts_all(&sum), 23);
    token_counts_add(&sum, &more);
    CHECK(memcmp(&sum, &(struct token_counts){{-1, 6, 2, 3, 7, 11}}, sizeof sum) == 0);
    CHECK_INT(token_counts_all(&sum), 29);
    sum.of[TOKENS_TOTAL] = 0;
    CHECK_INT(token_counts_all(&sum), 0);
    sum.of[TOKENS_TOTAL] = 100;
    CHECK_INT(token_counts_all(&sum), 100);
    CHECK_INT(token_counts_all(&(struct token_counts){{-1, -1, -1, -1, -1, 0}}), 0);
    CHECK_STR(token_kind_name(TOKENS_TOTAL), "total");
    CHECK_STR(token_kind_name(TOKENS_CACHED_READ), "cachedRead");
    CHECK_STR(token_kind_name(TOKENS_CACHED_WRITE), "cachedWrite");
}
