/*
 * What a host needs before its loop: the team; lock and socket, for which it waits until the
 * previous host is gone; the environment of the caller, with what mas and the preset add; the
 * agent's directory; the command. A directory that is still to be copied is made before the agent's
 * first start. At the end, start_release() removes the socket first and the lock after it.
 */

#include "base/id.h"
#include "client/hosts.h"
#include "code/repo.h"
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"
#include "model/env_name.h"
#include "os/file.h"
#include "os/path.h"
#include "session/env.h"
#include "session/launch.h"
#include "session/places.h"
#include "store/placement.h"
#include "store/ports.h"
#include "store/reserve.h"
#include "store/snapshot.h"
#include "store/team_file.h"
#include "store/workspace.h"
#include "wall/plan.h"

enum { LOCK_MARGIN_MS = 1000 };

/* Returns the caller's variables and, over them, the pane's own. Without a caller, returns the
 * environment. */
static char **merge(char *const *callers)
{
    char **env = NULL;

    for (char *const *e = callers; e != NULL && *e != NULL; e++)
        if (!env_belongs_to_pane(*e))
            strv_push(&env, *e);
    for (char **e = environ; *e != NULL; e++)
        if (callers == NULL || env_belongs_to_pane(*e))
            strv_push(&env, *e);
    return env;
}

/* Puts the directory of this program on PATH, unless PATH finds it already. So agents can call
 * `mas` by name if it was started by path. */
static void put_on_path(char ***env)
{
    const char *path = env_get(*env, "PATH");
    _cleanup_free_ char *dir = path_exe_dir();
    _cleanup_free_ char *exe = path_exe();
    _cleanup_free_ char *found = path_find_program("mas", path, AT_FDCWD);
    _cleanup_free_ char *real = found != NULL ? path_canonical(found) : NULL;

    if (dir == NULL || (real != NULL && exe != NULL && strcmp(real, exe) == 0))
        return;
    _cleanup_free_ char *longer = mem_printf("%s:%s", dir, path != NULL ? path : "/usr/bin:/bin");
    env_put(env, "PATH", longer);
}

