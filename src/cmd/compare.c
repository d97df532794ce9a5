/*
 * Each agent is read as `mas diff` reads it, under the lock of code.git, and the check runs on that
 * snapshot, one agent after the other: what is measured is not disturbed. Its objects are moved
 * into code.git first, where the scratch tree of the check comes from. What agents spent is in
 * their store, what they do now their hosts say; an agent of which something cannot be told keeps
 * its row, with what is known.
 */
#include "cli/code.h"
#include "cli/diff_print.h"
#include "cli/each_session.h"
#include "cli/print.h"
#include "cli/table.h"
#include "code/comparison.h"
#include "memory/store_usage.h"
#include "os/pager.h"

static const struct opt opts[] = {
    {0, "no-check", NULL, "do not run the check"},
    {.name = NULL},
};

/* What there is of one agent. */
struct attempt {
    const struct agent *agent;
    const char *state; /* owned by the roster */
    struct store_spent spent;
    struct work_state work;
    struct comparison_lines lines;
    bool changed; /* its files differ from those it began with */
    bool checked;
    struct check_result check;
    struct err err; /* why it cannot be read */
};

/* ---- looking */

static bool wants(const struct code_call *code, const struct agent *agent)
{
    bool named = code->roster.count == 0;

    for (size_t i = 0; i < code->roster.count; i++)
        named = named || strcmp(code->roster.agents[i].agent->id, agent->id) == 0;
    return named && agent->code == AGENT_CODE_WORKTREE;
}

static int run_check(const struct code_call *code, const struct comparison *changes,
                     struct attempt *ret, struct err *err)
{
    struct walled_agent of;
    const struct check check = code_check(code, ret->agent->id, &of);

    if (check.command[0] == '\0')
        return 0;
    if (work_keep(&changes->tree, err) == -1 ||
        check_run(&code->repo, &check, changes->to, &ret->check, err) == -1)
        return -1;
    ret->checked = true;
    return 0;
}

static int look(const struct code_call *code, struct attempt *ret, struct err *err)
{
    _cleanup_comparison_ struct comparison changes = COMPARE_INIT;

    if (comparison_open(&code->repo, ret->agent->id, COMPARE_BRANCHED, &changes, err) == -1 ||
        comparison_count(&changes, &ret->lines, err) == -1)
        return -1;
    ret->work = changes.state;
    ret->changed = ret->lines.files > 0;
    return ret->changed && call_opt(code->call, "no-check") == NULL
               ? run_check(code, &changes, ret, err)
               : 0;
}

static void read_spent(const struct code_call *code, struct attempt *attempts, size_t count)
{
    const struct roster_team *team = &code->roster.teams[0];
    _cleanup_store_ struct store *store = NULL;
    struct err ignored = ERR_INIT;
    bool is_open = store_open(team->dir, team->id, NULL, false, &store, &ignored) == 0;

    for (size_t i = 0; i < count; i++)
        if (!is_open ||
            store_spent(store, attempts[i].agent->id, "", &attempts[i].spent, &ignored) == -1)
            attempts[i].spent = (struct store_spent){.worked_ms = -1, .tokens = -1, .cost = -1};
}

/* Asks the hosts what the agents do. */
static int read_states(const struct code_call *code, struct roster *live, struct attempt *attempts,
                       size_t count, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct roster_team team;

    if (roster_open(&code->call->root, code->roster.teams[0].id, &team, err) == -1 ||
        roster_add(live, &team, NULL, err) == -1 ||
        session_load(&code->call->root, live->teams[0].dir, live->teams[0].id, &session, err) == -1)
        return -1;
    roster_ask(live, "{\"do\":\"status\"}", NULL, 0);
    roster_finish(live, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < live->count; j++)
            if (strcmp(live->agents[j].agent->id, attempts[i].agent->id) == 0)
                attempts[i].state = live->agents[j].told
                                        ? agent_state_name(live->agents[j].status.state)
                                    : session.status != STATUS_ACTIVE ? status_name(session.status)
                                                                      : roster_problem(live, j);
    return 0;
}

