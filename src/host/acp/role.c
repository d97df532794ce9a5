#include "host/acp/conversation.h"

#include "base/path.h"
#include "base/str.h"
#include "code/repo.h"
#include "session/env.h"
#include "store/placement.h"
#include "store/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * An agent's program reads AGENTS.md or CLAUDE.md in the directory where it starts. The host gives
 * it the one of the other directory: that of its unit, which says what its role is, or the
 * project's.
 */

enum { FILE_MAX = 64 * 1024 }; /* bytes of such a file; the rest is left out */

/* Appends a file, or nothing if it cannot be read. Returns true if it could. */
static bool add_file(int dir, const char *name, struct str *to)
{
    _cleanup_close_ int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK);
    char *text = NULL;
    struct stat st;
    ssize_t n = 0;
    size_t len = 0;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return false;
    text = mem_alloc(FILE_MAX + 1);
    while (len <= FILE_MAX && (n = read(fd, text + len, FILE_MAX + 1 - len)) > 0)
        len += (size_t)n;
    size_t kept = str_cut(text, len, FILE_MAX);
    bool good = n != -1 && str_is_utf8(text, kept) && memchr(text, '\0', kept) == NULL;
    if (good) {
        str_addn(to, text, kept);
        if (kept > 0 && text[kept - 1] != '\n')
            str_addc(to, '\n');
        if (kept < len)
            str_addf(to, "(the file is longer than %d KiB; the rest is left out)\n",
                     FILE_MAX / 1024);
    }
    free(text);
    return good;
}

/* Appends AGENTS.md, otherwise CLAUDE.md. Returns the name of the file; NULL: there is neither. */
static const char *add_instructions(int dir, struct str *to)
{
    static const char *const names[] = {"AGENTS.md", "CLAUDE.md"};

    for (size_t i = 0; dir != -1 && i < ARRAY_LEN(names); i++)
        if (add_file(dir, names[i], to))
            return names[i];
    return NULL;
}

/* Appends a line that says whose file it is, and the file. */
static void add_part(int dir, const char *path, const char *what, struct str *to)
{
    _cleanup_str_ struct str text = STR_INIT;
    const char *name = add_instructions(dir, &text);

    if (name == NULL)
        return;
    str_addf(to, "%s[%s: %s/%s]\n", to->len > 0 ? "\n" : "", what, path, name);
    str_addn(to, str_text(&text), text.len);
}

static void add_role(const struct host *host, struct str *to)
{
    _cleanup_free_ char *part = mem_printf(WORKSPACE_UNIT "/%s", host->agent->id);
    _cleanup_free_ char *path =
        placement_path(&host->root, host->session.id, host->session.mode, part);
    _cleanup_close_ int dir = placement_open(&host->root, host->dir, host->session.mode, part);

    add_part(dir, path, "your role; paths in it begin in its directory", to);
}

static void add_project(const struct host *host, struct str *to)
{
    const char *path = env_get(host->env, "MAS_CODE_DIR");
    const char *branch = env_get(host->env, "MAS_CODE_BRANCH");
    _cleanup_free_ char *part = mem_printf(CODE_DIR "/%s", repo_dir_of(&host->team, host->agent));
    _cleanup_close_ int dir = path_open_beneath(host->dir, part, O_PATH | O_DIRECTORY);

    if (path == NULL || branch == NULL)
        return;
    str_addf(to, "%s[the project is in %s, ", to->len > 0 ? "\n" : "", path);
    if (host->agent->code == AGENT_CODE_VIEW)
        str_addf(to, "the team's branch %s; it is for reading]\n", branch);
    else
        str_addf(to, "your branch %s]\n", branch);
    add_part(dir, path, "the project's instructions", to);
}

void role_add(const struct host *host, struct str *to)
{
    str_add(to, host->agent->system);
    if (repo_dir_of(&host->team, host->agent) == NULL)
        return;
    if (to->len > 0 && to->data[to->len - 1] != '\n')
        str_addc(to, '\n');
    if (agent_starts_in_code(host->agent))
        add_role(host, to);
    else
        add_project(host, to);
}
