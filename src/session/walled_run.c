/*
 * make_plan() plans the wall as for the agent itself: how strong it is follows from the settings,
 * the rest from the session and from a look at the machine. A plan without a program for the wall
 * means that there is none. Then a check runs through sh, in the environment of this process, and a
 * program that is missing gives the same exit code; behind the wall it has the environment that
 * agents get.
 */

#include "session/walled_run.h"

#include "base/env.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/relay.h"
#include "session/env.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/session.h"
#include "store/workspace.h"
#include "wall/alone.h"

/* A program that is to run behind the wall. */
struct inside {
    const char *program; /* its path */
    char *const *argv;
    char *const *env;
    const char *cwd; /* "": anywhere */
    bool is_approved; /* see wall/plan.h */
};

/* Makes the plan; without a wall it says so. */
static int make_plan(const struct walled_agent *of, const struct inside *inside,
                     struct wall_plan *ret, struct err *err)
{
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(of->root, of->id);
    _cleanup_strv_ char **command = NULL;
    const struct preset *preset = NULL;

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", of->id);
    if (session_load(of->root, dir, of->id, &session, err) == -1 ||
        launch_command(of->config, of->team, of->agent, getenv("SHELL"), &command, &preset, err) ==
            -1)
        return -1;
    ret->report.level = wall_level_of(of->config, of->team, of->agent, preset);
    if (ret->report.level == WALL_OFF)
        return 0;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, err);
    if (enter == NULL)
        return -1;
    wall_probe_look(&probe, getenv("PATH"), enter);
    const struct wall_subject subject = {.root = of->root,
                                         .config = of->config,
                                         .id = of->id,
                                         .mode = session.mode,
                                         .dir = dir,
                                         .team = of->team,
                                         .agent = of->agent,
                                         .preset = preset,
                                         .enter = enter,
                                         .env = inside->env,
                                         .inside_env = inside->env,
                                         .argv = inside->argv,
                                         .program = inside->program,
                                         .is_approved = inside->is_approved};
    return wall_plan_make(&subject, &probe, ret, err);
}

static bool has_wall(const struct wall_plan *plan)
{
    return plan->bwrap != NULL || plan->alone;
}

static int make_command(const struct wall_plan *plan, const struct inside *inside, bool tty,
                        struct wall_command *ret, struct err *err)
{
    return plan->alone ? wall_alone(plan, inside->program, inside->argv, tty, ret, err)
                       : wall_bwrap(plan, inside->argv, inside->cwd, tty, ret, err);
}

/* Runs it behind the wall of the plan with the standard files of this process or, with `tty`, on a
 * terminal of its own that this process passes on. */
static int run_inside(const struct wall_plan *plan, const struct inside *inside, bool tty,
                      int *ret_status, struct err *err)
{
    _cleanup_wall_command_ struct wall_command command = WALL_COMMAND_INIT;
    int fds[3 + PROC_FDS_MAX] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

    if (make_command(plan, inside, tty, &command, err) == -1)
        return -1;
    memcpy(fds + 3, command.fds, command.fd_count * sizeof *fds);
    const struct proc_session spec = {.fds = fds,
                                      .fd_count = 3 + command.fd_count,
                                      .is_deaf = true,
                                      .file = command.program,
                                      .argv = command.argv,
                                      .envp = wall_command_own_env(&command, environ)};
    return tty ? relay_run(&spec, ret_status, err) : proc_run_session(&spec, ret_status, err);
}

int walled_run(const struct walled_agent *of, const char *program, char *const *argv,
               int *ret_status, struct err *err)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_free_ char *cwd = getcwd(NULL, 0);
    const struct inside inside = {.program = program,
                                  .argv = argv,
                                  .env = environ,
                                  .cwd = cwd != NULL ? cwd : "",
                                  .is_approved = true};

    if (make_plan(of, &inside, &plan, err) == -1)
        return -1;
    return has_wall(&plan) ? run_inside(&plan, &inside, false, ret_status, err)
                           : proc_run(program, argv, ret_status, err);
}

