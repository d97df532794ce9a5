#include "base/number.h"
#include "base/time.h"
#include "cmd.h"
#include "cmd/agents.h"
#include "cmd/print.h"
#include "core/survey.h"
#include "core/usage.h"
#include "core/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that is known of one session. */
struct sight {
    struct view view; /* a copy, with what the hosts said */
    struct roll roll; /* empty where the team cannot be read */
    struct tmux_pane *panes;
    size_t pane_count;
    struct usage usage;
};

static void sight_free(struct sight *sight)
{
    roll_free(&sight->roll);
    usage_free(&sight->usage);
    free(sight->panes);
}

/* Reads what is there; what is not stays empty, the view says why. */
static void look(const struct call *call, const struct view *view, struct sight *ret)
{
    struct err ignored = ERR_INIT;
    struct roll_team team;
    const struct usage_wish wish = {.id = view->row.id, .mode = view->row.mode};

    ret->view = *view;
    if (roll_open(&call->root, view->row.id, &team, &ignored) == 0) {
        (void)roll_add(&ret->roll, &team, NULL, &ignored);
        roll_ask(&ret->roll, "{\"do\":\"status\"}", NULL, 0);
    }
    usage_measure(&call->root, &wish, 1, &ret->usage, NULL);
    if (view->live != NULL)
        (void)tmux_panes(view->live_socket, view->live->target, view->row.id, &ret->panes,
                         &ret->pane_count, &ignored);
    roll_finish(&ret->roll, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < ret->roll.count; i++)
        if (ret->roll.agents[i].told) {
            ret->view.tally.told++;
            ret->view.tally.states[ret->roll.agents[i].status.state]++;
        }
}

static const struct tmux_pane *find_pane(const struct sight *sight, const char *agent)
{
    for (size_t i = 0; i < sight->pane_count; i++)
        if (strcmp(sight->panes[i].agent, agent) == 0)
            return &sight->panes[i];
    return NULL;
}

/* What tmux sees of an agent whose host says nothing. */
static const char *state_of(const struct tmux_pane *pane)
{
    return pane == NULL ? "stopped" : pane->dead ? "exited" : "running";
}

/* The code that an agent ended with, 128 + signal; -1 where it did not. */
static int exit_status(const struct roll_agent *agent, const struct tmux_pane *pane)
{
    if (!agent->told)
        return pane != NULL && pane->dead ? pane->exit_status : -1;
    if (agent->status.state != AGENT_EXITED && agent->status.state != AGENT_CRASHED)
        return -1;
    return agent->status.signal != 0 ? 128 + agent->status.signal : agent->status.exit_code;
}

/* "idle", "exited 3", "running (no host)" */
static void describe(const struct sight *sight, size_t i, const struct tmux_pane *pane,
                     struct str *to)
{
    const struct roll_agent *agent = &sight->roll.agents[i];
    int code = exit_status(agent, pane);

    str_add(to, agent->told ? agent_state_name(agent->status.state) : state_of(pane));
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
        const struct tmux_pane *pane = find_pane(sight, one->agent->id);
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
    struct table agents = {.columns = 1};

    print_fields(call, sight);
    if (sight->roll.count == 0)
        return;
    (void)putchar('\n');
    add_agents(sight, &agents);
    table_print(&agents);
    table_free(&agents);
}

static void put_agent(const struct sight *sight, size_t i, struct json_out *out)
{
    const struct roll_agent *one = &sight->roll.agents[i];
    const struct tmux_pane *pane = find_pane(sight, one->agent->id);
    int code = exit_status(one, pane);

    json_open(out, NULL, '{');
    json_put(out, "id", one->agent->id);
    json_put(out, "role", one->agent->role);
    json_put(out, "rank", rank_name(one->agent->rank));
    json_put(out, "group", one->agent->group);
    json_put(out, "preset", one->agent->preset);
    json_put(out, "model", one->agent->model);
    if (one->told) {
        agent_status_put(&one->status, out);
    } else {
        json_put(out, "state", state_of(pane));
        if (pane != NULL) {
            json_put(out, "problem", roll_problem(&sight->roll, i));
            json_put(out, "pane", pane->pane);
        }
    }
    if (code != -1)
        json_put_int(out, "exitStatus", code);
    json_close(out, '}');
}

static void put_sight(const struct call *call, const struct sight *sight, struct json_out *out)
{
    const struct view *view = &sight->view;
    struct session session = {.mode = view->row.mode};
    memcpy(session.id, view->row.id, ID_TEXT);
    _cleanup_free_ char *unit = workspace_part_path(&call->root, &session, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        workspace_part_path(&call->root, &session, WORKSPACE_WORKFLOWS);

    json_open(out, NULL, '{');
    view_put_json(&call->root, view, out);
    json_put(out, "tmuxSocket", view->live_socket != NULL ? view->live_socket : view->socket);
    json_put(out, "unitDir", unit);
    json_put(out, "workflowsDir", workflows);
    json_put(out, "protection", "none");
    json_put(out, "endedBy", "sweep");
    json_open(out, "disk", '{');
    json_put_int(out, "files", (int64_t)sight->usage.all.files);
    json_put_int(out, "apparentBytes", (int64_t)sight->usage.all.apparent);
    json_put_int(out, "realBytes", (int64_t)sight->usage.all.real);
    json_close(out, '}');
    json_open(out, "agents", '[');
    for (size_t i = 0; i < sight->roll.count; i++)
        put_agent(sight, i, out);
    json_close(out, ']');
    json_close(out, '}');
}

int print_view(const struct call *call, struct survey *survey, const char *id, struct err *err)
{
    struct sight sight = {.roll = ROLL_INIT, .usage = USAGE_INIT};
    const struct view *view = survey_look(&call->root, survey, id);

    if (view == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot find session '%s': there is none", id);
    look(call, view, &sight);
    if (call->json) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        put_sight(call, &sight, &out);
        print_line(&text);
    } else {
        print_sight(call, &sight);
    }
    sight_free(&sight);
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
    .alias = "info",
    .operands = " [SESSION]",
    .summary = "show one session whole: paths, agents, disk use",
    .details = "In a team's pane the session may be left out: it is that team's own.",
    .operands_max = 0,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_SESSION,
    .run = run_show,
};
