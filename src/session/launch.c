/*
 * Three things: which command and preset an agent has, whether it could start (its program,
 * variables, wall and limits), and run/env. The looks at what the machine can hold of walls begin
 * early and are awaited late, so that other work is done meanwhile. A host marks that it has read
 * by a single byte, under the lock of the file; a file that is gone when the lock comes means that
 * the team was given up.
 */

#include "session/launch.h"

#include "os/file.h"
#include "os/path.h"
#include "session/env.h"
#include "session/helper.h"
#include "store/reserve.h"
#include "store/workspace.h"
#include "wall/cgroup.h"
#include "wall/plan.h"
#include "wall/scope.h"
#include "wall/secrets.h"

#include <pwd.h>
#include <sys/file.h>

static const char magic[] = "MASENV3\n";
static const char with_prompts[] = "prompts\n";
static const char without_prompts[] = "-\n";

enum start launch_start(const struct config *config, const struct team *team,
                        const struct agent *agent)
{
    const struct preset *preset = config_agent_preset(config, team, agent);

    if (agent->start != START_UNSET)
        return agent->start;
    return preset != NULL ? preset->start : START_NOW;
}

int launch_hibernate_ms(const struct agent *agent, const struct preset *preset)
{
    int ms = preset->hibernate_ms;

    if (agent->hibernate[0] != '\0')
        (void)VALUE_PARSE(&hibernate_type, agent->hibernate, &ms);
    return ms;
}

static const char *user_shell(const char *shell)
{
    if (shell != NULL && shell[0] == '/')
        return shell;
    const struct passwd *pw = getpwuid(geteuid());
    return pw != NULL && pw->pw_shell[0] == '/' ? pw->pw_shell : "/bin/sh";
}

int launch_command(const struct config *config, const struct team *team, const struct agent *agent,
                   const char *shell, char ***ret_argv, const struct preset **ret_preset,
                   struct err *err)
{
    _cleanup_strv_ char **argv = NULL;
    const char *name = config_agent_preset_name(config, team, agent);
    const struct preset *preset = config_preset(config, name);

    if (preset == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot start agent '%s': there is no preset '%s'",
                      agent->id, name);
        (void)config_hint_presets(config, err);
        return -1;
    }
    const char *command = agent->command[0] != '\0' ? agent->command : preset->command;
    if (str_split_words(command, &argv, err) == -1)
        return err_wrap(err, "cannot start agent '%s': its command", agent->id);
    if (strv_len(argv) == 0)
        strv_push(&argv, user_shell(shell));
    if (agent->model[0] != '\0' && preset->model_option[0] != '\0') {
        strv_push(&argv, preset->model_option);
        strv_push(&argv, agent->model);
    }
    *ret_argv = argv;
    *ret_preset = preset;
    argv = NULL;
    return 0;
}

int launch_accounts(const struct config *config, const struct agent *agent,
                    const struct preset *preset, const struct account *ret[ACCOUNTS_EACH_MAX],
                    size_t *ret_count, struct err *err)
{
    const char *names = agent->accounts[0] != '\0' ? agent->accounts : preset->accounts;

    return accounts_find(&config->accounts, names, ret, ret_count, err) == -1
               ? err_wrap(err, "cannot start agent '%s'", agent->id)
               : 0;
}

bool launch_is_operator(const struct agent *agent, const struct preset *preset)
{
    if (preset->protocol == PROTOCOL_ACP)
        return false;
    if (preset->is_operator != SAID_UNSET)
        return preset->is_operator == SAID_YES;
    return agent->command[0] == '\0' && preset->command[0] == '\0';
}

