/*
 * The wall is planned first, then the group made: a limit that must be held and is not ends it
 * here. When the time is over, or the check has ended, its supervisor gets ENDS_MS to end the tree.
 * What is left after that is killed twice over, as descendants of this process and as members of
 * the group.
 */

#include "host/check.h"

#include "base/time.h"
#include "host/bounds.h"
#include "host/supervisor.h"
#include "os/loop.h"
#include "os/proc.h"
#include "session/launch.h"
#include "store/workspace.h"

#include <sys/wait.h>

enum { ENDS_MS = 10000 }; /* time for a supervisor to kill its tree */

#define CHECK_GROUP "%s+check" /* no agent has such a name */

/* What holds the check. */
struct held {
    struct host_resources resources;
    char *name; /* of its group */
    bool inherits; /* this process is in the group of the agent */
};

/* Returns true if this process runs in the group of the agent, as what an agent starts does. */
static bool is_in_group(const struct walled_agent *of)
{
    _cleanup_free_ char *own = cgroup_own_path();
    _cleanup_free_ char *group = mem_printf("/" CGROUP_PREFIX "%s/%s/", of->id, of->agent->id);

    return own != NULL && strstr(own, group) != NULL;
}

/* Makes the group. Fails if a limit must be held and is not. */
static int hold(const struct walled_agent *of, const struct walled_check *check, struct held *ret,
                struct err *err)
{
    _cleanup_close_ int dir = workspace_open(of->root, of->id);
    const struct preset *preset = config_agent_preset(of->config, of->team, of->agent);
    struct host_resources *resources = &ret->resources;

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", of->id);
    ret->inherits = is_in_group(of);
    if (ret->inherits)
        return 0;
    ret->name = mem_printf(CHECK_GROUP, of->agent->id);
    resources_read(resources, dir, of->config, of->agent, preset);
    resources_make_group(resources, of->config, of->id, ret->name);
    resources_set_bounds(resources);
    _cleanup_free_ char *lack = resources_lack(resources);
    if (lack == NULL || check->plan.report.level != WALL_REQUIRE)
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot put up the wall of agent '%s': %s", of->agent->id, lack);
    return err_hint(err, "name a cgroup in limits.cgroup, or see: man mas-agents");
}

static void let_go(const struct walled_agent *of, struct held *held)
{
    if (held->name != NULL && held->resources.group.dir != -1)
        (void)cgroup_kill(
            held->resources.group.dir); /* nothing, unless the supervisor was killed */
    if (held->name != NULL)
        resources_drop_group(&held->resources, of->id, held->name);
    free(held->name);
}

static int start(const struct check_program *program, const struct walled_check *check,
                 const struct held *held, struct supervisor *ret, struct err *err)
{
    struct supervisor_spec spec = {.program = check->program,
                                   .cwd = &program->cwd,
                                   .argv = check->argv,
                                   .env = check->env,
                                   .bounds = held->inherits ? NULL : &held->resources.bounds,
                                   .piped = true,
                                   .is_walled = check->is_walled,
                                   .fds = check->command.fds,
                                   .fd_count = check->command.fd_count,
                                   .wall_tells = check->command.tells};

    spec.pipes[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    spec.pipes[1] = fcntl(program->log, F_DUPFD_CLOEXEC, 3);
    spec.pipes[2] = fcntl(program->log, F_DUPFD_CLOEXEC, 3);
    if (spec.pipes[0] != -1 && spec.pipes[1] != -1 && spec.pipes[2] != -1)
        return supervisor_start(&spec, -1, ret, err);
    (void)err_errno(err, "cannot open the files of the check");
    for (size_t i = 0; i < ARRAY_LEN(spec.pipes); i++)
        fd_closep(&spec.pipes[i]);
    return -1;
}

/* Waits until the supervisor has ended. Fails with MAS_TIMEOUT if that took too long. */
static int wait_for(struct supervisor *supervisor, const struct check_program *program,
                    int *ret_status, struct err *err)
{
    int64_t end = time_monotonic_ms() + program->timeout_ms;
    struct supervisor_report report = {.news = SUPERVISOR_NOTHING};
    const char *name = program->argv != NULL ? program->argv[0] : "";
    bool ended = false;
    bool late = false;

    while (report.news != SUPERVISOR_GONE) {
        int64_t left = end - time_monotonic_ms();
        if (left <= 0 && (late || ended))
            break; /* what is left hangs */
        if (left <= 0) {
            late = true;
            end += ENDS_MS;
            supervisor_end(supervisor, (struct supervisor_times){.hangup_ms = 0}, 0);
            continue;
        }
        (void)loop_wait_for(supervisor->fd, POLLIN, (int)left);
        supervisor_read(supervisor, &report);
        if (report.news == SUPERVISOR_FAILED) {
            errno = report.status;
            (void)err_errno(err, "cannot start '%s'", name);
        } else if (report.news == SUPERVISOR_ENDED && !ended) {
            ended = true;
            end = time_monotonic_ms() + ENDS_MS;
            *ret_status = proc_exit_code(report.status);
        }
    }
    fd_closep(&supervisor->fd);
    if (late)
        return err_set(err, MAS_TIMEOUT, "'%s' takes longer than %d ms", name, program->timeout_ms);
    if (err->code != MAS_OK)
        return -1;
    return ended ? 0 : err_set(err, MAS_FAILED, "'%s' was killed with its supervisor", name);
}

int check_run_held(void *arg, const struct check_program *program, int *ret_status, struct err *err)
{
    const struct walled_agent *of = arg;
    _cleanup_walled_check_ struct walled_check check = WALLED_CHECK_INIT;
    struct held held = {.resources = HOST_RESOURCES_INIT};
    struct supervisor supervisor = {.fd = -1};

    if (walled_check_make(of, program, &check, err) == -1)
        return -1;
    proc_adopt_orphans(); /* what a killed supervisor leaves comes to here */
    int rc = hold(of, &check, &held, err);
    if (rc == 0)
        rc = start(program, &check, &held, &supervisor, err);
    if (rc == 0) {
        rc = wait_for(&supervisor, program, ret_status, err);
        supervisor_sweep(NULL, 0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    let_go(of, &held);
    return rc;
}
