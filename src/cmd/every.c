/*
 * `mas every`: entries are added, listed, removed and run by hand; and `mas tick`, which the timer
 * of the root runs. store/every.h has the entries, session/errand/tick.h a run,
 * session/errand/timer.h the timer.
 */
#include "base/time.h"
#include "cli/errand/entries.h"
#include "cli/print.h"
#include "cli/words.h"
#include "client/roster.h"
#include "cmd.h"
#include "model/calendar.h"
#include "model/message.h"
#include "model/target.h"
#include "os/path.h"
#include "os/zone.h"
#include "session/env.h"
#include "session/errand/tick.h"
#include "session/errand/timer.h"
#include "session/launch.h"

static const struct opt opts[] = {
    {0, "at", "TIME", "once: 'tomorrow 07:00', +2h, '2026-12-24 18:00'"},
    {0, "after", "SESSION/AGENT", "each time when a turn of that agent has ended"},
    {0, "start", NULL, "start the session if it does not run"},
    {0, "file", "FILE", "the prompt is the content of FILE"},
    {0, "list", NULL, "list the entries, and what runs them"},
    {0, "off", "N", "remove entry N"},
    {0, "run", "N", "run entry N now"},
    {.name = NULL},
};

/* ---- an entry that there is */

static int run_now(const struct call *call, const struct tick *tick, struct err *err)
{
    struct err why = ERR_INIT;
    enum timer timer;
    int64_t number = 0;
    char id[ID_TEXT];

    if (entries_find(call, "run", false, &number, id, err) == -1)
        return -1;
    int rc = tick_run_one(tick, id, number, err) == 0
                 ? 0
                 : err_wrap(err, "cannot run entry %" PRId64, number);
    /* one that has come here in an archive goes on with its times */
    if (timer_settle(&call->root, tick->exe, &timer, &why) == 0 || rc == -1)
        return rc;
    *err = why;
    return -1;
}

/* ---- a new one */

/* Reads SESSION/AGENT of --after, whose turns mas has to know. */
static int read_after(const struct call *call, const char *id, struct every_entry *entry,
                      struct err *err)
{
    const char *value = call_opt(call, "after");
    const char *slash = strrchr(value, '/');
    struct roster_team team;

    if (slash == NULL)
        return call_bad_value(call, "after", "SESSION/AGENT", err);
    _cleanup_free_ char *session = mem_dupn(value, (size_t)(slash - value));
    if (entries_agent(call, session, slash + 1, &team, err) == -1)
        return -1;
    bool same = strcmp(team.id, id) == 0 && strcmp(slash + 1, entry->agent) == 0;
    free(entry->when);
    entry->when = mem_printf("%s/%s", team.id, slash + 1);
    int rc = same ? err_set(err, MAS_USAGE, "agent '%s' cannot follow itself", entry->agent)
                  : entries_tells(&call->config, &team.team, slash + 1, err);
    roster_close(&team);
    return rc;
}

/* Takes WHEN, an operand unless an option says it. A calendar without a zone gets the one that TZ
 * names, as the timer does not have TZ. */
