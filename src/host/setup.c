/*
 * A child process, `mas setup`, runs the setup and records what it has made, because the host never
 * waits. It has a supervisor of its own, as an agent has, so nothing of it outlives a stop or this
 * host. The agent starts when the whole tree of the setup has ended well; after a failure it does
 * not.
 */

#include "code/setup.h"
#include "base/time.h"
#include "host/backend.h"
#include "host/state.h"
#include "os/path.h"
#include "store/workspace.h"

#define SETUP_LOG "setup-%s.log" /* in logs/ */

enum { READ_SIZE = 64 * 1024, READS = 16 }; /* bytes of one read, and reads in a turn of the loop */

/* Tells in the pane, once, why the agent starts without the setup. */
static void tell(struct host *host, enum setup_state state)
{
    struct session_label label = session_label(&host->root, host->session.id);
    _cleanup_free_ char *words = NULL;

    if (host->setup.told)
        return;
    if (state == SETUP_WAITS)
        words = mem_printf("the project's " SETUP_SCRIPT
                           " has not run here: allow it with 'mas set %s setup=yes'",
                           label.text);
    else if (state == SETUP_CHANGED)
        words = mem_dup("the project's " SETUP_SCRIPT
                        " has not run here: it is not the one that was allowed");
    if (words == NULL)
        return;
    host->setup.told = true;
    host_log(host, words);
    host->backend->say(host, words);
}

static int launch(struct host *host, struct supervisor_times times, int64_t now,
                  const struct repo *repo, struct err *err)
{
    struct host_setup *setup = &host->setup;
    _cleanup_free_ char *name = mem_printf(SETUP_LOG, host->agent->id);
    _cleanup_free_ char *tree = repo_tree(repo, host->agent->id);
    _cleanup_free_ char *exe = path_exe();
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *argv[] = {"mas", "setup", host->session.id, host->agent->id, NULL};
    struct supervisor_spec spec = {
        .lease = &host->lease.clock,
        .program = exe,
        .cwd = &cwd,
        .argv = (char *const *)(uintptr_t)argv,
        .env = host->env,
        .times = times,
        .bounds = &host->resources.bounds,
        .paused = host->disk.paused,
    };

    if (exe == NULL || cwd == -1)
        return err_errno(err, "cannot run the setup of '%s'", tree);
    if (log_open(&setup->log, host->logs, name, config_log_limits(&host->config), false, err) == -1)
        return -1;
    if (supervisor_start_printing(&spec, &host->child.supervisor, &setup->out, err) == -1) {
        log_close(&setup->log);
        return -1;
    }
    setup->runs = true;
    setup->late = false;
    setup->status = -1;
    setup->deadline = now + config_number(&host->config, SETTING_CODE_SETUP_TIMEOUT);
    return 0;
}

int setup_begin(struct host *host, struct supervisor_times times, int64_t now, bool *ret_started,
                struct err *err)
{
    _cleanup_repo_ struct repo repo = REPO_INIT;
    enum setup_state state = SETUP_NONE;

    *ret_started = false;
    if (host->team.project.path == NULL || host->agent->code != AGENT_CODE_WORKTREE)
        return 0;
    repo_of(&host->root, host->session.id, host->team.project.label, &repo);
    if (setup_look(&host->root, &repo, host->agent->id, &state, err) == -1)
        return -1;
    if (state != SETUP_DUE) {
        tell(host, state);
        return 0;
    }
    if (launch(host, times, now, &repo, err) == -1)
        return -1;
    _cleanup_free_ char *words = mem_printf(
        "runs the setup of its work tree; its output is in " WORKSPACE_LOGS "/" SETUP_LOG,
        host->agent->id);
    host_log(host, words);
    host->backend->say(host, words);
    *ret_started = true;
    return 0;
}

/* Copies what the setup has printed to its log. */
static void copy_output(struct host_setup *setup)
{
    _cleanup_free_ char *buffer = setup->out != -1 ? mem_alloc(READ_SIZE) : NULL;

    for (int i = 0; i < READS && setup->out != -1; i++) {
        ssize_t n = read(setup->out, buffer, READ_SIZE);
        if (n > 0)
            (void)log_write(&setup->log, buffer, (size_t)n); /* it prints on without room for it */
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
            fd_closep(&setup->out);
        else if (errno == EAGAIN)
            break;
    }
}

char *setup_finish(struct host *host)
{
    struct host_setup *setup = &host->setup;
    int status = setup->status;
    _cleanup_str_ struct str why = STR_INIT;

    copy_output(setup);
    setup_close(host);
    setup->runs = false;
    if (!setup->late && status == 0) {
        host_log(host, "the setup of its work tree has run");
        return NULL;
    }
    str_add(&why, "the setup of its work tree ");
    if (setup->late)
        str_addf(&why, "takes longer than [code] setup_timeout");
    else if (proc_end_signal(status) == 0)
        str_addf(&why, "failed with exit code %d", proc_exit_code(status));
    else
        str_addf(&why, "was killed");
    str_addf(&why, ", see " WORKSPACE_LOGS "/" SETUP_LOG, host->agent->id);
    host_log(host, why.data);
    return str_steal(&why);
}

int64_t setup_tick(struct host *host, struct supervisor_times times, int64_t now)
{
    struct host_setup *setup = &host->setup;

    if (!setup->runs || setup->late || host->disk.paused || host->child.phase != CHILD_SETS_UP)
        return -1;
    if (now < setup->deadline)
        return setup->deadline;
    times.hangup_ms = 0; /* it has no input whose end could tell it */
    setup->late = true;
    supervisor_end(&host->child.supervisor, times, 0);
    return -1;
}

void setup_want(const struct host *host, struct loop *loop)
{
    if (host->setup.out != -1)
        loop_want(loop, host->setup.out, POLLIN);
}

void setup_serve(struct host *host, struct loop *loop)
{
    if (host->setup.out != -1 && loop_got(loop, host->setup.out) != 0)
        copy_output(&host->setup);
}

void setup_close(struct host *host)
{
    fd_closep(&host->setup.out);
    log_close(&host->setup.log);
}