static int check_program(const struct agent *agent, const struct preset *preset,
                         const char *program, char *const *env, struct err *err)
{
    const char *search = kv_get(&preset->env, "PATH");
    _cleanup_free_ char *path =
        path_find_program(program, search != NULL ? search : env_get(env, "PATH"), AT_FDCWD);

    /* a relative path is in the agent's own directory, which is only known there */
    if (path != NULL || (program[0] != '/' && strchr(program, '/') != NULL))
        return 0;
    (void)err_set(err, MAS_FAILED,
                  "cannot start agent '%s': preset '%s' needs the program '%s', which is missing",
                  agent->id, preset->name, program);
    if (preset->install[0] != '\0')
        return err_hint(err, "install it with: %s", preset->install);
    return err_hint(err, "install it, or choose another preset with --agent");
}

/* `account` NULL: none. */
static int check_variables(const struct agent *agent, const struct preset *preset,
                           const struct account *account, char *const *env, struct err *err)
{
    for (char **name = preset->needs_env; name != NULL && *name != NULL; name++) {
        const char *value = account != NULL ? kv_get(&account->env, *name) : NULL;
        if (value == NULL)
            value = kv_get(&preset->env, *name);
        if (value == NULL)
            value = env_get(env, *name);
        if (value != NULL && value[0] != '\0')
            continue;
        (void)err_set(
            err, MAS_FAILED,
            "cannot start agent '%s': preset '%s' needs the variable %s, which is not set",
            agent->id, preset->name, *name);
        if (account != NULL)
            return err_hint(err, "set it in mas.ini: [account %s] env.%s = ...", account->name,
                            *name);
        return err_hint(err, "set it in the environment of mas, or in mas.ini: [env] set.%s = ...",
                        *name);
    }
    return 0;
}

/* Checks the wall of an agent, or only begins to look what the machine can hold. */
static int check_wall(const struct config *config, const struct team *team,
                      const struct agent *agent, char *const *env, bool waits,
                      struct wall_probe *probe, struct err *err)
{
    const struct preset *preset = config_agent_preset(config, team, agent);
    enum wall_level level = preset != NULL ? wall_level_of(config, team, agent, preset) : WALL_OFF;

    if (level == WALL_OFF)
        return 0;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, err);
    if (enter == NULL)
        return -1;
    (waits ? wall_probe_look : wall_probe_begin)(probe, env_get(env, "PATH"), enter);
    if (!waits || level != WALL_REQUIRE)
        return 0;
    return wall_probe_check(probe, agent->id, err) == 0
               ? wall_network_check(config, agent, preset, enter, env, err)
               : -1;
}

static int check_agent(const struct config *config, const struct team *team,
                       const struct agent *agent, char *const *env, struct wall_probe *probe,
                       struct err *err)
{
    const struct preset *preset = NULL;
    const struct account *accounts[ACCOUNTS_EACH_MAX] = {NULL};
    _cleanup_strv_ char **argv = NULL;
    size_t count = 0;

    if (launch_command(config, team, agent, env_get(env, "SHELL"), &argv, &preset, err) == -1 ||
        check_program(agent, preset, argv[0], env, err) == -1 ||
        launch_accounts(config, agent, preset, accounts, &count, err) == -1)
        return -1;
    for (size_t i = 0; i < count || i == 0; i++)
        if (check_variables(agent, preset, accounts[i], env, err) == -1)
            return -1;
    return check_wall(config, team, agent, env, false, probe, err);
}

int launch_check_agent(const struct config *config, const struct team *team,
                       const struct agent *agent, struct err *err)
{
    _cleanup_strv_ char **env = env_handed_on(config);
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;

    return check_agent(config, team, agent, env, &probe, err) == -1
               ? -1
               : check_wall(config, team, agent, env, true, &probe, err);
}

int launch_check_begin(const struct config *config, const struct team *team, const bool *wanted,
                       struct wall_probe *probe, struct err *err)
{
    _cleanup_strv_ char **env = env_handed_on(config);

    for (size_t i = 0; i < team->agent_count; i++)
        if ((wanted == NULL || wanted[i]) &&
            check_agent(config, team, &team->agents[i], env, probe, err) == -1)
            return -1;
    return 0;
}

