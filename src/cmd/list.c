/*
 * One survey, then the table, JSON or ids of it; it asks the hosts only if their figures are shown.
 * The columns are a table with a function each. Jobs of Slurm come after the sessions, from jobs.c,
 * and their failures never hide a session.
 */

#include "base/time.h"
#include "cli/installed.h"
#include "cli/jobs.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/table.h"
#include "client/survey.h"
#include "cmd.h"

static const struct opt opts[] = {
    {0, "active", NULL, "only sessions that run"},
    {0, "stopped", NULL, "only sessions that are stopped"},
    {0, "error", NULL, "only sessions with an error"},
    {0, "all", NULL, "check every workspace instead of trusting the index"},
    {0, "jobs", NULL, "only sessions that were submitted to Slurm"},
    {.name = NULL},
};

static bool is_wanted(const struct call *call, const struct view *view)
{
    static const char *const names[STATUS_COUNT] = {"active", "stopped", "error"};
    bool any = false;
    for (size_t i = 0; i < STATUS_COUNT; i++)
        any = any || call_opt(call, names[i]) != NULL;
    return !any || call_opt(call, names[view->status]) != NULL;
}

/* ---- the table: each column has a function that appends its text; the table shows "-" for none */

static void put_session(const struct view *view, time_t now, struct str *to)
{
    (void)now;
    str_add(to, view->live != NULL ? view->live->name : view->row.tmux_name);
}

static void put_name(const struct view *view, time_t now, struct str *to)
{
    (void)now;
    str_add(to, view_name(view));
}

static void put_template(const struct view *view, time_t now, struct str *to)
{
    (void)now;
    str_add(to, view->row.template);
}

static void put_mode(const struct view *view, time_t now, struct str *to)
{
    (void)now;
    str_add(to, mode_name(view->row.mode));
}

/* Returns false if the time is unknown, as for a session without a workspace. */
static bool created_at(const struct view *view, time_t *ret)
{
    return time_parse(view->row.created, ret) && *ret != 0;
}

static void put_age(const struct view *view, time_t now, struct str *to)
{
    char age[24];
    time_t created = 0;
    if (created_at(view, &created)) {
        time_age(created, now, age);
        str_add(to, age);
    }
}

static void put_active(const struct view *view, time_t now, struct str *to)
{
    char age[24];
    time_t created = 0;
    if (created_at(view, &created)) {
        time_age(view_activity(view), now, age);
        str_add(to, age);
    }
}

/* Appends "13/13" and the numbers of agents in the states that a person wants to know of. */
static void put_agents(const struct view *view, time_t now, struct str *to)
{
    static const enum agent_state worth[] = {AGENT_WAITING, AGENT_CRASHED, AGENT_PAUSED,
                                             AGENT_LIMITED, AGENT_ASLEEP};

    (void)now;
    if (view->live == NULL)
        return;
    str_addf(to, "%zu/%zu", view_running(view), view->live->running + view->live->ended);
    for (size_t i = 0; i < ARRAY_LEN(worth); i++)
        if (view_counts(view)->states[worth[i]] > 0)
            str_addf(to, ", %zu %s", view_counts(view)->states[worth[i]],
                     agent_state_name(worth[i]));
}

/* Appends what the agents have done in their work trees, all together. */
static void put_code(const struct view *view, time_t now, struct str *to)
{
    const struct code_counts *code = &view_counts(view)->code;

    (void)now;
    if (code->agents > 0)
        code_figures_format(code->ahead, code->behind, code->changed, to);
}

static void put_status(const struct view *view, time_t now, struct str *to)
{
    (void)now;
    print_status(view, to);
    str_add(to, view->row.private ? " (private)" : "");
    if (view->reason != NULL)
        str_addf(to, ": %s", view->reason);
}

static const struct column {
    const char *head;
    void (*put)(const struct view *view, time_t now, struct str *to);
    bool coloured; /* in the colour of the session's status */
    bool code; /* only if an agent of a listed session has a work tree */
} columns[] = {
    {"SESSION", put_session, false, false},   {"NAME", put_name, false, false},
    {"TEMPLATE", put_template, false, false}, {"MODE", put_mode, false, false},
    {"AGE", put_age, false, false},           {"ACTIVE", put_active, false, false},
    {"CODE", put_code, false, true},          {"AGENTS", put_agents, false, false},
    {"STATUS", put_status, true, false},
};

/* The columns to omit on a narrow terminal, in this order. */
static const char *const spare[] = {"MODE", "TEMPLATE", "ACTIVE", "AGE", "CODE", NULL};

static void add_row(struct table *table, const struct view *view, bool has_code, time_t now)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (columns[i].code && !has_code)
            continue;
        str_clear(&text);
        columns[i].put(view, now, &text);
        table_add(table, text.len > 0 ? text.data : "-",
                  columns[i].coloured ? colour_of(view->status, view->crashed) : NULL);
    }
}

