/*
 * host_wall_around() looks at what this machine can do, plans the wall, checks that the limits are
 * held, and puts bubblewrap or mas-wall in front of the program. For the agent itself it also
 * clears what its last run has left in /tmp and at home, and notes what holds it, for the log and
 * the clients.
 */

#include "host/wall.h"

#include "base/env.h"
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"
#include "os/path.h"
#include "session/helper.h"
#include "wall/alone.h"

/* Notes a change of what holds the agent, in the log and for the clients. */
static void note_report(struct host *host, const struct wall_report *report)
{
    if (wall_report_equal(&host->wall.report, report))
        return;
    host->wall.report = *report;
    _cleanup_str_ struct str words = STR_INIT;
    str_add(&words, "walls: ");
    wall_report_describe(report, &words);
    host_log(host, words.data);
}

static void put_all(const struct kv *variables, char ***env)
{
    for (size_t i = 0; i < variables->count; i++)
        env_put(env, variables->pairs[i].key, variables->pairs[i].value);
}

/* Tells the agent's program what its preset has for the inside of a wall: variables, and how to
 * leave a sandbox of its own off. */
static int tell_inside(const struct host *host, struct walled *ret, char *const *argv,
                       struct err *err)
{
    const struct sandbox_off *off = &host->preset->sandbox_off;
    struct wall_plan *plan = &ret->plan;

    for (; *argv != NULL; argv++)
        strv_push(&ret->argv, *argv);
    put_all(&host->preset->wall_env, &plan->env);
    plan->report.sandbox_off =
        !plan->nested && (off->env.count > 0 || off->args[0] != '\0' || off->session[0] != '\0');
    if (!plan->report.sandbox_off)
        return 0;
    put_all(&off->env, &plan->env);
    _cleanup_strv_ char **words = NULL;
    if (str_split_words(off->args, &words, err) == -1)
        return err_wrap(err, "cannot switch off the sandbox of agent '%s'", host->agent->id);
    for (char **word = words; word != NULL && *word != NULL; word++)
        strv_push(&ret->argv, *word);
    return 0;
}

/* Puts the wall around the program. */
static int wrap(struct walled *walled, const struct supervisor_spec *spec, char *const *argv,
                struct err *err)
{
    const char *cwd = env_get(spec->env, "PWD");

    const char *program = spec->program != NULL ? spec->program : argv[0];

    if (walled->plan.alone)
        return wall_alone(&walled->plan, program, argv, !spec->piped, &walled->command, err);
    return wall_bwrap(&walled->plan, argv, cwd != NULL ? cwd : "", !spec->piped, &walled->command,
                      err);
}

bool host_wall_is_up(const struct host *host)
{
    return host->wall.report.held_by[WALL_FILES][0] != '\0';
}

/* Returns the path of a program that the agent asks for, if that is one of the user's PATH: then it
 * is there, with what it is installed with. An agent that names a path, or another PATH, gets what
 * it has itself. NULL: none. The caller frees it. */
static char *find_asked(const struct host *host, const char *name)
{
    return strchr(name, '/') == NULL ? path_find_program(name, env_get(host->env, "PATH"), AT_FDCWD)
                                     : NULL;
}

int host_wall_around(struct host *host, bool is_agent, struct supervisor_spec *spec,
                     struct walled *ret, struct err *err)
{
    _cleanup_free_ char *enter = NULL;
    struct wall_subject subject = {.root = &host->root,
                                   .config = &host->config,
                                   .id = host->session.id,
                                   .mode = host->session.mode,
                                   .dir = host->dir,
                                   .team = &host->team,
                                   .agent = host->agent,
                                   .preset = host->preset,
                                   .env = host->env,
                                   .inside_env = spec->env,
                                   .argv = host->argv,
                                   .program = spec->program};
    _cleanup_free_ char *asked = NULL;

    if (wall_level_of(&host->config, &host->team, host->agent, host->preset) != WALL_OFF) {
        enter = helper_find(HELPER_WALL, err);
        if (enter == NULL)
            return -1;
        wall_probe_look(&host->wall.probe, env_get(host->env, "PATH"), enter);
    }
    subject.enter = enter;
    subject.is_first = is_agent;
    if (!is_agent) {
        asked = find_asked(host, spec->argv[0]);
        subject.program = asked;
    }
    if (host->wall.probe.seccomp) /* which keeps programs from mounts of their own */
        subject.shared = &host->wall.shared;
    if (is_agent) {
        wall_own_clear(host->dir, host->agent->id);
        host->wall.began = true;
    }
    if (wall_plan_make(&subject, &host->wall.probe, &ret->plan, err) == -1 ||
        resources_hold(host, &ret->plan.report, err) == -1)
        return -1;
    strv_free(host->wall.probe.secrets); /* there may be others by the next plan */
    host->wall.probe.secrets = NULL;
    bool is_walled = ret->plan.bwrap != NULL || ret->plan.alone;
    if (is_agent && is_walled && tell_inside(host, ret, spec->argv, err) == -1)
        return -1;
    if (is_agent) {
        host->wall.nested = is_walled && ret->plan.nested;
        note_report(host, &ret->plan.report);
    }
    if (!is_walled)
        return 0;
    if (wrap(ret, spec, is_agent ? ret->argv : spec->argv, err) == -1)
        return -1;
    spec->program = ret->command.program;
    spec->argv = ret->command.argv;
    spec->env = wall_command_own_env(&ret->command, host->env);
    spec->is_walled = true;
    spec->fds = ret->command.fds;
    spec->fd_count = ret->command.fd_count;
    spec->wall_tells = ret->command.tells;
    return 0;
}

void host_wall_close(struct host *host)
{
    if (host->wall.began && lease_clock_look(&host->lease.clock, NULL) == LEASE_VALID)
        wall_own_clear(host->dir, host->agent->id);
}

void host_wall_lost_network(struct host *host)
{
    struct wall_report *report = &host->wall.report;
    const struct session_label label = session_label(&host->root, host->session.id);

    wall_report_hold(report, WALL_NETWORK, "");
    (void)snprintf(report->missing, sizeof report->missing,
                   "network: what let its hosts through was killed, so that it reaches nothing; "
                   "mend that with: mas restart %s %s",
                   label.text, host->agent->id);
    host_log(host, report->missing);
    host->backend->note(host, report->missing);
    server_mark_dirty(host);
}

void host_wall_fell(struct host *host)
{
    if (host->wall.probe.bwrap == NULL)
        return;
    wall_probe_forget(&host->wall.probe);
    host_log(host, "the wall did not come up; the next start tries bubblewrap again");
}

void walled_free(struct walled *walled)
{
    strv_free(walled->argv);
    wall_command_free(&walled->command);
    wall_plan_free(&walled->plan);
}
