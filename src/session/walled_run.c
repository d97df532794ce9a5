#include "session/walled_run.h"

#include "base/env.h"
#include "base/proc.h"
#include "base/str.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/session.h"
#include "store/workspace.h"
#include "wall/alone.h"
#include "wall/bwrap.h"
#include "wall/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Starts what bubblewrap needs, and waits. */
static int run(const struct wall_plan *plan, const char *program, char *const *argv,
               int *ret_status, struct err *err)
{
    _cleanup_wall_command_ struct wall_command command = WALL_COMMAND_INIT;
    _cleanup_free_ char *cwd = getcwd(NULL, 0);
    int fds[3 + PROC_FDS_MAX] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

    int rc = plan->alone ? wall_alone(plan, program, argv, false, &command, err)
                         : wall_bwrap(plan, argv, cwd != NULL ? cwd : "", false, &command, err);
    if (rc == -1)
        return -1;
    memcpy(fds + 3, command.fds, command.fd_count * sizeof *fds);
    struct proc_session spec = {.fds = fds,
                                .fd_count = 3 + command.fd_count,
                                .is_deaf = true,
                                .file = command.program,
                                .argv = command.argv,
                                .envp = plan->env};
    return proc_run_session(&spec, ret_status, err);
}

int walled_run(const struct root *root, const struct config *config, const char *id,
               const struct team *team, const struct agent *agent, const char *program,
               char *const *argv, int *ret_status, struct err *err)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(root, id);
    _cleanup_strv_ char **command = NULL;
    const struct preset *preset = NULL;

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (session_load(root, dir, id, &session, err) == -1 ||
        launch_command(config, team, agent, getenv("SHELL"), &command, &preset, err) == -1)
        return -1;
    if (wall_level_of(config, team, agent, preset) == WALL_OFF)
        return proc_run(program, argv, ret_status, err);
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, err);
    if (enter == NULL)
        return -1;
    wall_probe_look(&probe, getenv("PATH"), enter);
    const struct wall_subject subject = {.root = root,
                                         .config = config,
                                         .id = id,
                                         .mode = session.mode,
                                         .dir = dir,
                                         .team = team,
                                         .agent = agent,
                                         .preset = preset,
                                         .enter = enter,
                                         .env = environ,
                                         .argv = argv,
                                         .program = program};
    if (wall_plan_make(&subject, &probe, &plan, err) == -1)
        return -1;
    return plan.bwrap != NULL || plan.alone ? run(&plan, program, argv, ret_status, err)
                                            : proc_run(program, argv, ret_status, err);
}
