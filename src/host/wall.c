#include "host/wall.h"

#include "base/env.h"
#include "base/str.h"
#include "host/state.h"
#include "session/helper.h"

#include <stdlib.h>
#include <string.h>

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

int host_wall_around(struct host *host, struct supervisor_spec *spec, struct walled *ret,
                     struct err *err)
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
                                   .env = spec->env,
                                   .argv = host->argv,
                                   .program = spec->program};

    if (wall_level_of(&host->config, &host->team, host->agent, host->preset) != WALL_OFF) {
        enter = helper_find(HELPER_WALL, err);
        if (enter == NULL)
            return -1;
        wall_probe_look(&host->wall.probe, env_get(host->env, "PATH"));
    }
    subject.enter = enter;
    if (wall_plan_make(&subject, &host->wall.probe, &ret->plan, err) == -1)
        return -1;
    note_report(host, &ret->plan.report);
    if (ret->plan.bwrap == NULL)
        return 0;
    const char *cwd = env_get(spec->env, "PWD");
    if (wall_bwrap(&ret->plan, spec->program, spec->argv, cwd != NULL ? cwd : "", !spec->piped,
                   &ret->command, err) == -1)
        return -1;
    spec->program = ret->command.program;
    spec->argv = ret->command.argv;
    spec->env = ret->plan.env;
    spec->is_walled = true;
    spec->fds = ret->command.fds;
    spec->fd_count = ret->command.fd_count;
    return 0;
}

void walled_free(struct walled *walled)
{
    wall_command_free(&walled->command);
    wall_plan_free(&walled->plan);
}
