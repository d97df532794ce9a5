/*
 * An interrupted move is settled with the other machine first. Then comes what can only be known
 * before a start: which messages wait, what memory.db has lost, which turns were cut off; hosts
 * begin with these at once. A session that runs already is not started: hosts that were killed are
 * brought back, once those that are only starting have had their time.
 */

#include "cli/agents.h"
#include "cli/each_session.h"
#include "cli/new_options.h"
#include "cli/person.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "fleet/move.h"
#include "memory/store.h"
#include "os/file.h"
#include "session/errand/errand.h"

static const struct opt opts[] = {
    {0, "crashed", NULL, "start every session that was active before a crash or reboot"},
    {0, "takeover", NULL, "take the session from another machine whose lease has ended"},
    {0, "fenced", NULL, "with --takeover: that machine is off, says a person"},
    WALL_OPTION,
    {.name = NULL},
};

/* Starts killed hosts of a running team; appends the ids of their agents to `names`. */
static int bring_back(const struct call *call, const char *id, struct str *names, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;
    size_t count = 0;

    if (roster_open(&call->root, id, &team, err) == -1 ||
        roster_add(&roster, &team, NULL, err) == -1)
        return -1;
    roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
    roster_ask_coming(&roster, "{\"do\":\"status\"}", HOSTS_COME_MS);
    roster_finish(&roster, HOSTS_ANSWER_MS);
    enum host_answer missing = HOST_ABSENT;
    if (workspace_env_waits(roster.teams[0].dir)) {
        /* the hosts are starting, but for those whose panes were not made: add was killed */
        const struct roster_request live = {.what = "start", .head = "{\"do\":\"status\"}"};
        missing = HOST_ENDED;
        if (roster_ask_live(&call->root, &roster, &live, err) == -1)
            return -1;
        roster_finish(&roster, HOSTS_ANSWER_MS);
    }
    for (size_t i = 0; i < roster.count; i++)
        if (roster.calls[i].answer == missing)
            str_addf(names, "%s%s", names->len > 0 ? "," : "", roster.agents[i].agent->id);
    if (targets_bring_back(call, &roster, missing, &count, err) == -1)
        return -1;
    for (size_t i = 0; count > 0 && i < roster.count; i++)
        if (roster.calls[i].answer == HOST_ABSENT && roster_failure(&roster, i, "start", err) == -1)
            return err_hint(err, "its pane says why: mas peek %s %s", id,
                            roster.agents[i].agent->id);
    return 0;
}

/* If a move of the session was interrupted, asks the other machine where it is. */
static int settle_move(const struct call *call, const struct life *life, const char *id,
                       struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    struct err ignored = ERR_INIT; /* the start tells it */

    if (dir == -1 || session_load(&call->root, dir, id, &session, &ignored) == -1 ||
        session.moved_to[0] == '\0')
        return 0;
    return move_settle(life, id, err);
}

/* What a person sees of the wait for a lease. */
struct lease_wait {
    const char *session; /* label */
    bool quiet, shown, counts; /* counts: a terminal shows how long it takes */
};

/* Tells for how long, again and again on a terminal, elsewhere once. */
static void tell_wait(const char *machine, int64_t left_ms, void *arg)
{
    struct lease_wait *wait = arg;
    long seconds = (long)((left_ms + 999) / 1000);

    if (wait->quiet || (wait->shown && !wait->counts))
        return;
    (void)fprintf(
        stderr, "%s%s may run on %s: starting it in %ld s unless its lease is renewed there%s",
        wait->counts ? "\r" : "", wait->session, machine, seconds, wait->counts ? "\033[K" : "\n");
    wait->shown = true;
}

static int start_and_tell(const struct call *call, const struct life *life, const char *id,
                          bool *ret_was, struct err *err)
{
    struct life with = *life;
    const struct session_label label = session_label(&call->root, id);
    struct lease_wait wait = {
        .session = label.text, .quiet = call->quiet, .counts = isatty(STDERR_FILENO) != 0};

    with.waits = tell_wait;
    with.waits_arg = &wait;
    int rc = life_start(&with, id, ret_was, err);
    if (wait.shown && wait.counts)
        (void)fputs("\r\033[K", stderr);
    return rc;
}

