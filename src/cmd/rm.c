#include "cli/each_session.h"
#include "cli/jobs.h"
#include "cli/print.h"
#include "session/lost.h"
#include "store/session.h"

static const struct opt opts[] = {
    {'f', "force", NULL, "stop a running session first; also remove a damaged one"},
    {.name = NULL},
};

static int remove_one(struct call *call, const struct life *given, const char *id, struct err *err)
{
    struct life life = *given;
    struct life_end end = {.was = false};
    struct lost lost = {.file = NULL};
    const struct life_removal options = {
        .force = call_opt(call, "force") != NULL, .keep = lost_keep, .arg = &lost};
    const struct session_label label =
        session_label(&call->root, id); /* before the session is removed */

    progress_of_looks(&life, call->quiet);
    if (life_remove(&life, id, &options, &end, err) == -1) {
        lost_free(&lost);
        return -1;
    }
    if (end.untold.code != MAS_OK)
        err_warn("session '%s' is removed, but its tmux session may be left: %s; end it with: mas "
                 "doctor --fix",
                 label.text, end.untold.text);
    forget_sessions(&call->root, &id, 1);
    if (!call->quiet)
        printf("%s removed\n", label.text);
    if (lost.file != NULL && !call->quiet) {
        _cleanup_str_ struct str line = STR_INIT;
        err_add_commands(&line, "its work is kept; bring it back with: mas restore %s", lost.file);
        print_line(&line);
    }
    if (lost.untold.code != MAS_OK)
        err_warn("the project did not get the commits of '%s': %s", label.text, lost.untold.text);
    lost_free(&lost);
    return 0;
}

static int run_rm(struct call *call, struct err *err)
{
    (void)signal(SIGHUP, SIG_IGN);
    return each_session_run(call, remove_one, NULL, err);
}

static const struct cmd_job job = {.act = job_remove, .ends = true};

const struct cmd cmd_rm = {
    .name = "rm",
    .group = GROUP_SESSIONS,
    .operands = " SESSION...",
    .summary = "remove stopped sessions with all their files",
    .examples = "mas rm shop\n"
                "mas rm --force shop page",
    .details =
        "mas refuses to remove a session with work that is not in its project. With -f, it "
        "first keeps such work: as an archive in lost/, and as refs/mas/lost in the project.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .who = WHO_PERSONS,
    .takes = TAKES_QUIET,
    .job = &job,
    .run = run_rm,
};
