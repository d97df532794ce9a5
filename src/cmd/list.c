#include "base/time.h"
#include "client/survey.h"
#include "cmd.h"
#include "cmd/print.h"
#include "cmd/roots.h"
#include "cmd/table.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
    {0, "active", NULL, "only those that run", OFFER_NONE},
    {0, "stopped", NULL, "only those that are stopped", OFFER_NONE},
    {0, "error", NULL, "only those with something wrong", OFFER_NONE},
    {0, "all", NULL, "check every workspace instead of trusting the index", OFFER_NONE},
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

/* "13/13", and what somebody may have to see to. */
static void count_agents(const struct view *view, struct str *to)
{
    static const enum agent_state worth[] = {AGENT_WAITING, AGENT_CRASHED, AGENT_ASLEEP};

    str_addf(to, "%zu/%zu", view_running(view), view->live->running + view->live->ended);
    for (size_t i = 0; i < ARRAY_LEN(worth); i++)
        if (view->tally.states[worth[i]] > 0)
            str_addf(to, ", %zu %s", view->tally.states[worth[i]], agent_state_name(worth[i]));
}

static void add_row(struct table *table, const struct view *view, time_t now)
{
    char age[24];
    char active[24];
    _cleanup_str_ struct str agents = STR_INIT;
    _cleanup_str_ struct str status = STR_INIT;
    const char *colour = colour_of(view->status, view->crashed);
    time_t created = 0;

    (void)time_parse(view->row.created, &created);
    time_age(created, now, age);
    time_age(view_activity(view), now, active);
    if (view->live != NULL)
        count_agents(view, &agents);
    str_add(&status, status_name(view->status));
    if (view->crashed)
        str_add(&status, " (crashed)");
    if (view->migrating)
        str_add(&status, " (migrating)");
    if (view->row.private)
        str_add(&status, " (private)");
    if (view->reason != NULL)
        str_addf(&status, ": %s", view->reason);
    table_add(table, view->live != NULL ? view->live->name : view->row.tmux_name, NULL);
    table_add(table, view_name(view)[0] != '\0' ? view_name(view) : "-", NULL);
    table_add(table, view->row.template[0] != '\0' ? view->row.template : "-", NULL);
    table_add(table, mode_name(view->row.mode), NULL);
    table_add(table, created != 0 ? age : "-",
              NULL); /* of one without a workspace nothing is known */
    table_add(table, created != 0 ? active : "-", NULL);
    table_add(table, view->live != NULL ? agents.data : "-", NULL);
    table_add(table, status.data, colour);
}

static void print_table(const struct call *call, const struct survey *survey)
{
    static const char *const heads[] = {"SESSION", "NAME",   "TEMPLATE", "MODE",
                                        "AGE",     "ACTIVE", "AGENTS",   "STATUS"};
    static const char *const spare[] = {"MODE", "TEMPLATE", "ACTIVE", "AGE", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};
    time_t now = time(NULL);

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_add(&table, heads[i], colour_dim());
    for (size_t i = 0; i < survey->count; i++)
        if (is_wanted(call, &survey->views[i]))
            add_row(&table, &survey->views[i], now);
    if (table.count > table.columns)
        table_print(&table);
    else if (survey->count == 0)
        roots_say_none(call, "no sessions");
    table_free(&table);
}

static void print_json(const struct call *call, const struct survey *survey)
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
    json_close(&out, '}');
    print_line(&text);
}

static int run_list(struct call *call, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    bool all = call_opt(call, "all") != NULL || call_opt(call, "error") != NULL;
    unsigned depth = (all ? SURVEY_ALL : SURVEY_LIVE) | (call->quiet ? 0U : SURVEY_HOSTS);

    if (call->has_root && survey_take(&call->root, &call->config, depth, &survey, err) == -1)
        return -1;
    if (survey.index.broken != NULL)
        err_warn("the index was made anew from the workspaces: %s", survey.index.broken);
    if (call->quiet) {
        for (size_t i = 0; i < survey.count; i++)
            if (is_wanted(call, &survey.views[i]))
                printf("%s\n", survey.views[i].row.id);
    } else if (call->json) {
        print_json(call, &survey);
    } else {
        print_table(call, &survey);
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
        "Asks each tmux server once. Sessions that are stopped in the index are believed while "
        "their\n"
        "metadata is the same file; --all and --error check every workspace. AGENTS counts those "
        "that run, of those that were started, and "
        "tells how many\n"
        "wait for an answer, have crashed, or sleep until they are needed.",
    .opts = opts,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_QUIET,
    .run = run_list,
};