static int take_when(struct call *call, struct every_entry *entry, struct err *err)
{
    const char *zone = getenv("TZ");
    const char *at = call_opt(call, "at");
    _cleanup_zone_ struct zone known = ZONE_LOCAL;
    struct calendar calendar;
    time_t span;

    if (zone != NULL && zone[0] == ':')
        zone++; /* as the C library takes it */
    if (at != NULL && call_opt(call, "after") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --at with --after");
    if (at != NULL || call_opt(call, "after") != NULL) {
        entry->kind = at != NULL ? EVERY_AT : EVERY_AFTER;
        entry->when = mem_dup(at != NULL ? at : "");
        return 0;
    }
    if (call->operand_count == 0) {
        (void)err_set(err, MAS_USAGE, "cannot add an entry: missing WHEN");
        return call_usage(call, err);
    }
    const char *when = *call->operands++;
    call->operand_count--;
    entry->kind = time_parse_age(when, &span) ? EVERY_SPAN : EVERY_CALENDAR;
    bool add = entry->kind == EVERY_CALENDAR && calendar_parse(when, &calendar) == NULL &&
               calendar.zone[0] == '\0' && zone != NULL && zone_by_name(zone, &known);
    entry->when = mem_printf("%s%s%s", when, add ? " " : "", add ? zone : "");
    return 0;
}

/* Fills the entry from the command line. */
static int fill(struct call *call, struct every_entry *entry, struct roster_team *ret,
                struct err *err)
{
    entry->made_ms = time_epoch_ms();
    entry->start = call_opt(call, "start") != NULL;
    if (take_when(call, entry, err) == -1)
        return -1;
    if (entries_fill(call, entry, ret, err) == -1)
        return -1;
    if ((entry->kind != EVERY_AFTER || read_after(call, ret->id, entry, err) == 0) &&
        tick_plan(&call->root, entry, entry->made_ms, err) == 0)
        return 0;
    roster_close(ret);
    return err_wrap(err, "cannot add an entry");
}

/* Says what an entry that was added has become. */
static void say_added(const struct call *call, const char *id, const struct every_entry *entry)
{
    const struct session_label label = session_label(&call->root, id);
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    char next[64];

    entries_show_time(entry->next_ms, next);
    if (call->json) {
        entries_put(&out, &label, id, entry);
        print_line(&text);
    } else if (call->quiet)
        printf("%" PRId64 "\n", entry->number);
    else if (entry->kind == EVERY_AFTER)
        printf("entry %" PRId64 ": after each turn of %s\n", entry->number,
               call_opt(call, "after"));
    else
        printf("entry %" PRId64 ": next %s\n", entry->number, next);
}

static int add(struct call *call, const char *exe, struct err *err)
{
    _cleanup_every_entry_ struct every_entry entry = {.number = 0};
    _cleanup_strv_ char **env = NULL;
    struct roster_team team = {.dir = -1};
    struct err ignored = ERR_INIT;
    enum timer timer = TIMER_NONE;

    if (timer_check(&call->root, exe, err) == -1 || fill(call, &entry, &team, err) == -1)
        return -1;
    env = entry.start ? env_handed_on(&call->config) : NULL;
    int rc = every_add(&call->root, team.dir, &entry, env, err);
    if (rc == 0 && (rc = timer_settle(&call->root, exe, &timer, err)) == -1)
        (void)every_change(&call->root, team.dir, &entry, true, &ignored);
    if (rc == 0)
        say_added(call, team.id, &entry);
    roster_close(&team);
    if (rc == -1)
        return -1;
    if (!call->quiet && timer == TIMER_SYSTEMD && !timer_lingers()) {
        err_warn("the timer stops when you log out (so that it goes on: loginctl enable-linger)");
    }
    return 0;
}

static int run_every(struct call *call, struct err *err)
{
    static const char *const alone[] = {"list", "off", "run"};
    _cleanup_free_ char *exe = path_exe();
    const char *what = NULL;

    if (exe == NULL)
        return err_errno(err, "cannot find the program of mas");
    for (size_t i = 0; i < ARRAY_LEN(alone); i++)
        if (call_opt(call, alone[i]) != NULL && what == NULL)
            what = alone[i];
    if (what == NULL && (call->operand_count > 0 || call->given_count > 0))
        return add(call, exe, err);
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    if (call->given_count > 1)
        return err_set(err, MAS_USAGE, "cannot use --%s with other options", what);
    if (what != NULL && strcmp(what, "off") == 0)
        return entries_drop(call, exe, false, err);
    const struct tick tick = {.root = &call->root, .config = &call->config, .exe = exe};
    return what != NULL && strcmp(what, "run") == 0 ? run_now(call, &tick, err)
                                                    : entries_list(call, exe, false, err);
}

const struct cmd cmd_every = {
    .name = "every",
    .group = GROUP_TEAMS,
    .operands = " [WHEN] [SESSION] [AGENT] [TEXT...]",
    .summary = "send prompts at set times",
    .examples = "mas every 'Mon..Fri 08:00' shop lead 'pull main, run the tests, report'\n"
                "mas every 2h shop lead --file watch.md\n"
                "mas every --at 'tomorrow 07:00' --start shop lead 'go on'\n"
                "mas every --after shop/lead docs writer 'describe what has changed'\n"
                "mas every --list\n"
                "mas every --off 3",
    .details =
        "WHEN is a calendar as in systemd.time(7), or a span such as 2h. The user's systemd, "
        "or else the crontab, looks every minute what is due. A run that was missed comes "
        "once, late. One that finds the prompt of the one before still at work is skipped.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS,
    .run = run_every,
};

/* ---- tick */

static int run_tick(struct call *call, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    const struct tick tick = {.root = &call->root, .config = &call->config, .exe = exe};
    bool needed = false;
    size_t failed = 0;
    enum timer timer;

    if (exe == NULL)
        return err_errno(err, "cannot find the program of mas");
    if (timer_is_needed(&call->root, &needed, err) == -1)
        return -1;
    return needed ? tick_run(&tick, &failed, err) : timer_settle(&call->root, exe, &timer, err);
}

const struct cmd cmd_tick = {
    .name = "tick",
    .group = GROUP_HIDDEN,
    .operands = "",
    .summary = "run the entries of 'mas every' that are due",
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .run = run_tick,
};