int launch_check_walls(const struct config *config, const struct team *team, const bool *wanted,
                       struct wall_probe *probe, struct err *err)
{
    _cleanup_strv_ char **env = env_handed_on(config);

    for (size_t i = 0; i < team->agent_count; i++)
        if ((wanted == NULL || wanted[i]) &&
            check_wall(config, team, &team->agents[i], env, true, probe, err) == -1)
            return -1;
    return 0;
}

int launch_check_limits(const struct config *config, const struct team *team, const bool *wanted,
                        const struct session_limits *limits, struct err *err)
{
    const char *setting = config_text(config, SETTING_LIMIT_CGROUP);
    struct err why = ERR_INIT;

    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        const struct preset *preset = config_agent_preset(config, team, agent);
        if ((wanted != NULL && !wanted[i]) || preset == NULL ||
            wall_level_of(config, team, agent, preset) != WALL_REQUIRE)
            continue;
        const struct limits_held held = session_limits_hold(limits, config, agent, preset);
        const struct cgroup_limits asked = cgroup_limits_of(&held);
        const unsigned lacks = scope_foresee(setting, cgroup_asked(&asked), &why);
        if (lacks != 0) {
            (void)err_set(err, MAS_FAILED, "cannot put up the wall of agent '%s': limits.%s: %s",
                          agent->id, cgroup_limit_name(lacks), why.text);
            return err_hint(err, CGROUP_CURE);
        }
    }
    return 0;
}

int launch_check(const struct config *config, const struct team *team, const bool *wanted,
                 struct err *err)
{
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;

    return launch_check_begin(config, team, wanted, &probe, err) == -1
               ? -1
               : launch_check_walls(config, team, wanted, &probe, err);
}

uint64_t launch_memory(const struct config *config, const struct team *team, bool prompts)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        const struct preset *preset = config_agent_preset(config, team, agent);
        if (preset != NULL && (launch_start(config, team, agent) == START_NOW ||
                               (prompts && agent->prompt[0] != '\0')))
            sum += preset->memory;
    }
    return sum;
}

/* Writes the file, and keeps it open and locked. */
static int write_locked(int dir, const struct str *text, int *ret_fd, struct err *err)
{
    launch_drop_env(dir);
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    if (run == -1)
        return err_errno(err, "cannot open '%s'", WORKSPACE_RUN);
    _cleanup_close_ int fd =
        openat(run, WORKSPACE_ENV, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1 || fchmod(fd, 0600) == -1 || flock(fd, LOCK_EX) == -1 ||
        file_write_all(fd, text->data, text->len) == -1) {
        (void)err_errno(err, "cannot write '%s/%s'", WORKSPACE_RUN, WORKSPACE_ENV);
        launch_drop_env(dir);
        return -1;
    }
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int launch_write_env(int dir, const struct launch_env *options, int *ret_fd, struct err *err)
{
    _cleanup_strv_ char **env = env_handed_on(options->config);
    _cleanup_str_ struct str text = STR_INIT;
    struct err why = ERR_INIT;

    str_addf(&text, "%s%s", magic, options->prompts ? with_prompts : without_prompts);
    if (options->probe != NULL)
        wall_probe_format(options->probe, &text);
    if (options->probe != NULL && options->probe->bwrap != NULL && geteuid() == 0 &&
        options->team->agent_count > 1)
        wall_secrets_format(&text);
    str_addc(&text, '\n');
    for (size_t i = 0; i < options->team->agent_count; i++)
        str_addc(&text, options->wanted == NULL || options->wanted[i] ? '.' : 'x');
    str_addc(&text, '\n');
    for (char **e = env; *e != NULL; e++)
        str_addn(&text, *e, strlen(*e) + 1);
    if (text.len > ENV_FILE_MAX)
        return err_set(err, MAS_FAILED, "cannot start the team: its environment is too large");
    if (write_locked(dir, &text, ret_fd, &why) == 0 ||
        (reserve_give(dir, RESERVE_RECORD, &why) && write_locked(dir, &text, ret_fd, &why) == 0))
        return 0;
    *err = why;
    return -1;
}

void launch_drop_env(int dir)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    if (run != -1)
        (void)unlinkat(run, WORKSPACE_ENV, 0);
}

