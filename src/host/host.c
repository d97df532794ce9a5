#include "host/host.h"

#include "base/file.h"
#include "base/id.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "core/config.h"
#include "core/launch.h"
#include "core/root.h"
#include "core/session.h"
#include "core/workspace.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* These say something about the terminal that the agent is in, not about who started it. */
static bool belongs_to_pane(const char *entry)
{
    static const char *const names[] = {
        "TERM=", "TMUX=",         "TMUX_PANE=", "COLUMNS=",       "LINES=", "PWD=",
        "MAS_",  "SESSION_NAME=", "UNIT_DIR=",  "WORKFLOWS_DIR=", "OLDPWD="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(entry, names[i]))
            return true;
    return false;
}

/* Replaces or adds one variable of a NULL-terminated environment. */
static void set_variable(char ***env, const char *key, const char *value)
{
    _cleanup_free_ char *entry = mem_printf("%s=%s", key, value);
    size_t len = strlen(key) + 1;

    for (char **e = *env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, entry, len) != 0)
            continue;
        free(*e);
        *e = mem_dup(entry);
        return;
    }
    strv_push(env, entry);
}

static const char *get_variable(char *const *env, const char *key)
{
    size_t len = strlen(key);
    for (; env != NULL && *env != NULL; env++)
        if (strncmp(*env, key, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

/* The caller's variables, over them the pane's own. */
static char **merge(char *const *callers)
{
    char **env = NULL;

    for (char *const *e = callers; e != NULL && *e != NULL; e++)
        if (!belongs_to_pane(*e))
            strv_push(&env, *e);
    for (char **e = environ; *e != NULL; e++)
        if (callers == NULL || belongs_to_pane(*e))
            strv_push(&env, *e);
    return env;
}

/* `mas` can be called from inside by name, also when it was started by path. */
static void put_on_path(char ***env)
{
    const char *path = get_variable(*env, "PATH");
    _cleanup_free_ char *dir = path_exe_dir();
    _cleanup_free_ char *exe = path_exe();
    _cleanup_free_ char *found = path_find_program("mas", path, AT_FDCWD);
    _cleanup_free_ char *real = found != NULL ? path_canonical(found) : NULL;

    if (dir == NULL || (real != NULL && exe != NULL && strcmp(real, exe) == 0))
        return;
    _cleanup_free_ char *longer = mem_printf("%s:%s", dir, path != NULL ? path : "/usr/bin:/bin");
    set_variable(env, "PATH", longer);
}

/* The pane's title, by the escape sequence that every program uses for it (OSC 2). */
static void set_title(const struct agent *agent)
{
    _cleanup_free_ char *title = mem_printf("\033]2;%s %s\033\\", agent->id, agent->role);
    (void)file_write_all(STDOUT_FILENO, title, strlen(title));
}

static int find_index(const struct team *team, const char *id, size_t *ret, struct err *err)
{
    const struct agent *agent = team_agent(team, id);
    if (agent == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot start agent '%s': the team has none", id);
    *ret = (size_t)(agent - team->agents);
    return 0;
}

/* Everything a host works with; released as a whole. */
struct host {
    struct root root;
    struct config config;
    struct session session;
    struct team team;
    int dir;
    char **env;
};

static void host_free(struct host *host)
{
    if (host->dir != -1)
        (void)close(host->dir);
    root_close(&host->root);
    config_free(&host->config);
    session_free(&host->session);
    team_free(&host->team);
    strv_free(host->env);
}
#define _cleanup_host_ __attribute__((cleanup(host_free)))

static int load(struct host *host, const char *id, struct err *err)
{
    const char *root = getenv("MAS_ROOT");

    if (root == NULL || !id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot start an agent: 'mas host' is for mas itself");
    if (root_open(root, &host->root, err) == -1 ||
        config_load(&host->root, true, &host->config, err) == -1)
        return -1;
    host->dir = workspace_open(&host->root, id);
    if (host->dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    return session_load(&host->root, host->dir, id, &host->session, err) == -1 ||
                   workspace_load_team(host->dir, &host->team, err) == -1
               ? -1
               : 0;
}

static int prepare(struct host *host, size_t index, struct err *err)
{
    const struct agent *agent = &host->team.agents[index];
    _cleanup_strv_ char **callers = NULL;
    struct kv own = {.count = 0};

    if (launch_take_env(host->dir, index, &callers, err) == -1)
        return -1;
    host->env = merge(callers);
    session_env(&host->root, &host->session, &own);
    for (size_t i = 0; i < own.count; i++)
        set_variable(&host->env, own.pairs[i].key, own.pairs[i].value);
    kv_free(&own);
    set_variable(&host->env, "MAS_AGENT_ID", agent->id);
    set_variable(&host->env, "MAS_AGENT_ROLE", agent->role);

    _cleanup_free_ char *part = mem_printf("%s/%s", WORKSPACE_UNIT, agent->id);
    _cleanup_free_ char *path = workspace_path(&host->root, host->session.id, part);
    _cleanup_close_ int unit = path_open_beneath(host->dir, part, O_PATH | O_DIRECTORY);
    if (unit == -1 || fchdir(unit) == -1)
        return err_errno(err, "cannot enter '%s'", path);
    set_variable(&host->env, "PWD", path);
    return 0;
}

void host_flush_terminal(void)
{
    enum { ANSWER_MS = 1000 };
    static const char request[] = "\033[5n";
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct termios was;
    char answer[16];

    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 ||
        tcgetattr(STDIN_FILENO, &was) == -1)
        return;
    struct termios raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 &&
        file_write_all(STDOUT_FILENO, request, strlen(request)) == 0 &&
        poll(&in, 1, ANSWER_MS) == 1)
        (void)!read(STDIN_FILENO, answer, sizeof answer);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

int host_run(const char *id, const char *agent_id, struct err *err)
{
    _cleanup_host_ struct host host = {.root = ROOT_INIT, .dir = -1};
    _cleanup_strv_ char **argv = NULL;
    const struct preset *preset = NULL;
    size_t index = 0;

    if (load(&host, id, err) == -1 || find_index(&host.team, agent_id, &index, err) == -1 ||
        prepare(&host, index, err) == -1)
        return -1;
    const struct agent *agent = &host.team.agents[index];
    if (launch_command(&host.config, &host.team, agent, get_variable(host.env, "SHELL"), &argv,
                       &preset, err) == -1)
        return -1;
    for (size_t i = 0; i < preset->env.count; i++)
        set_variable(&host.env, preset->env.pairs[i].key, preset->env.pairs[i].value);
    put_on_path(&host.env); /* behind the preset's variables, which may set PATH */
    _cleanup_free_ char *program =
        path_find_program(argv[0], get_variable(host.env, "PATH"), AT_FDCWD);
    if (program == NULL)
        return err_set(err, MAS_FAILED, "cannot start agent '%s': there is no program '%s'",
                       agent->id, argv[0]);
    set_title(agent);
    return proc_exec(program, argv, host.env, err);
}