/* Returns what memory.db of a session has lost; NULL: nothing. */
static char *find_loss(const struct root *root, const char *id)
{
    _cleanup_close_ int dir = workspace_open(root, id);
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;
    char *loss = dir != -1 ? store_loss(dir) : NULL;

    if (dir == -1 || loss != NULL || !store_had_talks(dir, NULL) ||
        store_open(dir, id, NULL, false, &store, &why) == 0 || why.code != MAS_DAMAGED)
        return loss;
    return mem_printf("%s; the team sets it aside and begins a new one", why.text);
}

static int start_one(struct call *call, const struct life *life, const char *id, struct err *err)
{
    _cleanup_str_ struct str waiting = STR_INIT;
    _cleanup_str_ struct str names = STR_INIT;
    bool was = false;
    enum wall_level wall = WALL_UNSET;
    struct life with = *life;

    if (wall_option_read(call, &wall, &with.wall, err) == -1)
        return -1;
    if (call_opt(call, "takeover") != NULL)
        with.takeover =
            call_opt(call, "fenced") != NULL ? LIFE_TAKEOVER_FENCED : LIFE_TAKEOVER_ASKED;
    if (with.takeover != LIFE_TAKEOVER_FENCED && settle_move(call, life, id, err) == -1)
        return -1;
    if (!call->quiet) /* before the start, because the hosts deliver the messages at once */
        agents_add_waiting(&call->root, id, "; delivered now: ", &waiting);
    _cleanup_free_ char *loss = find_loss(&call->root, id);
    _cleanup_strv_ char **cut_off = call->quiet ? NULL : agents_cut_off(&call->root, id);
    if (start_and_tell(call, &with, id, &was, err) == -1 ||
        (was && bring_back(call, id, &names, err) == -1))
        return -1;
    struct err why = ERR_INIT;
    if (!was && errand_begin_all(&call->root, &call->config, id, &why) == -1)
        err_warn("session '%s': %s", session_label(&call->root, id).text, why.text);
    if (loss != NULL)
        err_warn("session '%s': %s", session_label(&call->root, id).text, loss);
    if (call->quiet)
        return 0;
    if (!was)
        warn_job(&call->config);
    const struct session_label label = session_label(&call->root, id);
    if (names.len > 0)
        printf("%s is running, started agents again: %s\n", label.text, names.data);
    else
        printf("%s %s%s\n", label.text, was ? "is already running" : "started",
               was ? "" : str_text(&waiting));
    agents_tell_cut_off(label.text, cut_off);
    return 0;
}

static bool is_crashed(const struct view *view)
{
    return view->crashed || (view->unknown && view->row.status == STATUS_ACTIVE);
}

static int run_start(struct call *call, struct err *err)
{
    bool crashed = call_opt(call, "crashed") != NULL;

    if (call_opt(call, "fenced") != NULL && call_opt(call, "takeover") == NULL)
        return err_set(err, MAS_USAGE, "cannot use --fenced without --takeover");
    if (call_opt(call, "takeover") != NULL && crashed)
        return err_set(err, MAS_USAGE, "cannot use --takeover with --crashed");
    if (call_opt(call, "fenced") != NULL && person_check("use --fenced", err) == -1)
        return -1;
    if (!crashed && call->operand_count == 0 && call->session == NULL)
        call->session = getenv("MAS_SESSION_ID"); /* in a team's pane, the team's session */
    return each_session_run(call, start_one, crashed ? is_crashed : NULL, err);
}

const struct cmd cmd_start = {
    .name = "start",
    .group = GROUP_SESSIONS,
    .operands = " SESSION...",
    .summary = "start stopped sessions again",
    .examples = "mas start shop\n"
                "mas start --crashed",
    .details = "The agents get the environment of this command. --crashed starts every "
               "session that was active when its tmux server or the machine went down. In a "
               "running session, mas brings back the agents whose hosts were killed.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .run = run_start,
};
