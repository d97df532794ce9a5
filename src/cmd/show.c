#include "base/number.h"
#include "base/time.h"
#include "client/sight.h"
#include "cmd.h"
#include "cmd/agents.h"
#include "cmd/print.h"
#include "cmd/table.h"
#include "store/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "idle", "exited 3", "running (no host)" */
static void describe(const struct sight *sight, size_t i, const struct tmux_pane *pane,
                     struct str *to)
{
    const struct roll_agent *agent = &sight->roll.agents[i];
    int code = sight_exit_status(agent, pane);

    str_add(to, agent->told ? agent_state_name(agent->status.state) : sight_pane_word(pane));
    if (code != -1)
        str_addf(to, " %d", code);
    if (!agent->told && pane != NULL)
        str_addf(to, " (%s)", roll_problem(&sight->roll, i));
}

/* true if one of them speaks ACP. */
static bool any_talks(const struct sight *sight)
{
    bool any = false;
    for (size_t i = 0; i < sight->roll.count; i++)
        any = any || (sight->roll.agents[i].told && sight->roll.agents[i].status.acp);
    return any;
}

/* "26dc2fb2 resumed": which it is, and how the agent came to know it. */
static void add_conversation(struct table *table, const struct roll_agent *agent)
{
    const struct agent_status *status = &agent->status;
    char text[64] = "-";

    if (agent->told && status->acp && status->conversation[0] != '\0')
        (void)snprintf(text, sizeof text, "%.8s %.20s", status->conversation, status->continuity);
    table_add(table, text, NULL);
}

static void add_agents(const struct sight *sight, struct table *table)
{
    static const char *const heads[] = {"AGENT", "ROLE",     "UNIT", "STATE",       "SINCE",
                                        "PID",   "RESTARTS", "PANE", "CONVERSATION"};
    int64_t now = time_epoch_ms();

    table->columns = ARRAY_LEN(heads) - (any_talks(sight) ? 0 : 1);
    for (size_t i = 0; i < table->columns; i++)
        table_add(table, heads[i], colour_dim());
    for (size_t i = 0; i < sight->roll.count; i++) {
        const struct roll_agent *one = &sight->roll.agents[i];
        const struct tmux_pane *pane = sight_pane(sight, one->agent->id);
        _cleanup_str_ struct str state = STR_INIT;
        char age[24];
        char pid[24] = "-";
        char restarts[24] = "-";
        describe(sight, i, pane, &state);
        agent_age(&sight->roll, i, now, age);
        if (one->told && one->status.pid != 0)
            (void)snprintf(pid, sizeof pid, "%ld", (long)one->status.pid);
        if (one->told)
            (void)snprintf(restarts, sizeof restarts, "%d", one->status.restarts);
        table_add(table, one->agent->id, NULL);
        table_add(table, one->agent->role, NULL);
        table_add(table, one->agent->group, NULL);
        table_add(table, state.data, pane != NULL ? agent_colour(&sight->roll, i) : NULL);
        table_add(table, age, NULL);
        table_add(table, pid, NULL);
        table_add(table, restarts, NULL);
        table_add(table, pane != NULL ? pane->pane : "-", NULL);
        if (table->columns == ARRAY_LEN(heads))
            add_conversation(table, one);
    }
}

static void print_fields(const struct call *call, const struct sight *sight)
{
    const struct view *view = &sight->view;
    struct table table = {.columns = 2};
    char activity[TIME_TEXT];
    char size[16];
    _cleanup_str_ struct str status = STR_INIT;
    _cleanup_free_ char *dir = workspace_path(&call->root, view->row.id, NULL);

    str_addf(&status, "%s%s%s", status_name(view->status), view->crashed ? " (crashed)" : "",
             view->migrating ? " (migrating)" : "");
    if (view->reason != NULL)
        str_addf(&status, ": %s", view->reason);
    time_format(view_activity(view), activity);
    number_format_size(sight->usage.all.real, size);
    const struct {
        const char *name, *value;
    } fields[] = {
        {"session", view->row.id},
        {"name", view_name(view)},
        {"status", status.data},
        {"tmux session", view->live != NULL ? view->live->name : view->row.tmux_name},
        {"tmux socket", view->live_socket != NULL ? view->live_socket : view->socket},
        {"template", view->row.template},
        {"mode", mode_name(view->row.mode)},
        {"private", view->row.private ? "yes" : "no"},
        {"created", view->row.created},
        {"last activity", activity},
        {"workspace", dir},
        {"disk use", size},
        {"kept apart by", "convention only"},
        {"ended by", "process group, subreaper and sweep"},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (fields[i].value == NULL || fields[i].value[0] == '\0')
            continue;
        table_add(&table, fields[i].name, colour_dim());
        table_add(&table, fields[i].value, i == 2 ? colour_of(view->status, view->crashed) : NULL);
    }
    table_print(&table);
    table_free(&table);
}

static void print_sight(const struct call *call, const struct sight *sight)
{
    static const char *const spare[] = {"PANE", "RESTARTS", "UNIT", "PID", "SINCE", NULL};
    struct table agents = {.columns = 1, .spare = spare};

    print_fields(call, sight);
    if (sight->roll.count == 0)
        return;
    (void)putchar('\n');
    add_agents(sight, &agents);
    table_print(&agents);
    table_free(&agents);
}

int print_view(const struct call *call, struct survey *survey, const char *id, struct err *err)
{
    _cleanup_sight_ struct sight sight = SIGHT_INIT;
    const struct view *view = survey_look(&call->root, survey, id);

    if (view == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot find session '%s': there is none in '%s'", id,
                       call->root.path);
    sight_look(&call->root, view, &sight);
    if (call->json) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        sight_put_json(&call->root, &sight, &out);
        print_line(&text);
    } else {
        print_sight(call, &sight);
    }
    return 0;
}

static int run_show(struct call *call, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    char id[ID_TEXT];

    if (call_select(call, call->session, id, err) == -1 ||
        survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    return print_view(call, &survey, id, err);
}

const struct cmd cmd_show = {
    .name = "show",
    .group = GROUP_SESSIONS,
    .alias = "info",
    .operands = " [SESSION]",
    .summary = "show one session whole: paths, agents, disk use",
    .examples = "mas show shop\n"
                "mas show @last --json",
    .details = "In a team's pane the session may be left out: it is that team's own.",
    .operands_max = 0,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_SESSION,
    .run = run_show,
};