static int load(struct host *host, const char *id, const char *agent_id, struct err *err)
{
    const char *root = getenv("MAS_ROOT");

    if (root == NULL || !id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot start an agent: 'mas host' is only for mas itself");
    if (root_open(root, &host->root, err) == -1 ||
        config_load(&host->root, true, &host->config, NULL, err) == -1)
        return -1;
    host->dir = workspace_open(&host->root, id);
    if (host->dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (session_load(&host->root, host->dir, id, &host->session, err) == -1 ||
        team_file_load(host->dir, &host->team, err) == -1)
        return -1;
    host_team_note(host);
    host->agent = team_agent(&host->team, agent_id);
    return host->agent != NULL
               ? 0
               : err_set(err, MAS_NOT_FOUND, "cannot start agent '%s': the team has no such agent",
                         agent_id);
}

/* Takes lock and socket. This comes before the environment is read, so that every host of the team
 * answers once run/env is gone. */
static int acquire_place(struct host *host, struct err *err)
{
    const char *id = host->agent->id;
    _cleanup_free_ char *name = mem_printf("%s" WORKSPACE_HOST_LOCK, id);

    /* the previous host may be ending its agent */
    int wait_ms = config_number(&host->config, SETTING_HANGUP) +
                  config_number(&host->config, SETTING_TERMINATE) + LOCK_MARGIN_MS;

    host->run = path_open_dir(host->dir, WORKSPACE_RUN);
    if (host->run == -1)
        return err_errno(err, "cannot open '%s'", WORKSPACE_RUN);
    if (file_lock(host->run, name, wait_ms, "host", &host->lock, err) == -1)
        return err_wrap(err, "cannot lock agent '%s'", id);
    return server_open(host, err);
}

/* Tells the agent where its part of the project is. */
static void add_code_env(const struct host *host, struct kv *to)
{
    _cleanup_repo_ struct repo repo = REPO_INIT;

    if (host->team.project.path == NULL)
        return;
    repo_of(&host->root, host->session.id, host->team.project.label, &repo);
    repo_env(&repo, &host->team, host->agent, to);
}

/* Tells the agent its own ports, as text and as what the host tells others. Without a place for the
 * record, or a free port, it starts without. */
static void add_port(struct host *host)
{
    struct err why = ERR_INIT;
    char text[16];

    if (ports_take(&host->root, host->session.id, &host->team, host->agent, &host->port, &why) ==
        -1) {
        workspace_log(host->dir, config_log_limits(&host->config), "%s", why.text);
        env_drop(host->env, "MAS_PORT");
        return;
    }
    (void)snprintf(text, sizeof text, "%d", host->port);
    env_put(&host->env, "MAS_PORT", text);
}

/* What the agent says of a time is meant in its zone, and so is what this host says of one: tmux
 * has given it no TZ. */
static void take_zone(const struct host *host)
{
    const char *zone = env_get(host->env, "TZ");

    if (zone != NULL)
        (void)setenv("TZ", zone, 1);
    tzset();
}

static int receive_environment(struct host *host, bool *ret_prompts, struct err *err)
{
    _cleanup_launch_received_ struct launch_received received = LAUNCH_RECEIVED_INIT;
    _cleanup_kv_ struct kv own = {.count = 0};
    size_t index = (size_t)(host->agent - host->team.agents);

    if (launch_receive_env(host->dir, index, &received, err) == -1)
        return -1;
    *ret_prompts = received.prompts;
    host->wall.probe = received.probe;
    received.probe = (struct wall_probe)WALL_PROBE_INIT;
    host->wall.probe.cache = host->root.sessions;
    host->env = merge(received.env);
    session_env(&host->root, &host->session, &own);
    add_code_env(host, &own);
    for (size_t i = 0; i < own.count; i++)
        env_put(&host->env, own.pairs[i].key, own.pairs[i].value);
    env_put(&host->env, "MAS_AGENT_ID", host->agent->id);
    env_put(&host->env, "MAS_AGENT_ROLE", host->agent->role);
    add_port(host);
    take_zone(host);
    return 0;
}

static int enter(struct host *host, const char *part, struct err *err)
{
    _cleanup_free_ char *path =
        placement_path(&host->root, host->session.id, host->session.mode, part);
    _cleanup_close_ int dir = placement_open(&host->root, host->dir, host->session.mode, part);

    if (dir == -1 || fchdir(dir) == -1)
        return err_errno(err, "cannot enter '%s'", path);
    env_put(&host->env, "PWD", path);
    return 0;
}

/* Enters the agent's directory, where its process starts and which tmux shows. A directory that is
 * made later is entered then. */
static int enter_unit(struct host *host, struct err *err)
{
    _cleanup_free_ char *part = mem_printf("%s/%s", WORKSPACE_UNIT, host->agent->id);

    host->unit_waits =
        snapshot_is_held(host->dir) && faccessat(host->dir, part, F_OK, AT_SYMLINK_NOFOLLOW) == -1;
    return enter(host, host->unit_waits ? WORKSPACE_UNIT : part, err);
}

/* Enters the agent's work tree if it starts there. */
static int enter_code(struct host *host, struct err *err)
{
    const char *name = repo_dir_of(&host->team, host->agent);

    if (places_half_reset(host->dir, host->agent->id)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot start agent '%s': a reset of its work tree was interrupted",
                      host->agent->id);
        return err_hint(err, "finish it with: mas reset %s %s",
                        session_label(&host->root, host->session.id).text, host->agent->id);
    }
    if (name == NULL || !agent_starts_in_code(host->agent))
        return 0;
    _cleanup_free_ char *part = mem_printf(CODE_DIR "/%s", name);
    _cleanup_free_ char *path = workspace_path(&host->root, host->session.id, part);
    _cleanup_close_ int dir = path_open_beneath(host->dir, part, PATH_PLACE);
    if (dir == -1 || fchdir(dir) == -1)
        return err_errno(err, "cannot enter '%s'", path);
    env_put(&host->env, "PWD", path);
    return 0;
}

/* Returns true if a SIGHUP or SIGTERM waits for the loop, which ends the copy of a directory. */
static bool has_to_go(uint64_t files, uint64_t bytes, void *arg)
{
    sigset_t set;

    (void)files;
    (void)bytes;
    (void)arg;
    return sigpending(&set) == 0 && (sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGTERM));
}

