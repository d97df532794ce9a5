#include "cli/agents.h"
#include "cli/each_session.h"
#include "cli/jobs.h"

#include "store/session.h"

static const struct opt opts[] = {
    {0, "all", NULL, "stop every session that runs"},
    {.name = NULL},
};

/* Warns about steps that failed after the agents had ended. */
static void warn_rest(const char *label, const struct life_end *end)
{
    if (end->untold.code != MAS_OK)
        err_warn("the agents of session '%s' have ended, but its tmux session may be left: %s; end "
                 "it with: mas stop %s",
                 label, end->untold.text, label);
    if (end->unwritten.code != MAS_OK)
        err_warn("session '%s' is stopped, but its status could not be written: %s; until you run "
                 "'mas stop %s' again, it counts as crashed, and 'mas start --crashed' starts it",
                 label, end->unwritten.text, label);
}

static int stop_one(struct call *call, const struct life *life, const char *id, struct err *err)
{
    struct life_end end = {.was = false};

    if (life_stop(life, id, &end, err) == -1)
        return -1;
    const struct session_label label = session_label(&call->root, id);
    warn_rest(label.text, &end);
    if (call->quiet)
        return 0;
    printf("%s %s", label.text, end.was ? "is already stopped" : "stopped");
    if (end.terminated > 0)
        printf(", %zu process%s had to be terminated", end.terminated,
               end.terminated == 1 ? "" : "es");
    if (end.killed > 0)
        printf(", %zu killed", end.killed);
    if (end.names[0] != '\0') {
        _cleanup_str_ struct str names = STR_INIT;
        str_add_visible(&names, end.names, strlen(end.names));
        printf(": %s", names.data);
    }
    _cleanup_str_ struct str waiting = STR_INIT;
    agents_add_waiting(&call->root, id, "; kept for the next start: ", &waiting);
    printf("%s\n", str_text(&waiting));
    return 0;
}

static bool is_running(const struct view *view)
{
    /* if tmux cannot be asked, a session that should run; stopping it reports the reason */
    return view->live != NULL || (view->unknown && view->row.status != STATUS_STOPPED);
}

static int run_stop(struct call *call, struct err *err)
{
    /* the command may run in a pane of the session that it stops */
    (void)signal(SIGHUP, SIG_IGN);
    return each_session_run(call, stop_one, call_opt(call, "all") != NULL ? is_running : NULL, err);
}

static const struct cmd_job job = {.act = job_stop, .ends = true};

const struct cmd cmd_stop = {
    .name = "stop",
    .group = GROUP_BEGIN,
    .operands = " SESSION...",
    .summary = "end the agents of sessions, then their tmux session",
    .examples = "mas stop shop\n"
                "mas stop --all",
    .details = "mas hangs up on the team's processes, then sends SIGTERM and at last SIGKILL "
               "to those that are left; [stop] in mas.ini sets the times. The workspace "
               "stays; 'mas start' brings the team back.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .who = WHO_PERSONS,
    .takes = TAKES_QUIET,
    .job = &job,
    .run = run_stop,
};