static void print_table(const struct call *call, const struct survey *survey,
                        const struct all_jobs *jobs)
{
    struct table table = {.spare = spare};
    time_t now = time(NULL);
    bool has_code = false;

    for (size_t i = 0; i < survey->count; i++)
        has_code = has_code || (is_wanted(call, &survey->views[i]) &&
                                view_counts(&survey->views[i])->code.agents > 0);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        table.columns += !columns[i].code || has_code;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!columns[i].code || has_code)
            table_add(&table, columns[i].head, colour_dim());
    for (size_t i = 0; i < survey->count; i++)
        if (is_wanted(call, &survey->views[i]))
            add_row(&table, &survey->views[i], has_code, now);
    bool any = table.count > table.columns;
    if (any)
        table_print(&table);
    if (!all_jobs_print(call, jobs, any) && !any && survey->count + survey->index.left_out == 0) {
        roots_say_none(call, "no sessions");
        installed_say_ways(call);
    }
    table_free(&table);
}

static void print_json(const struct call *call, const struct survey *survey,
                       const struct all_jobs *jobs)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    int64_t total = 0;

    json_open(&out, NULL, '{');
    json_open(&out, "sessions", '[');
    for (size_t i = 0; i < survey->count; i++) {
        if (!is_wanted(call, &survey->views[i]))
            continue;
        json_open(&out, NULL, '{');
        view_put_json(&call->root, &survey->views[i], &out);
        json_close(&out, '}');
        total++;
    }
    json_close(&out, ']');
    json_put_int(&out, "total", total);
    all_jobs_put_json(call, jobs, false, &out);
    json_close(&out, '}');
    print_line(&text);
}

/* `--jobs`: what the other lists have of Slurm, alone. */
static void list_jobs(const struct call *call)
{
    _cleanup_all_jobs_ struct all_jobs jobs = ALL_JOBS_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    all_jobs_read(call, &jobs);
    if (call->quiet) {
        all_jobs_print_ids(call, &jobs);
    } else if (call->json) {
        json_open(&out, NULL, '{');
        all_jobs_put_json(call, &jobs, true, &out);
        json_close(&out, '}');
        print_line(&text);
    } else if (!all_jobs_print(call, &jobs, false)) {
        (void)fputs("no jobs\n", stderr);
    }
}

/* Warns if sessions/ is not the one that the root had. */
static void tell_strange(const struct call *call)
{
    struct err why = ERR_INIT;

    if (call->has_root && root_check(&call->root, &why) == -1)
        err_warn("%s; %s", why.text, why.hint);
}

static int run_list(struct call *call, struct err *err)
{
    if (call_opt(call, "jobs") != NULL) {
        list_jobs(call);
        return 0;
    }
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_all_jobs_ struct all_jobs jobs = ALL_JOBS_INIT;
    bool all = call_opt(call, "all") != NULL || call_opt(call, "error") != NULL;
    bool running = call_opt(call, "active") != NULL && call_opt(call, "stopped") == NULL;
    unsigned depth = (all       ? SURVEY_ALL
                      : running ? SURVEY_RUNNING
                                : SURVEY_LIVE) |
                     (call->quiet ? 0U : SURVEY_HOSTS);

    if (call->has_root && survey_take(&call->root, &call->config, depth, &survey, err) == -1)
        return -1;
    tell_strange(call);
    if (survey.index.broken != NULL)
        err_warn("the index was rebuilt from the workspaces: %s", survey.index.broken);
    if (!call->quiet)
        all_jobs_read(call, &jobs);
    if (call->quiet) {
        for (size_t i = 0; i < survey.count; i++)
            if (is_wanted(call, &survey.views[i]))
                printf("%s\n", survey.views[i].row.id);
    } else if (call->json) {
        print_json(call, &survey, &jobs);
    } else {
        print_table(call, &survey, &jobs);
    }
    return 0;
}

const struct cmd cmd_list = {
    .name = "list",
    .group = GROUP_BEGIN,
    .alias = "ls",
    .operands = "",
    .summary = "list sessions with their status, age and running agents",
    .examples = "mas list\n"
                "mas list --active\n"
                "mas list --json",
    .details =
        "mas asks each tmux server once. It trusts the index about a stopped session "
        "as long as its metadata file is the one that the index was made from; with "
        "--active, it does not look; with --all or --error, it checks every workspace. AGENTS says "
        "how many of the "
        "started agents run, and how many wait for an answer, have crashed or are "
        "asleep. CODE, for sessions with a project, adds up what their agents have done: "
        "\"+2 -1 ~3\" for 2 commits ahead of the integration branch, 1 behind it and 3 "
        "changed files. Sessions that were submitted to Slurm have a table of their own, with "
        "what Slurm says of their jobs.",
    .opts = opts,
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET | TAKES_ALL_HOSTS,
    .run = run_list,
};
