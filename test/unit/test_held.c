/* What `mas try` holds back, and which links lead out of a tree. */
#include "unit.h"

#include "code/held.h"

TEST(files_that_something_acts_on_are_held_back_at_any_depth)
{
    static const char *const held[] = {
        ".envrc",      "a/b/.envrc",  ".gitattributes",     ".git",
        ".GitModules", ".github/x/y", ".vscode/tasks.json", "a/.idea/x",
        ".claude/a",   "CLAUDE.md",   "sub/AGENTS.md",      ".mcp.json",
        ".husky/pre",  "x.iml",       "a.code-workspace",   ".bashrc",
        ".zshenv",     ".mise.toml",  ".cursorrules",       "mas.ini",
    };
    static const char *const free_ones[] = {
        "a",        "git",      "src/main.c", ".env",          ".eslintrc", "package.json",
        "x.envrc",  "envrc",    "agents/a.c", "claude.c",      "Makefile",  ".npmrc",
        "vscode/x", "my.git/x", "idea/x",     ".dockerignore",
    };

    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        CHECK(held_back(held[i]));
    for (size_t i = 0; i < ARRAY_LEN(free_ones); i++)
        CHECK(!held_back(free_ones[i]));
}

TEST(links_that_may_lead_out_are_found)
{
    static const struct {
        const char *path, *target;
        bool leaves;
    } rows[] = {
        {"l", "a", false},
        {"l", "a/b/c", false},
        {"l", ".", false},
        {"d/l", "../a", false},
        {"d/e/l", "../../a", false},
        {"d/l", "./../a", false},
        {"l", "a//b", false},
        {"l", "", true},
        {"l", "/a", true},
        {"l", "..", true},
        {"l", "../a", true},
        {"d/l", "../../a", true},
        {"d/e/l", "../../../a", true},
        {"d/l", "a/../b", true},
        {"d/e/l", "a/../../b", true},
        {"l", ".git/config", true},
        {"d/l", "../.GIT", true},
        {"l", "sub/.git/x", true},
        {"l", "a.git", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK(held_leaves(rows[i].path, rows[i].target) == rows[i].leaves);
}