int walled_open(const struct walled_agent *of, const struct walled_program *program,
                int *ret_status, struct err *err)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_strv_ char **env = env_handed_on(of->config);
    _cleanup_free_ char *cwd = getcwd(NULL, 0);

    for (size_t i = 0; i < program->own->count; i++)
        env_put(&env, program->own->pairs[i].key, program->own->pairs[i].value);
    env_put(&env, "PWD", cwd != NULL ? cwd : "/");
    char *const *handed = env;
    const struct inside inside = {.program = program->file,
                                  .argv = program->argv,
                                  .env = handed,
                                  .cwd = cwd != NULL ? cwd : ""};
    if (make_plan(of, &inside, &plan, err) == -1)
        return -1;
    if (has_wall(&plan))
        return run_inside(&plan, &inside, program->tty, ret_status, err);
    if (program->ask(program->arg, err) == -1)
        return -1;
    environ = TAKE_PTR(env);
    return proc_run(program->file, program->argv, ret_status, err);
}

int walled_look(const struct walled_agent *of, bool *ret, struct err *err)
{
    static const char *const argv[] = {"sh", NULL};
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    const struct inside inside = {.program = "/bin/sh",
                                  .argv = (char *const *)(uintptr_t)argv,
                                  .env = environ,
                                  .cwd = "",
                                  .is_approved = false};

    if (make_plan(of, &inside, &plan, err) == -1)
        return -1;
    *ret = has_wall(&plan);
    return 0;
}

/* Puts the wall of the plan around the check. */
static int wrap_check(const struct inside *inside, const struct check_program *program,
                      struct walled_check *ret, struct err *err)
{
    int tree = fcntl(program->cwd, F_DUPFD_CLOEXEC, 0);

    if (tree == -1)
        return err_errno(err, "cannot open '%s'", program->tree);
    wall_plan_mount(&ret->plan, WALL_MOUNT_WRITE, program->tree, NULL, tree);
    if (make_command(&ret->plan, inside, false, &ret->command, err) == -1)
        return -1;
    ret->is_walled = true;
    ret->program = ret->command.program;
    ret->argv = ret->command.argv;
    ret->env = wall_command_own_env(&ret->command, ret->own_env);
    return 0;
}

int walled_check_make(const struct walled_agent *of, const struct check_program *program,
                      struct walled_check *ret, struct err *err)
{
    static const char *const places[] = {"MAS_CODE_DIR", "MAS_CODE_BRANCH"};
    static const char *const finds[] = {"sh", "-c", "exec \"$@\"", "sh"}; /* exit code 127, too */
    const char *name = program->argv != NULL && program->argv[0] != NULL ? program->argv[0] : "";

    ret->own_env = env_handed_on(of->config);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        env_put(&ret->own_env, places[i], env_get(program->env, places[i]));
    env_put(&ret->own_env, "PWD", program->tree);
    char *const *env = ret->own_env;
    _cleanup_free_ char *path = path_find_program(name, env_get(env, "PATH"), program->cwd);
    const struct inside inside = {.program = path != NULL && path[0] == '/' ? path : name,
                                  .argv = program->argv,
                                  .env = env,
                                  .cwd = program->tree};
    if (make_plan(of, &inside, &ret->plan, err) == -1)
        return -1;
    if (has_wall(&ret->plan))
        return wrap_check(&inside, program, ret, err);
    if (of->needs_wall)
        return err_set(err, MAS_CONFLICT, "agent '%s' has no wall that could hold the check",
                       of->agent->id);
    if (ret->plan.report.level != WALL_OFF)
        err_warn("[code] check runs without the wall of agent '%s': %s", of->agent->id,
                 ret->plan.report.missing);
    for (size_t i = 0; i < ARRAY_LEN(finds); i++)
        strv_push(&ret->words, finds[i]);
    for (char *const *word = program->argv; word != NULL && *word != NULL; word++)
        strv_push(&ret->words, *word);
    ret->program = "/bin/sh";
    ret->argv = ret->words;
    ret->env = program->env;
    return 0;
}

void walled_check_free(struct walled_check *check)
{
    wall_command_free(&check->command);
    wall_plan_free(&check->plan);
    strv_free(check->words);
    strv_free(check->own_env);
    *check = (struct walled_check)WALLED_CHECK_INIT;
}