/* Opens and locks the file. Returns -1 with errno: ENOENT if it is missing, ESTALE if it was
 * removed while this process waited for the lock. */
static int open_locked(int run)
{
    struct stat st;
    int fd = openat(run, WORKSPACE_ENV, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1)
        return -1;
    while (flock(fd, LOCK_EX) == -1 && errno == EINTR)
        ;
    bool is_good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (is_good && st.st_nlink == 1)
        return fd;
    close(fd);
    errno = is_good && st.st_nlink > 1 ? EMLINK : ESTALE;
    return -1;
}

/* Splits the entries after the marks into a vector. */
static char **split_entries(const char *at, const char *end)
{
    char **env = NULL;
    size_t count = 0;
    for (const char *p = at; p < end; p += strlen(p) + 1)
        count++;
    env = mem_alloc((count + 1) * sizeof *env);
    count = 0;
    for (const char *p = at; p < end; p += strlen(p) + 1)
        env[count++] = mem_dup(p);
    return env;
}

/* Finds the marks, and reads the lines before them; NULL if the text is not such a file. */
static char *find_marks(char *text, size_t len, size_t *ret_count, struct launch_received *ret)
{
    if (len < strlen(magic) || memcmp(text, magic, strlen(magic)) != 0)
        return NULL;
    char *flag = text + strlen(magic); /* file_read() adds a NUL */
    ret->prompts = str_starts(flag, with_prompts);
    if (!ret->prompts && !str_starts(flag, without_prompts))
        return NULL;
    char *machine = flag + strlen(ret->prompts ? with_prompts : without_prompts);
    char *end = strchr(machine, '\n');
    if (end == NULL)
        return NULL;
    char *marks = end + 1;
    size_t count = strspn(marks, ".x");
    if (marks[count] != '\n')
        return NULL;
    _cleanup_free_ char *line = mem_dupn(machine, (size_t)(end - machine));
    (void)wall_probe_parse(line, &ret->probe);
    *ret_count = count;
    return marks;
}

int launch_receive_env(int dir, size_t index, struct launch_received *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_launch_received_ struct launch_received received = LAUNCH_RECEIVED_INIT;
    size_t len = 0;
    size_t count = 0;

    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    if (run == -1)
        return err_errno(err, "cannot open '%s'", WORKSPACE_RUN);
    _cleanup_close_ int fd = open_locked(run);
    if (fd == -1 && errno == ENOENT)
        return 0;
    if (fd == -1 && errno == ESTALE)
        return err_set(err, MAS_CONFLICT, "cannot start: the start of the team was cancelled");
    if (fd == -1)
        return err_errno(err, "cannot read '%s/%s'", WORKSPACE_RUN, WORKSPACE_ENV);
    if (file_read(run, WORKSPACE_ENV, ENV_FILE_MAX, &text, &len, err) == -1)
        return -1;
    char *marks = find_marks(text, len, &count, &received);
    if (marks == NULL || index >= count)
        return err_set(err, MAS_DAMAGED, "cannot start: its %s/%s is damaged", WORKSPACE_RUN,
                       WORKSPACE_ENV);
    received.env = split_entries(marks + count + 1, text + len);
    received.prompts = received.prompts && marks[index] == '.';
    marks[index] = 'x';
    if (memchr(marks, '.', count) == NULL)
        launch_drop_env(dir);
    else
        (void)!pwrite(fd, "x", 1, marks + index - text);
    *ret = received;
    received = (struct launch_received)LAUNCH_RECEIVED_INIT;
    return 0;
}

void launch_received_free(struct launch_received *received)
{
    strv_free(received->env);
    wall_probe_free(&received->probe);
}