int start_make_unit(struct host *host, struct err *err)
{
    const struct snapshot_way way = {
        .link = config_links(&host->config),
        .tick = has_to_go,
    };

    if (!host->unit_waits)
        return 0;
    _cleanup_free_ char *part = mem_printf("%s/%s", WORKSPACE_UNIT, host->agent->id);
    if (snapshot_make_unit(&host->root, host->dir, &host->team, host->agent->id, &way, err) == -1 ||
        enter(host, part, err) == -1 || enter_code(host, err) == -1)
        return -1;
    host->unit_waits = false;
    return 0;
}

int start_prepare(struct host *host, const char *id, const char *agent_id, struct err *err)
{
    bool prompts = false;

    if (load(host, id, agent_id, err) == -1 || acquire_place(host, err) == -1 ||
        receive_environment(host, &prompts, err) == -1 || enter_unit(host, err) == -1 ||
        enter_code(host, err) == -1 ||
        launch_command(&host->config, &host->team, host->agent, env_get(host->env, "SHELL"),
                       &host->argv, &host->preset, err) == -1 ||
        launch_accounts(&host->config, host->agent, host->preset, host->accounts.of,
                        &host->accounts.count, err) == -1)
        return -1;
    host->hibernate_ms = launch_hibernate_ms(host->agent, host->preset);
    host->wall.report.level = wall_level_of(&host->config, &host->team, host->agent, host->preset);
    host->is_operator =
        launch_is_operator(host->agent, host->preset) && host->wall.report.level == WALL_OFF;
    for (size_t i = 0; i < host->preset->env.count; i++)
        env_put(&host->env, host->preset->env.pairs[i].key, host->preset->env.pairs[i].value);
    put_on_path(&host->env); /* after the preset's variables, which may set PATH */
    host->prompts = prompts && host->agent->prompt[0] != '\0';
    host->backend = host->preset->protocol == PROTOCOL_ACP ? &backend_acp : &backend_terminal;
    return broker_open(host, err);
}

void start_release(struct host *host)
{
    if (host->run != -1 && host->agent != NULL && host->lock != -1) {
        _cleanup_free_ char *sock = mem_printf("%s" WORKSPACE_HOST_SOCKET, host->agent->id);
        _cleanup_free_ char *lock = mem_printf("%s" WORKSPACE_HOST_LOCK, host->agent->id);
        _cleanup_free_ char *own = mem_printf("%s" WORKSPACE_HOST_AGENT, host->agent->id);
        role_drop(host);
        (void)unlinkat(host->run, sock, 0);
        (void)unlinkat(host->run, own, 0);
        (void)unlinkat(host->run, lock, 0);
        _cleanup_strv_ char **others = hosts_list(host->run, WORKSPACE_HOST_LOCK);
        if (strv_len(others) == 0 && !workspace_is_locked(host->dir))
            reserve_drop(host->dir); /* else `mas stop` needs it, and drops it then */
    }
    fd_closep(&host->lock);
    fd_closep(&host->run);
    fd_closep(&host->dir);
    root_close(&host->root);
    config_free(&host->config);
    session_free(&host->session);
    host_team_free(host);
    team_free(&host->team);
    strv_free(host->env);
    strv_free(host->argv);
    wall_probe_free(&host->wall.probe);
    wall_shared_free(&host->wall.shared);
}
