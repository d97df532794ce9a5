/*
 * `mas goal`: begins a goal, and lists and ends them. cli/errand/goal.h has what becomes of one,
 * session/errand/errand.h the process.
 */
#include "cli/errand/goal.h"

#include "base/time.h"
#include "cli/errand/entries.h"
#include "cli/print.h"
#include "cli/words.h"
#include "cmd.h"
#include "code/repo.h"
#include "os/path.h"
#include "session/walled_run.h"

enum { ROUNDS = 10, ROUNDS_MAX = 1000 };

static const struct opt opts[] = {
    {0, "check-with", "CMD", "what has to succeed"},
    {0, "rounds", "N", "at most so many prompts; 10 without it"},
    {0, "budget", "AMOUNT", "what the agent may use for it: '5 USD', or 200k tokens"},
    {0, "time", "TIME", "give up after this time, such as 30m or 8h"},
    {0, "no-wall", NULL, "the check may run without a wall"},
    {0, "wait", NULL, "wait until it is over"},
    {0, "file", "FILE", "the text is the content of FILE"},
    {0, "list", NULL, "list goals, also those that are over"},
    {0, "off", "N", "end goal N, and forget it"},
    {.name = NULL},
};

/* Takes the options that limit it. */
static int take_limits(const struct call *call, struct every_entry *entry, struct err *err)
{
    const char *rounds = call_opt(call, "rounds");
    const char *span = call_opt(call, "time");
    uint64_t count = ROUNDS;
    time_t seconds = 0;

    if (rounds != NULL && (!number_parse_count(rounds, ROUNDS_MAX, &count) || count == 0))
        return call_bad_value(call, "rounds", "a number from 1 to 1000", err);
    if (span != NULL && (!time_parse_age(span, &seconds) || seconds == 0))
        return call_bad_value(call, "time", "a time such as 30m or 8h", err);
    entry->rounds_max = (int64_t)count;
    entry->until_ms = span != NULL ? entry->made_ms + (int64_t)seconds * 1000 : 0;
    return 0;
}

/* Takes the budget, and what the agent has used before. */
static int take_budget(const struct call *call, const struct roster_team *team,
                       struct every_entry *entry, struct goal_data *goal, struct err *err)
{
    const char *text = call_opt(call, "budget");
    struct budget_limit limit;
    enum budget_kind kind;
    char buf[BUDGET_TEXT];

    if (text == NULL)
        return 0;
    const char *want = goal_budget(text, &kind, &limit);
    if (want != NULL)
        return call_bad_value(call, "budget", want, err);
    budget_write(kind, &limit, buf);
    entry->budget = mem_dup(buf);
    return goal_spent(team->dir, team->id, entry->agent, kind, limit.currency, &goal->spent, err);
}

/* Fails unless the agent can have a goal. */
static int check_agent(const struct call *call, const struct roster_team *team,
                       const struct every_entry *entry, struct goal_data *goal, struct err *err)
{
    const struct agent *agent = team_agent(&team->team, entry->agent);
    const struct walled_agent of = {.root = &call->root,
                                    .config = &call->config,
                                    .id = team->id,
                                    .team = &team->team,
                                    .agent = agent};
    _cleanup_team_ struct team team_there = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    bool walled = true;

    if (repo_load(&call->root, team->id, &team_there, &repo, err) == -1)
        return -1;
    if (agent->code != AGENT_CODE_WORKTREE) {
        (void)err_set(err, MAS_CONFLICT, "agent '%s' has no repository of its own", agent->id);
        return err_hint(err, "a template gives it one with: code = worktree");
    }
    goal->no_wall = call_opt(call, "no-wall") != NULL;
    if (entries_tells(&call->config, &team->team, agent->id, err) == -1 ||
        (!goal->no_wall && walled_look(&of, &walled, err) == -1))
        return -1;
    if (walled)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "agent '%s' has no wall that could hold the check", agent->id);
    return err_hint(err, "let it run as you, with what the agent has written, by --no-wall");
}

