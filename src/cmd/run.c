/*
 * Reads what is asked for and hands it to run_session(), which lives as long as the team. Signals
 * are blocked first, so that one which comes early is seen there. The root may be made here; it is
 * removed at the end (--scratch) only if it has no other session, and only after the session was
 * saved.
 */

#include "fleet/run.h"

#include "base/time.h"
#include "cli/new_options.h"
#include "cli/print.h"
#include "cmd.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/lease.h"

static const struct opt opts[] = {
    {0, "store", "DIR", "restore the session from DIR, and save it there"},
    {0, "id", "UUID", "the session; without it, a new one"},
    {0, "idle", "TIME", "end when all agents were idle for this time, such as 30m"},
    {0, "scratch", NULL, "remove the root at the end, when the session is saved"},
    NEW_OPTIONS,
    {.name = NULL},
};

enum { IDLE_MIN_MS = 1000 };

static void say(const char *line, void *arg)
{
    const struct call *call = arg;
    _cleanup_str_ struct str text = STR_INIT;
    char now[TIME_TEXT];

    if (call->quiet)
        return;
    time_format(time(NULL), now);
    str_addf(&text, "%s ", now);
    str_add_visible(&text, line, strlen(line));
    print_line(&text);
    (void)fflush(stdout);
}

/* Says once that the session may run elsewhere. */
static void say_wait(const char *machine, int64_t left_ms, void *arg)
{
    _cleanup_free_ char *line = NULL;

    if (left_ms < LEASE_TAKE_MS - LEASE_LOOK_MS)
        return;
    line = mem_printf("it may run on %s: waiting %d s for its lease to end", machine,
                      LEASE_TAKE_MS / 1000);
    say(line, arg);
}

/* Opens the root, which is created if --root or $MAS_ROOT names one that does not exist. */
static int open_root(struct call *call, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    enum root_origin origin = ROOT_DEFAULT;
    struct root_made made = ROOT_MADE_INIT;

    if (root_find(call->root_path, &path, &origin, err) == -1)
        return -1;
    if ((origin == ROOT_OPTION || origin == ROOT_ENV) && !root_exists(path) &&
        root_init(path, &made, err) == -1)
        return -1;
    return call_open_root(call, err);
}

/* Reads the store, from --store or [fleet] store; NULL: none. */
static int read_store(struct call *call, const char **ret, struct err *err)
{
    const char *given = call_opt(call, "store");

    if (given != NULL &&
        config_override(&call->config, SETTING_FLEET_STORE, given, "--store", err) == -1)
        return -1;
    const char *store = config_text(&call->config, SETTING_FLEET_STORE);
    *ret = store[0] != '\0' ? store : NULL;
    if (*ret == NULL && call_opt(call, "scratch") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --scratch without a store");
    return 0;
}

/* Removes the root, if it has no other session. */
static int drop_root(struct call *call, const char *id, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(call->root.sessions, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (id_is_valid(*name) && strcmp(*name, id) != 0)
            return 0;
    return tree_remove_path(call->root.path, err);
}

static int run_it(struct call *call, struct run *run, struct err *err)
{
    enum run_end end = RUN_STOPPED;

    say("running session", call);
    if (run_session(run, &end, err) == -1)
        return -1;
    return run->scratch ? drop_root(call, run->options->id, err) : 0;
}

/* Each task of an array is a job with the same arguments and the same comment. */
static int refuse_array(struct err *err)
{
    if (getenv("SLURM_ARRAY_TASK_ID") == NULL)
        return 0;
    (void)err_set(err, MAS_USAGE,
                  "cannot run a session in an array job: each task would run the same one");
    return err_hint(err, "submit one job for each session, without --array");
}

static int run_run(struct call *call, struct err *err)
{
    _cleanup_new_given_ struct new_given given = NEW_GIVEN_INIT;
    const char *idle = call_opt(call, "idle");
    struct life_options options = {.id = call_opt(call, "id"), .start = true};
    char id[ID_TEXT];

    run_block_signals();
    if (refuse_array(err) == -1 || open_root(call, err) == -1 ||
        new_options_read(call, &options, &given, err) == -1)
        return -1;
    const struct life life = {.root = &call->root,
                              .config = &call->config,
                              .setup = &given.setup,
                              .wall = given.wall,
                              .waits = say_wait,
                              .waits_arg = call};
    struct run run = {.life = &life,
                      .options = &options,
                      .save_ms = config_number(&call->config, SETTING_FLEET_SAVE),
                      .scratch = call_opt(call, "scratch") != NULL,
                      .say = say,
                      .arg = call};

    if (idle != NULL && (!time_parse_duration(idle, &run.idle_ms) || run.idle_ms < IDLE_MIN_MS))
        return call_bad_value(call, "idle", "a time from 1s, such as 30m", err);
    if (read_store(call, &run.store, err) == -1 ||
        config_override(&call->config, SETTING_SERVER, "per-session", "mas run", err) == -1)
        return -1;
    if (options.id == NULL && id_make(id, err) == -1)
        return -1;
    options.id = options.id != NULL ? options.id : id;
    if (!id_is_valid(options.id))
        return err_set(err, MAS_USAGE, "cannot use id '%s': it is not a version 4 UUID",
                       options.id);
    return run_it(call, &run, err);
}

const struct cmd cmd_run_session = {
    .name = "run",
    .group = GROUP_SESSIONS,
    .operands = "",
    .summary = "run one session in the foreground, as a job or a service",
    .examples = "mas run --name shop --agent claude\n"
                "mas run --store /shared/teams --id 550e8400-e29b-41d4-a716-446655440000\n"
                "mas run --store /shared/teams --idle 30m --template pair",
    .details = "mas restores the newest save of the session from the store, or starts the one in "
               "the root, or creates it. It ends when all agents have ended, or were idle for "
               "--idle. SIGTERM stops the team and saves it to the store. SIGUSR1 saves it, and in "
               "a job of Slurm lets it go on in another job. It saves a running session every "
               "[fleet] save.",
    .opts = opts,
    .stray = "to name the session, use '--name' or '--id'",
    .root = ROOT_MADE,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG | OPENS_ROOT_LATER,
    .run = run_run,
};