/* ---- printing */

static const char *runs(const struct code_call *code, const struct attempt *attempt)
{
    const struct preset *preset =
        config_agent_preset(&code->call->config, &code->team, attempt->agent);
    return preset != NULL ? preset->name : attempt->agent->preset;
}

static const char *check_word(const struct attempt *attempt)
{
    return !attempt->checked ? "not run" : attempt->check.passed ? "pass" : "fail";
}

static struct money cost_of(const struct attempt *attempt)
{
    struct money cost = {.micro = attempt->spent.cost};

    if (cost.micro >= 0)
        memcpy(cost.currency, attempt->spent.currency, sizeof cost.currency);
    return cost;
}

/* What the check says last: of a benchmark its result, of a test what failed. */
static const char *last_line(const struct attempt *attempt)
{
    const char *output = attempt->check.output != NULL ? attempt->check.output : "";
    const char *line = strrchr(output, '\n');

    if (attempt->err.code != MAS_OK)
        return attempt->err.text;
    return line != NULL ? line + 1 : output[0] != '\0' ? output : "";
}

static void add_row(const struct code_call *code, const struct attempt *attempt,
                    struct table *table)
{
    const struct budget_limit worked = {.amount = attempt->spent.worked_ms};
    const struct money cost = cost_of(attempt);
    char lines[64] = "nothing";
    char money[MONEY_TEXT] = "";
    char span[BUDGET_TEXT] = "";
    const char *tint = !attempt->checked       ? NULL
                       : attempt->check.passed ? colour(TINT_GOOD)
                                               : colour(TINT_BAD);

    if (attempt->err.code != MAS_OK)
        (void)snprintf(lines, sizeof lines, "?");
    else if (attempt->changed)
        (void)snprintf(lines, sizeof lines, "+%zu -%zu", attempt->lines.added,
                       attempt->lines.removed);
    if (cost.currency[0] != '\0')
        money_format(&cost, money);
    if (worked.amount > 0)
        budget_format(BUDGET_TIME, &worked, span);
    table_add(table, attempt->agent->id, NULL);
    table_add(table, runs(code, attempt), NULL);
    table_add(table, check_word(attempt), tint);
    table_add(table, lines, NULL);
    table_add(table, money, NULL);
    table_add(table, span, NULL);
    table_add(table, attempt->state != NULL ? attempt->state : "", NULL);
    table_add(table, last_line(attempt), NULL);
}

static void print_rows(const struct code_call *code, const struct attempt *attempts, size_t count)
{
    static const char *const heads[] = {"AGENT", "RUNS", "CHECK", "LINES",
                                        "COST",  "TIME", "STATE", "THE CHECK SAYS"};
    static const char *const spare[] = {"RUNS", "TIME", "STATE", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};

    table_heads(&table, heads);
    for (size_t i = 0; i < count; i++)
        add_row(code, &attempts[i], &table);
    table_print(&table);
    table_free(&table);
}

static void put_row(const struct code_call *code, const struct attempt *attempt,
                    struct json_out *out)
{
    const struct money cost = cost_of(attempt);

    json_open(out, NULL, '{');
    json_put_all(out, JT("agent", attempt->agent->id), JT("preset", runs(code, attempt)),
                 JT("state", attempt->state), JT("branch", attempt->work.branch),
                 JI("commits", attempt->work.ahead), JI("uncommitted", attempt->work.changed),
                 JI("files", attempt->lines.files), JI("added", attempt->lines.added),
                 JI("removed", attempt->lines.removed), JO("check"),
                 JT("result", check_word(attempt)), JT("why", attempt->check.why),
                 JT("output", attempt->check.output), JOE);
    money_put(&cost, out);
    json_put_all(out,
                 attempt->spent.worked_ms > 0 ? JI("workedMs", attempt->spent.worked_ms)
                                              : JT("workedMs", NULL),
                 JT("error", attempt->err.code != MAS_OK ? attempt->err.text : NULL), JOE);
}

