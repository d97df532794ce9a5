#include "unit.h"

#include "base/json.h"
#include "protocol/tool_words.h"

/* Reads the update of a tool call, and checks what it is said to do. */
static void check(const char *update, const char *title, const char *content, const char *line,
                  const char *details)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    struct tool_words tool = {.subject = NULL};

    REQUIRE(json_parse(update, strlen(update), 1 << 20, &json, &err) == 0);
    tool_words_read(&tool, json, content);
    _cleanup_free_ char *is_line = tool_words_line(&tool, title, "/work");
    _cleanup_free_ char *are_details = tool_words_details(&tool, content);
    CHECK_STR(is_line, line);
    CHECK_STR(are_details, details);
    tool_words_free(&tool);
}

TEST(the_line_names_what_it_works_on)
{
    static const struct {
        const char *update, *title, *line, *details;
    } calls[] = {
        {"{}", "Do it", "Do it", ""},
        {"{\"rawInput\":null}", "", "", ""},
        {"{\"rawInput\":{\"description\":\"Clean\",\"command\":\"rm -rf x\"}}", "Clean up",
         "rm -rf x (Clean up)", "command: rm -rf x\ndescription: Clean"},
        {"{\"rawInput\":{\"command\":\"rm -rf x\"}}", "`rm -rf x`", "`rm -rf x`",
         "command: rm -rf x"},
        {"{\"rawInput\":{\"command\":\"ls\"}}", "Install tools", "ls (Install tools)",
         "command: ls"},
        {"{\"rawInput\":{\"command\":[\"bash\",\"-lc\",\"a b; c\"],\"cwd\":\"/w\"}}", "",
         "bash -lc 'a b; c'", "command: bash -lc 'a b; c'\ncwd: /w"},
        {"{\"rawInput\":{\"command\":\"a\\n  b\"}}", "Build", "a b (Build)",
         "command:\n    a\n      b"},
        {"{\"rawInput\":{\"url\":\"https://x.example/?q=1\"}}", "Look it up",
         "https://x.example/?q=1 (Look it up)", "url: https://x.example/?q=1"},
        {"{\"rawInput\":{\"arguments\":{\"command\":\"ls\"}}}", "Tool", "ls (Tool)",
         "arguments:\n    command: ls"},
        {"{\"rawInput\":{\"command\":\" \",\"cmd\":[],\"script\":\"ls\"}}", "Tool", "ls (Tool)",
         "script: ls\ncommand:  "},
        {"{\"rawInput\":{\"questions\":[{\"question\":\"Which?\"}]}}", "Ask", "Which? (Ask)",
         "questions:\n    question: Which?"},
        {"{\"rawInput\":\"as it is\"}", "Tool", "Tool", "input: as it is"},
        {"{\"rawInput\":{\"n\":2,\"on\":true,\"list\":[{\"a\":1},{\"a\":2}]}}", "Tool", "Tool",
         "n: 2\non: true\nlist:\n    a: 1\nlist:\n    a: 2"},
        {"{\"locations\":[{\"path\":\"/w/a.c\",\"line\":7},{\"path\":\"/w/b.c\"}]}", "Edit",
         "/w/a.c (Edit)", "location: /w/a.c:7\nlocation: /w/b.c"},
        {"{\"content\":[{\"type\":\"content\"},{\"type\":\"diff\",\"path\":\"/w/a.c\"},"
         "{\"type\":\"diff\",\"path\":\"/w/b.c\"}]}",
         "Tidy up", "/w/a.c (Tidy up)", ""},
        {"{\"rawInput\":{\"path\":\"/work/d/a\"}}", "Read d/a", "Read d/a", "path: /work/d/a"},
        {"{\"rawInput\":{\"path\":\"/works/a\"}}", "Read s/a", "/works/a (Read s/a)",
         "path: /works/a"},
        {"{\"rawInput\":{\"command\":\"/work/run\"}}", "", "/work/run", "command: /work/run"},
        {"{\"rawInput\":{\"path\":\"/w/a\"},\"locations\":[{\"path\":\"/w/a\"}]}", "Read /w/a",
         "Read /w/a", "path: /w/a"},
    };

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        check(calls[i].update, calls[i].title, NULL, calls[i].line, calls[i].details);
}

TEST(a_change_is_a_diff_and_said_once)
{
    static const char edit[] = "{\"rawInput\":{\"file_path\":\"a\",\"old_string\":\"one\\n\","
                               "\"new_string\":\"two\\n\"}}";
    static const char edits[] = "{\"rawInput\":{\"path\":\"a\",\"edits\":[{\"old_string\":\"x\\n\","
                                "\"new_string\":\"y\\n\"}]}}";
    static const char write[] = "{\"rawInput\":{\"file_path\":\"a\",\"content\":\"one\\ntwo\\n\"}}";
    static const char hunk[] = "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+two\n";
    static const char added[] = "--- /dev/null\n+++ a\n@@ -0,0 +1,2 @@\n+one\n+two\n";

    check(edit, "Edit", NULL, "a (Edit)", "file_path: a\n@@ -1,1 +1,1 @@\n-one\n+two");
    check(edit, "Edit", hunk, "a (Edit)",
          "file_path: a\n--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+two");
    check(edits, "Edit", NULL, "a (Edit)", "path: a\nedits:\n    @@ -1,1 +1,1 @@\n    -x\n    +y");
    check(write, "Write", NULL, "a (Write)", "file_path: a\ncontent:\n    one\n    two");
    check(write, "Write", added, "a (Write)",
          "file_path: a\n--- /dev/null\n+++ a\n@@ -0,0 +1,2 @@\n+one\n+two");
}

