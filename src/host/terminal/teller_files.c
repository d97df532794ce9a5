/*
 * Files that the program itself writes, in a home that the agent may write: they are looked for by
 * name, opened without following a link and without blocking, and believed about this agent alone.
 *
 * The file of the state is an object with the members `sessionId`, `status`, of which "idle"
 * counts, and `statusUpdatedAt`, ms since 1970. Claude Code 2.1.332 writes one, sessions/PID.json,
 * at each change, also at those that no hook tells: a turn that was stopped, a refusal.
 */
#include "base/json.h"
#include "base/time.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "model/path_pattern.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/env.h"
#include "store/workspace.h"
#include "wall/plan.h"

#include <glob.h>

enum {
    LOOK_MS = 200,
    STATE_MAX = 64 * 1024, /* bytes of the file */
    FILES_MAX = 64, /* that are looked at */
};

/* Appends the files that match a pattern below a directory, which may have any characters, and were
 * written since. */
static void add_matches(const char *dir, const char *pattern, int64_t since_ms, char ***to)
{
    _cleanup_str_ struct str path = STR_INIT;
    glob_t found = {.gl_pathc = 0};
    struct stat st;

    for (const char *c = dir; *c != '\0'; c++) {
        if (strchr("*?[]\\", *c) != NULL)
            str_addc(&path, '\\');
        str_addc(&path, *c);
    }
    str_addf(&path, "/%s", pattern);
    if (glob(path.data, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && strv_len(*to) < FILES_MAX; i++)
            if (lstat(found.gl_pathv[i], &st) == 0 && S_ISREG(st.st_mode) &&
                (int64_t)st.st_mtime >= since_ms / 1000)
                strv_push(to, found.gl_pathv[i]);
    globfree(&found);
}

void teller_id_values(const struct host *host, const char *id, struct teller_id_values *ret)
{
    (void)snprintf(ret->first, sizeof ret->first, "%s", id);
    ret->values[0] = (struct expand_value){"id", id};
    ret->values[1] = (struct expand_value){"id8", ret->first};
    ret->values[2] = (struct expand_value){"directory", env_get(host->env, "PWD")};
}

char **teller_find_files(const struct host *host, char *const *patterns, const char *id,
                         int64_t since_ms)
{
    struct teller_id_values as;
    teller_id_values(host, id, &as);
    _cleanup_free_ char *part = mem_printf(WORKSPACE_HOME "/%s", host->agent->id);
    _cleanup_free_ char *own = workspace_path(&host->root, host->session.id, part);
    const char *home = env_get(host->env, "HOME");
    char **found = NULL;

    for (; patterns != NULL && *patterns != NULL; patterns++) {
        _cleanup_free_ char *path = expand_text(as.values, ARRAY_LEN(as.values), *patterns, NULL);
        _cleanup_free_ char *name = NULL;
        const char *below = path_pattern_below(path, &name);
        const char *dir = name != NULL ? env_get(host->env, name) : home;
        if (name == NULL)
            add_matches(own, below, since_ms, &found);
        if (dir != NULL && dir[0] == '/')
            add_matches(dir, below, since_ms, &found);
    }
    return found;
}

/* Appends the ids of the sessions of which a process holds a file open. Its paths are those that it
 * sees, behind its wall. */
static void add_held(const struct host *host, pid_t pid, char ***to)
{
    _cleanup_strv_ char **files = proc_open_files(pid);

    for (char *const *pattern = host->preset->told.alive; *pattern != NULL; pattern++) {
        _cleanup_free_ char *name = NULL;
        const char *below = path_pattern_below(*pattern, &name);
        const char *dir = env_get(host->env, name != NULL ? name : "HOME");
        size_t len = dir != NULL ? strlen(dir) : 0;
        struct path_found found;
        for (char **file = files; file != NULL && *file != NULL && len > 0; file++)
            if (strncmp(*file, dir, len) == 0 && (*file)[len] == '/' &&
                path_pattern_match(below, *file + len + 1, NULL, &found) && found.whole &&
                found.pid == 0 && !strv_has(*to, found.id))
                strv_push(to, found.id);
    }
}

char **teller_held_sessions(const struct host *host)
{
    const struct teller *teller = host->terminal->teller;
    _cleanup_free_ struct proc_in_tree *tree = NULL;
    char **ids = NULL;

    if (host->preset->told.alive == NULL)
        return NULL;
    if (teller->process.pid != 0) {
        add_held(host, teller->process.pid, &ids);
        return ids;
    }
    size_t count = proc_tree(&tree); /* it has told nothing in this run, so it has asked nothing */
    for (size_t i = 0; i < count; i++)
        add_held(host, tree[i].id.pid, &ids);
    return ids;
}

/* Opens a file below a directory without following a link; -1. */
static int open_below(const char *dir, const char *path, int flags)
{
    size_t len = strlen(dir);
    _cleanup_close_ int base =
        strncmp(path, dir, len) == 0 && path[len] == '/' ? path_open_dir(AT_FDCWD, dir) : -1;

    return base == -1 ? -1 : path_open_beneath(base, path + len + 1, flags);
}

int teller_open_file(const struct host *host, const char *path)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _cleanup_free_ char *part = mem_printf(WORKSPACE_HOME "/%s", host->agent->id);
    _cleanup_free_ char *own = workspace_path(&host->root, host->session.id, part);
    const char *home = env_get(host->env, "HOME");

    int fd = open_below(own, path, flags);
    if (fd != -1)
        return fd;
    if (wall_level_of(&host->config, &host->team, host->agent, host->preset) != WALL_OFF)
        return home != NULL ? open_below(home, path, flags) : -1;
    return str_starts(path, own) ? -1 : open(path, flags | O_NOFOLLOW);
}

/* Returns true if this file says that the session rests, since something was told last. */
static bool says_idle(const struct teller *teller, const char *path)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    if (file_read(AT_FDCWD, path, STATE_MAX, &text, &len, &err) == -1 ||
        json_parse(text, len, STATE_MAX, &json, &err) == -1) /* it may be half written */
        return false;
    return strcmp(json_get_text_or(json, "sessionId", ""), teller->id) == 0 &&
           strcmp(json_get_text_or(json, "status", ""), "idle") == 0 &&
           json_int(json_get(json, "statusUpdatedAt"), 0) > teller->told_ms;
}

int64_t teller_look(struct host *host, int64_t now, bool *ret_rests)
{
    struct teller *teller = host->terminal->teller;

    *ret_rests = false;
    if (!teller->heard || (teller->state != AGENT_WORKING && teller->state != AGENT_WAITING) ||
        host->preset->told.state == NULL)
        return -1;
    if (now < teller->look_at)
        return teller->look_at;
    teller->look_at = now + LOOK_MS;
    _cleanup_strv_ char **files =
        teller_find_files(host, host->preset->told.state, teller->id, teller->told_ms);
    for (char **file = files; file != NULL && *file != NULL && !*ret_rests; file++)
        *ret_rests = says_idle(teller, *file);
    return teller->look_at;
}