static void print_json(const struct code_call *code, const struct attempt *attempts, size_t count)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct walled_agent of;

    json_put_all(&out, JO(NULL), JT("sessionId", code->roster.teams[0].id),
                 JT("check", code_check(code, code->team.agents[0].id, &of).command), JA("agents"));
    for (size_t i = 0; i < count; i++)
        put_row(code, &attempts[i], &out);
    json_put_all(&out, JAE, JOE);
    print_line(&text);
}

/* ---- the verb */

static int compare_all(struct code_call *code, struct err *err)
{
    const struct team *team = &code->team;
    _cleanup_roster_ struct roster live = ROSTER_INIT;
    struct attempt *attempts = mem_alloc(team->agent_count * sizeof *attempts);
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i < team->agent_count; i++)
        if (wants(code, &team->agents[i]))
            attempts[count++].agent = &team->agents[i];
    for (size_t i = 0; i < count; i++)
        if (look(code, &attempts[i], &attempts[i].err) == -1)
            each_session_fail(&attempts[i].err, &rc, err);
    code_call_unlock(code);
    read_spent(code, attempts, count);
    struct err why = ERR_INIT;
    if (read_states(code, &live, attempts, count, &why) == -1)
        each_session_fail(&why, &rc, err);
    if (code->call->json)
        print_json(code, attempts, count);
    else
        print_rows(code, attempts, count);
    for (size_t i = 0; i < count; i++)
        check_result_free(&attempts[i].check);
    free(attempts);
    return rc;
}

/* Shows what the second agent has otherwise than the first one. */
static int compare_two(struct code_call *code, struct err *err)
{
    const struct roster_agent *agents = code->roster.agents;
    _cleanup_comparison_ struct comparison from = COMPARE_INIT;
    _cleanup_comparison_ struct comparison to = COMPARE_INIT;
    _cleanup_str_ struct str diff = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    bool json = code->call->json;

    for (size_t i = 0; i < 2; i++)
        if (agents[i].agent->code != AGENT_CODE_WORKTREE)
            return err_set(err, MAS_USAGE,
                           "cannot compare agent '%s': it has no repository of its own",
                           agents[i].agent->id);
    if (comparison_open(&code->repo, agents[0].agent->id, COMPARE_BRANCHED, &from, err) == -1 ||
        comparison_open(&code->repo, agents[1].agent->id, COMPARE_BRANCHED, &to, err) == -1 ||
        comparison_against(&to, &from, err) == -1 ||
        comparison_diff(&to, json ? COMPARE_RAW : COMPARE_PATCH, &diff, err) == -1)
        return -1;
    code_call_unlock(code); /* a pager may wait for a person */
    if (!json) {
        diff_add_text(&diff, false, &text);
        (void)pager_show(&text);
        return 0;
    }
    json_put_all(&out, JO(NULL), JT("sessionId", code->roster.teams[0].id),
                 JT("from", agents[0].agent->id), JT("to", agents[1].agent->id));
    int rc = diff_put_files(&diff, true, &out, err);
    json_put_all(&out, JOE);
    if (rc == 0)
        print_line(&text);
    return rc;
}

static int run_compare(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;

    if (code_call_open(call, TARGETS_NONE, false, &code, err) == -1)
        return -1;
    return code.roster.count == 2 ? compare_two(&code, err) : compare_all(&code, err);
}

const struct cmd cmd_compare = {
    .name = "compare",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET...]",
    .summary = "compare what agents have made: checks, lines, cost, time",
    .examples = "mas compare best\n"
                "mas compare best 1 2",
    .details = "mas shows for each agent how much it has changed, committed or not, what it has "
               "spent, and whether the check succeeds on its files: the command of "
               "'mas new --check-with', else [code] check. For two agents mas shows the diff from "
               "the first to the second one. 'mas merge' takes the one that won; the others stay.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .does = READS_PRESETS | WAITS_LONG,
    .run = run_compare,
};