/* An agent may name one side only; that is shown as any other value. */
TEST(one_side_is_no_change)
{
    static const char before[] = "{\"rawInput\":{\"file_path\":\"a\",\"old_string\":\"one\"}}";
    static const char after[] = "{\"rawInput\":{\"file_path\":\"a\",\"new_string\":\"two\"}}";

    check(before, "Edit", NULL, "a (Edit)", "file_path: a\nold_string: one");
    check(after, "Edit", NULL, "a (Edit)", "file_path: a\nnew_string: two");
}

/* Neither does a value pass for another member, nor a character hide what comes after it. */
TEST(hostile_text_is_plain)
{
    check("{\"rawInput\":{\"description\":\"fine\\ncommand: ls\",\"command\":\"rm x\"}}", "T", NULL,
          "rm x (T)", "command: rm x\ndescription:\n    fine\n    command: ls");
    check("{\"rawInput\":{\"command\":\"rm \\u001b[8m\\u202ex\\r\\u200f\",\"a\\nb\":1}}", "T", NULL,
          "rm \\x1b[8m\\xe2\\x80\\xaex \\xe2\\x80\\x8f (T)",
          "command: rm \\x1b[8m\\xe2\\x80\\xaex\\x0d\\xe2\\x80\\x8f\na b: 1");
    check("{\"rawInput\":{\"command\":\"ls          \\n\\n\\n\\n   ; rm x\"}}", "T", NULL,
          "ls ; rm x (T)", "command:\n    ls          \n\n\n\n       ; rm x");
    check("{}", "T", "a\tb\033[2J\n", "T", "a\tb\\x1b[2J");
}

TEST(what_is_long_is_cut_with_a_word)
{
    _cleanup_str_ struct str update = STR_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct tool_words tool = {.subject = NULL};
    struct err err = ERR_INIT;

    str_add(&update, "{\"rawInput\":{\"command\":\"x");
    for (size_t i = 0; i < 20000; i++)
        str_add(&update, "\u00e4");
    str_add(&update, "\",\"list\":[0");
    for (size_t i = 0; i < 30000; i++)
        str_add(&update, ",1");
    str_add(&update, "]}}");
    REQUIRE(json_parse(update.data, update.len, 1 << 20, &json, &err) == 0);
    tool_words_read(&tool, json, NULL);
    _cleanup_free_ char *line = tool_words_line(&tool, "a title", "/");
    _cleanup_free_ char *details = tool_words_details(&tool, NULL);
    CHECK(strlen(line) < 240);
    CHECK(strstr(line, "\u2026 (a title)") != NULL);
    CHECK(strstr(details, " more bytes are left out)\nlist: 0\nlist: 1\n") != NULL);
    CHECK(str_ends(details, "(more of the input is left out)"));
    CHECK(strlen(details) < 100000);
    CHECK(str_is_utf8(details, strlen(details)));
    tool_words_free(&tool);
}

TEST(so_many_places_are_named)
{
    for (int count = 100; count <= 102; count++) {
        _cleanup_str_ struct str update = STR_INIT, want = STR_INIT;
        _cleanup_json_ struct json *json = NULL;
        struct tool_words tool = {.subject = NULL};
        struct err err = ERR_INIT;
        str_add(&update, "{\"locations\":[{}");
        for (int i = 0; i < count; i++)
            str_addf(&update, ",{\"path\":\"/p%d\"}", i);
        str_add(&update, "]}");
        REQUIRE(json_parse(update.data, update.len, 1 << 20, &json, &err) == 0);
        tool_words_read(&tool, json, NULL);
        _cleanup_free_ char *details = tool_words_details(&tool, NULL);
        CHECK(strstr(details, "/p99") != NULL);
        CHECK(strstr(details, "/p100") == NULL);
        str_addf(&want, "(%d more)", count - 100);
        CHECK_INT(strstr(details, " more)") != NULL, count > 100);
        CHECK(count == 100 || strstr(details, str_text(&want)) != NULL);
        tool_words_free(&tool);
    }
}

TEST(what_is_not_told_again_stays)
{
    static const char *const updates[] = {
        "{\"rawInput\":{\"command\":\"ls\"},\"locations\":[{\"path\":\"/a\"}]}",
        "{\"status\":\"pending\",\"rawInput\":null,\"locations\":7}",
        "{\"rawInput\":{\"command\":\"rm\"}}",
    };
    static const char *const details[] = {"command: ls\nlocation: /a", "command: ls\nlocation: /a",
                                          "command: rm\nlocation: /a"};
    struct tool_words tool = {.subject = NULL};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(updates); i++) {
        _cleanup_json_ struct json *json = NULL;
        REQUIRE(json_parse(updates[i], strlen(updates[i]), 1 << 20, &json, &err) == 0);
        tool_words_read(&tool, json, NULL);
        _cleanup_free_ char *now = tool_words_details(&tool, NULL);
        CHECK_STR(now, details[i]);
    }
    tool_words_free(&tool);
}
