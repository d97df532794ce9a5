#include "cli/installed.h"
#include "cli/new_job.h"
#include "cli/new_options.h"
#include "cli/print.h"
#include "client/survey.h"
#include "cmd/show.h"
#include "tmux/tmux.h"

static const struct opt opts[] = {
    NEW_OPTIONS,
    {0, "id", "UUID", "use this session id instead of a random one", OFFER_NONE},
    {0, "mode", "MODE", "isolated (the default), or legacy: the one shared session", OFFER_MODE},
    {0, "no-start", NULL, "only create the workspace", OFFER_NONE},
    {'a', "attach", NULL, "attach to the session", OFFER_NONE},
    NEW_JOB_OPTIONS,
    {.name = NULL},
};

static int attach(const struct call *call, const struct session *session, struct err *err)
{
    struct tmux_session *live = NULL;
    if (survey_find_live(&call->root, session->tmux_socket, session->id, &live, err) == -1)
        return -1;
    if (live == NULL)
        return err_set(err, MAS_TMUX, "cannot attach: tmux session '%s' is gone",
                       session->tmux_name);
    int rc = tmux_attach(session->tmux_socket, live->target, NULL, err);
    tmux_sessions_free(live, 1);
    return rc;
}

/* Fails if this terminal could not attach to a new session. */
static int check_attach(const struct call *call, struct err *err)
{
    _cleanup_free_ char *socket = NULL;
    if (tmux_socket(&call->config, "mas-00000000", &socket, err) == -1)
        return -1;
    return tmux_check_attach(socket, err);
}

static int make(struct call *call, const struct life_options *options, struct new_given *given,
                struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life_memory memory = {.needed = 0};
    _cleanup_strv_ char **notes = NULL;
    struct life life = {.root = &call->root,
                        .config = &call->config,
                        .notes = &notes,
                        .memory = &memory,
                        .setup = &given->setup,
                        .wall = given->wall};

    progress_begin(&life, "copying", call->quiet);
    int rc = life_new(&life, options, &session, err);
    progress_end();
    if (rc == -1)
        return -1;
    warn_memory(&memory);
    for (char **note = notes; note != NULL && *note != NULL; note++)
        err_warn("%s", *note);
    if (options->start && !call->quiet)
        warn_job(&call->config);
    new_options_warn(given, &session);
    return call_opt(call, "attach") != NULL ? attach(call, &session, err)
                                            : print_made(call, &session, options->start, err);
}

static int run_new(struct call *call, struct err *err)
{
    _cleanup_new_given_ struct new_given given = NEW_GIVEN_INIT;
    struct life_options options = {
        .id = call_opt(call, "id"),
        .start = call_opt(call, "no-start") == NULL,
    };
    const char *mode = call_opt(call, "mode");
    bool wants_attach = call_opt(call, "attach") != NULL;

    if (wants_attach && !options.start)
        return err_set(err, MAS_USAGE, "cannot use --attach with --no-start");
    if (mode != NULL && config_override(&call->config, SETTING_MODE, mode, "--mode", err) == -1)
        return -1;
    if (wants_attach && call_opt(call, "host") == NULL && check_attach(call, err) == -1)
        return -1;
    if (new_options_read(call, &options, &given, err) == -1 || installed_offer(call, err) == -1)
        return -1;
    return new_job_wanted(call) ? new_job(call, &options, &given, err)
                                : make(call, &options, &given, err);
}

const struct cmd cmd_new = {
    .name = "new",
    .group = GROUP_BEGIN,
    .operands = "",
    .summary = "create a workspace and start its team",
    .examples = "mas new\n"
                "mas new --name shop --template pair --agent claude\n"
                "mas new --name page --template solo --attach\n"
                "mas new --name login --project ~/src/shop@main\n"
                "mas new --name big --host gpu --cpus 8 --mem 32G --time 8h",
    .details =
        "mas copies the template into a new workspace and starts each agent in a "
        "pane. It prints where the session is and how to attach; with -q, only the "
        "session's id. With --project, each agent that writes gets a repository and a branch "
        "of its own; 'mas land' brings the work home. With --host, the session is one job of "
        "Slurm, or one of the host that ssh reaches; see mas-fleet(7).",
    .opts = opts,
    .stray = "to name the session, use '--name'",
    .root = ROOT_MADE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .run = run_new,
};
