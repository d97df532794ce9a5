#include "code/held.h"

#include <fnmatch.h>

/* Names of files and directories, whatever the case of their letters. What a build or a server
 * reads is not among them: to run that is what a try is for. */
/* clang-format off */
static const char *const names[] = {
    /* git, and what hooks of git run */
    ".git*", ".husky", ".pre-commit-config.yaml", "prek.toml", "lefthook*", ".lefthook*", ".overcommit.yml",
    /* shells, and what acts on a change of the directory */
    ".envrc", ".direnv", ".autoenv*", ".bash*", ".profile", ".zsh*", ".zprofile", ".zlog*", ".inputrc",
    ".mise*", "mise*.toml",
    /* editors */
    ".vscode", "*.code-workspace", ".idea", "*.iml", ".fleet", ".zed", ".vs", "*.sublime-project", ".nova",
    ".devcontainer", ".devcontainer.json", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".vim", ".nvim",
    ".gvimrc", ".lvimrc", ".dir-locals*.el", ".helix", ".luarc.json*", "rust-analyzer.toml", ".rust-analyzer.toml",
    /* agents */
    ".claude*", "claude.md", "claude.local.md", ".mcp.json", "agents.md", "agents.override.md", "gemini.md", ".gemini*", ".codex",
    ".opencode", "opencode.json*", ".cursor*", ".windsurf*", ".aider*", ".continue*", ".cline*", ".roo*",
    ".copilot*", ".amp", ".kiro", ".goose*", ".agents", ".agent", "agent.md", ".amazonq", ".augment*", ".crush*", "crush.md",
    ".factory", ".junie", ".kilocode*", ".qwen*", "qwen.md", ".rules", "warp.md",
    /* mas */
    ".mas", "mas.ini", ".worktreeinclude",
};
/* clang-format on */

static bool is_held(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (fnmatch(names[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

bool held_back(const char *path)
{
    const char *last = strrchr(path, '/');
    _cleanup_free_ char *rest = mem_dup(path);

    if (last != NULL && strcasecmp(last + 1, "HEAD") == 0)
        return true; /* it would make a repository of its directory */
    for (char *next = rest, *name; (name = strsep(&next, "/")) != NULL;)
        if (is_held(name))
            return true;
    return false;
}

bool held_leaves(const char *path, const char *target)
{
    _cleanup_free_ char *rest = mem_dup(target);
    size_t above = 0; /* directories that the link is in */
    bool down = false;

    for (const char *c = path; *c != '\0'; c++)
        above += *c == '/';
    if (target[0] == '/' || target[0] == '\0')
        return true;
    for (char *next = rest, *name; (name = strsep(&next, "/")) != NULL;) {
        if (strcmp(name, "..") == 0) {
            if (down || above-- == 0)
                return true;
        } else if (name[0] != '\0' && strcmp(name, ".") != 0) {
            down = true;
            if (fnmatch(".git*", name, FNM_CASEFOLD) == 0)
                return true;
        }
    }
    return false;
}