/* Returns the exit code of --wait. */
static int wait_for(const struct call *call, const char *id, int64_t number, struct err *err)
{
    _cleanup_every_entry_ struct every_entry entry = {.number = 0};

    if (entries_await(call, id, number, NULL, &entry, err) == -1)
        return err_wrap(err, "goal %" PRId64 " is not reached", number);
    if (strcmp(entry.over, "passed") == 0)
        return 0;
    return err_set(err, strcmp(entry.over, "time") == 0 ? MAS_TIMEOUT : MAS_FAILED,
                   "goal %" PRId64 " is not reached: %s", number, entry.why);
}

static void say(const struct call *call, const char *id, const struct every_entry *entry)
{
    const struct session_label label = session_label(&call->root, id);
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (call->json) {
        entries_put(&out, &label, id, entry);
        print_line(&text);
    } else if (call->quiet)
        printf("%" PRId64 "\n", entry->number);
    else
        printf("goal %" PRId64 ": at most %" PRId64 " round%s\n", entry->number, entry->rounds_max,
               entry->rounds_max == 1 ? "" : "s");
    (void)fflush(stdout);
}

static int add(struct call *call, struct err *err)
{
    _cleanup_every_entry_ struct every_entry entry = {.number = 0, .kind = EVERY_GOAL};
    _cleanup_goal_ struct goal_data goal = {.files = mem_dup("")};
    const char *check = NULL;
    struct roster_team team;

    if (words_check(call, &check, err) == -1)
        return -1;
    if (check == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot add a goal: missing --check-with");
        return call_usage(call, err);
    }
    if (str_has_control(check))
        return call_bad_value(call, "check-with", "a command of one line", err);
    entry.made_ms = time_epoch_ms();
    entry.when = mem_dup(check);
    if (take_limits(call, &entry, err) == -1 || entries_fill(call, &entry, &team, err) == -1)
        return -1;
    int rc = check_agent(call, &team, &entry, &goal, err) == -1 ||
                     take_budget(call, &team, &entry, &goal, err) == -1
                 ? err_wrap(err, "cannot add a goal")
                 : 0;
    goal_put(&goal, &entry);
    if (rc == 0)
        rc = entries_begin(call, &team, &entry, err);
    if (rc == 0)
        say(call, team.id, &entry);
    if (rc == 0 && call_opt(call, "wait") != NULL)
        rc = wait_for(call, team.id, entry.number, err);
    roster_close(&team);
    return rc;
}

static int run_goal(struct call *call, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    bool list = call_opt(call, "list") != NULL, off = call_opt(call, "off") != NULL;

    if (exe == NULL)
        return err_errno(err, "cannot find the program of mas");
    if (!list && !off && (call->operand_count > 0 || call->given_count > 0))
        return add(call, err);
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    if (call->given_count > 1)
        return err_set(err, MAS_USAGE, "cannot use --%s with other options", off ? "off" : "list");
    return off ? entries_drop(call, exe, true, err) : entries_list(call, exe, true, err);
}

const struct cmd cmd_goal = {
    .name = "goal",
    .group = GROUP_TEAMS,
    .operands = " [SESSION] [AGENT] [TEXT...]",
    .summary = "ask an agent again and again until a check passes",
    .examples = "mas goal fix solo 'make the tests pass' --check-with 'make check'\n"
                "mas goal fix solo --file goal.md --check-with ./check --budget '5 USD' --wait\n"
                "mas goal --list\n"
                "mas goal --off 3",
    .details =
        "mas runs the check itself, on a snapshot of the agent's files, behind the agent's wall. "
        "While it fails, the agent gets TEXT and what the check printed last, as data. It is over "
        "when the check passes; after --rounds, --budget or --time; and if the files have not "
        "changed in two rounds. A session that is stopped goes on with it when it is started.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_goal,
};
