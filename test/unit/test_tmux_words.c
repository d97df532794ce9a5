/* What tmux says and is told, without a tmux. */
#include "unit.h"

#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

#define ID "550e8400-e29b-41d4-a716-446655440000"
#define OTHER "650e8400-e29b-41d4-a716-446655440000"

TEST(a_target_is_a_sigil_and_a_number)
{
    static const struct {
        const char *text;
        char sigil;
        bool good;
    } cases[] = {
        {"$1", '$', true},
        {"%0", '%', true},
        {"@123", '@', true},
        {"$1", '%', false},
        {"$", '$', false},
        {"", '$', false},
        {"1", '$', false},
        {"$1:", '$', false},
        {"$-1", '$', false},
        {"$1 ", '$', false},
        {NULL, '$', false},
        {"$1;kill-server", '$', false},
        {"%1234567890123456789012", '%', true},
        {"%12345678901234567890123", '%', false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(tmux_is_target(cases[i].text, cases[i].sigil), cases[i].good))
            unit_print_str("text", cases[i].text);
}

TEST(versions_before_3_3_are_old)
{
    static const char *const old[] = {"1.8", "2.9a", "3.0", "3.2a"};
    static const char *const good[] = {"3.3",      "3.3a",        "3.10",  "4.0",
                                       "next-3.5", "openbsd-7.4", "master"};

    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        CHECK(tmux_version_is_old(old[i]));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(!tmux_version_is_old(good[i]));
}

TEST(the_agent_of_a_pane_is_in_its_command)
{
    static const struct {
        const char *command, *agent;
    } cases[] = {
        {"/usr/bin/mas --root /r host " ID " 11", "11"},
        {"/a host " OTHER " 12/mas host " ID " 11", "11"},
        {"/a host " ID " x/mas host " ID " 11", "11"}, /* the last one: a path may hold anything */
        {"mas host " OTHER " 11", NULL},
        {"mas host " ID " ", NULL},
        {"mas host " ID " 11 12", NULL},
        {"mas host " ID " ../x", NULL},
        {"mashost " ID " 11", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char agent[TEAM_WORD_MAX + 1] = "";
        bool found = tmux_agent_of(cases[i].command, ID, agent);
        CHECK_STR(found ? agent : NULL, cases[i].agent);
    }
}

TEST(a_line_of_panes_is_read_or_passed_over)
{
#define HOST "mas host " ID " 11"
    static const struct {
        const char *line;
        bool good, dead;
        int status;
        pid_t pid;
    } cases[] = {
        {"$1:@2:%3:44:0:::7:80:24:" HOST, true, false, -1, 44},
        {"$1:@2:%3:44:1:0::7:80:24:" HOST, true, true, 0, 44},
        {"$1:@2:%3:44:1:7::7:80:24:" HOST, true, true, 7, 44},
        {"$1:@2:%3:44:1::9:7:80:24:" HOST, true, true, 137, 44},
        {"$1:@2:%3:44:1:0:15:7:80:24:/a:b/" HOST, true, true, 143, 44},
        {"1:@2:%3:44:0:::7:80:24:" HOST, false, false, 0, 0},
        {"$1:2:%3:44:0:::7:80:24:" HOST, false, false, 0, 0},
        {"$1:@2:3:44:0:::7:80:24:" HOST, false, false, 0, 0},
        {"$1:@2:%3:44:0:::7:80:mas", false, false, 0, 0},
        {"$1:@2:%3:44:0:::7:80:24:mas host " OTHER " 11", false, false, 0, 0},
        {"", false, false, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *line = mem_dup(cases[i].line);
        struct tmux_pane pane = {.pid = 0};
        if (!CHECK_INT(tmux_read_pane(line, ID, &pane), cases[i].good))
            unit_print_str("line", cases[i].line);
        if (!cases[i].good)
            continue;
        CHECK_STR(pane.agent, "11");
        CHECK_STR(pane.session, "$1");
        CHECK_STR(pane.window, "@2");
        CHECK_STR(pane.pane, "%3");
        CHECK(pane.pid == cases[i].pid && pane.dead == cases[i].dead);
        CHECK(pane.index == 7 && pane.columns == 80 && pane.rows == 24);
        CHECK_INT(pane.exit_status, cases[i].status);
    }
}

TEST(what_tmux_says_is_understood)
{
    static const struct {
        const char *out, *err, *why;
        bool gone, no_scope;
    } cases[] = {
        {"", "", "cannot do it: tmux exited with code 3", false, false},
        {"out\nmore", "", "cannot do it: tmux: out", false, false},
        {"out", "error\nmore", "cannot do it: tmux: error", false, false},
        {"", "no server running on /x", "cannot do it: tmux: no server running on /x", true, false},
        {"", "error connecting to /x", "cannot do it: tmux: error connecting to /x", true, false},
        {"", "x\nlost server", "cannot do it: tmux: x", true, false},
        {"", "server exited", "cannot do it: tmux: server exited", true, false},
        {"no server running", "", "cannot do it: tmux: no server running", false, false},
        {"", "Failed to start", "cannot do it: tmux: Failed to start", false, true},
        {"", "Unknown assignment: X", "cannot do it: tmux: Unknown assignment: X", false, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_result result = PROC_RESULT_INIT;
        struct err err = ERR_INIT;
        result.status = 3;
        str_add(&result.out, cases[i].out);
        str_add(&result.err, cases[i].err);
        CHECK_INT(tmux_said_gone(&result), cases[i].gone);
        CHECK_INT(tmux_said_no_scope(&result), cases[i].no_scope);
        CHECK_INT(tmux_fail(&result, "do it", &err), -1);
        CHECK_STR(err.text, cases[i].why);
        CHECK_INT(err.code, MAS_TMUX);
        proc_result_free(&result);
    }
    struct proc_result lines = PROC_RESULT_INIT;
    char *save = NULL;
    CHECK(tmux_first_line(&lines, &save) == NULL);
    str_add(&lines.out, "one\ntwo\n");
    CHECK_STR(tmux_first_line(&lines, &save), "one");
    CHECK_STR(strtok_r(NULL, "\n", &save), "two");
    CHECK(strtok_r(NULL, "\n", &save) == NULL);
    proc_result_free(&lines);
}

TEST(a_word_of_a_script_is_one_word)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"", " ''"},
                 {"a b", " 'a b'"},
                 {"it's", " 'it'\\''s'"},
                 {"''", " ''\\'''\\'''"},
                 {"#{x} ; $(y) \\", " '#{x} ; $(y) \\'"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str script = STR_INIT;
        tmux_add_word(&script, cases[i].text);
        CHECK_STR(script.data, cases[i].want);
    }
}

/* The first window, one in the middle, and the last. */
TEST(a_team_needs_room_in_each_window)
{
    char tiled[] = "tiled", column[] = "even-vertical", name[] = "w";
    struct window windows[3];
    const struct team team = {.windows = windows, .window_count = 3};

    for (size_t bad = 0; bad <= 3; bad++) {
        struct err err = ERR_INIT;
        for (size_t i = 0; i < 3; i++)
            windows[i] =
                (struct window){.name = name, .layout = i == bad ? column : tiled, .count = 13};
        CHECK_INT(tmux_check_size(&team, 80, 24, &err), bad < 3 ? -1 : 0);
        CHECK_INT(err.code, bad < 3 ? MAS_TMUX : MAS_OK);
    }
}
