/*
 * session_detail finds everything; here it becomes rows and one table. What several agents have
 * alike, such as walls, limits or budgets, is one row with their ids in front (add_rows()).
 * print_made() is what other verbs print of a new session.
 */
#include "cmd/show.h"
#include "base/env.h"
#include "base/number.h"
#include "base/time.h"
#include "cli/agents.h"
#include "cli/jobs.h"
#include "cli/print.h"
#include "cli/table.h"
#include "client/session_detail.h"
#include "session/env.h"
#include "session/helper.h"
#include "session/launch.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/ports.h"
#include "store/workspace.h"
#include "wall/plan.h"

/* Appends the state: "idle", "exited 3", "running (no host)". */
static void describe(const struct session_detail *detail, size_t i, const struct tmux_pane *pane,
                     struct str *to)
{
    const struct roster_agent *agent = &detail->roster.agents[i];
    int code = session_detail_exit_status(agent, pane);

    str_add(to,
            agent->told ? agent_state_name(agent->status.state) : session_detail_pane_word(pane));
    if (code != -1)
        str_addf(to, " %d", code);
    if (!agent->told && pane != NULL)
        str_addf(to, " (%s)", roster_problem(&detail->roster, i));
}

/* Returns true if an agent tells of its conversation. */
static bool any_talks(const struct session_detail *detail)
{
    bool any = false;
    for (size_t i = 0; i < detail->roster.count; i++)
        any = any || (detail->roster.agents[i].told && detail->roster.agents[i].status.talks);
    return any;
}

/* Adds the conversation and how the agent knows it: "26dc2fb2 resumed". */
static void add_conversation(struct table *table, const struct roster_agent *agent)
{
    const struct agent_status *status = &agent->status;
    char text[64] = "-";

    if (agent->told && status->conversation[0] != '\0')
        (void)snprintf(text, sizeof text, "%.8s %.20s", status->conversation, status->continuity);
    table_add(table, text, NULL);
}

static void add_agents(const struct session_detail *detail, struct table *table)
{
    static const char *const heads[] = {"AGENT",        "ROLE",   "UNIT",     "STATE",
                                        "SINCE",        "PID",    "RESTARTS", "PANE",
                                        "CONVERSATION", "BRANCH", "CODE"};
    enum { CONVERSATION = 8 };
    int64_t now = time_epoch_ms();
    bool talks = any_talks(detail);
    bool has_code = agents_have_code(&detail->roster);

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (i < CONVERSATION || (i == CONVERSATION ? talks : has_code))
            table_add(table, heads[i], colour_dim());
    table->columns = table->count;
    for (size_t i = 0; i < detail->roster.count; i++) {
        const struct roster_agent *one = &detail->roster.agents[i];
        const struct tmux_pane *pane = session_detail_pane(detail, one->agent->id);
        _cleanup_str_ struct str state = STR_INIT;
        char age[24];
        char pid[24] = "-";
        char restarts[24] = "-";
        describe(detail, i, pane, &state);
        agent_age(&detail->roster, i, now, age);
        if (one->told && one->status.pid != 0)
            (void)snprintf(pid, sizeof pid, "%ld", (long)one->status.pid);
        if (one->told)
            (void)snprintf(restarts, sizeof restarts, "%d", one->status.restarts);
        table_add(table, one->agent->id, NULL);
        table_add(table, one->agent->role, NULL);
        table_add(table, one->agent->group, NULL);
        table_add(table, state.data, pane != NULL ? agent_colour(&detail->roster, i) : NULL);
        table_add(table, age, NULL);
        table_add(table, pid, NULL);
        table_add(table, restarts, NULL);
        table_add(table, pane != NULL ? pane->pane : "-", NULL);
        if (talks)
            add_conversation(table, one);
        if (has_code)
            agent_add_code_cells(&detail->roster, i, now, table);
    }
}

/* Appends "/src/shop (it is gone)", and "3 commits of mas/login/main on main". */
static void describe_project(const struct session_code *code, struct str *project, struct str *land)
{
    if (code->path == NULL)
        return;
    str_addf(project, "%s%s", code->path,
             code->kind == PROJECT_GONE    ? " (it is gone)"
             : code->kind == PROJECT_OTHER ? " (another repository is there, or none)"
                                           : "");
    if (code->problem.code != MAS_OK) {
        str_add(land, code->problem.text);
        return;
    }
    str_addf(land, "%zu commit%s of %s", code->unlanded, code->unlanded == 1 ? "" : "s",
             code->branch);
    if (code->onto[0] != '\0')
        str_addf(land, " on %s", code->onto);
}

/* Appends ".mas/setup: 2 done, 1 not run, allow it with: mas set login setup=yes". */
static void describe_setup(const struct session_setup *setup, const char *session, struct str *to)
{
    static const char *const words[] = {
        [SETUP_DONE] = "done",
        [SETUP_DUE] = "when the agent starts next",
        [SETUP_WAITS] = "not run, because nobody has allowed it",
        [SETUP_DECLINED] = "declined",
        [SETUP_CHANGED] = "not run, because it is not the one that was allowed",
    };

    if (setup->problem.code != MAS_OK) {
        str_add(to, setup->problem.text);
        return;
    }
    for (size_t i = SETUP_DONE; i < ARRAY_LEN(words); i++) {
        if (setup->counts[i] == 0)
            continue;
        str_add(to, to->len > 0           ? "; "
                    : setup->from_project ? SETUP_SCRIPT ": "
                                          : "[code] setup: ");
        str_addf(to, "%zu %s", setup->counts[i], words[i]);
        if (i == SETUP_WAITS)
            err_add_commands(to, " (mas set %s setup=yes)", session);
    }
}

/* Adds rows that say something of the agents: one for all agents with the same text, none for those
 * with "". */
static void add_rows(const struct roster *roster, const char *title, char *const *texts,
                     struct table *table)
{
    bool *done = mem_alloc((roster->count + 1) * sizeof *done);

    for (size_t i = 0; i < roster->count; i++) {
        _cleanup_str_ struct str ids = STR_INIT, row = STR_INIT;
        size_t same = 0;
        for (size_t j = i; j < roster->count && texts[i][0] != '\0' && !done[i]; j++) {
            if (strcmp(texts[i], texts[j]) != 0)
                continue;
            str_addf(&ids, "%s%s", same++ > 0 ? "," : "", roster->agents[j].agent->id);
            done[j] = j != i;
        }
        if (same == 0)
            continue;
        if (same < roster->count)
            str_addf(&row, "%s: ", ids.data);
        str_add(&row, texts[i]);
        table_add(table, title, colour_dim());
        table_add(table, row.data, NULL);
        title = "";
    }
    free(done);
}

/* ---- what holds the agents: those that run as their hosts say, the others as it would be at their
 * next start */

/* What the next start would rest on, beside the settings. */
struct next {
    const struct call *call;
    const struct config *config; /* with the presets */
    char **env; /* NULL: not needed yet */
    struct wall_probe probe;
};

/* Appends what this machine would hold. */
static void add_holders(struct next *next, const struct roster_team *team,
                        const struct agent *agent, const struct preset *preset, struct str *to)
{
    struct wall_report report = {.level = WALL_UNSET};
    struct err why = ERR_INIT;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, &why);

    if (enter == NULL) {
        str_addf(to, "; %s", why.text);
        return;
    }
    if (next->env == NULL)
        next->env = env_handed_on(&next->call->config);
    wall_probe_look(&next->probe, env_get(next->env, "PATH"), enter);
    const struct wall_subject subject = {.root = team->root,
                                         .config = next->config,
                                         .id = team->id,
                                         .team = &team->team,
                                         .agent = agent,
                                         .preset = preset,
                                         .enter = enter,
                                         .env = next->env};
    wall_foresee(&subject, &next->probe, &report);
    if (report.level == WALL_REQUIRE && report.missing[0] != '\0') {
        str_addf(to, "; it would not start: %s", report.missing);
        return;
    }
    str_add(to, "; ");
    wall_report_foretell(&report, to);
}

/* Appends what would hold an agent whose host does not answer. */
static void foretell(struct next *next, const struct roster_team *team, const struct agent *agent,
                     const struct next_wall *wall, struct str *to)
{
    struct err ignored = ERR_INIT;

    str_addf(to, "at the next start: %s (", wall_level_name(wall->level));
    wall_source_describe(next->config, wall->source, wall->preset, to);
    str_addc(to, ')');
    if (wall->level != WALL_OFF &&
        owner_check(team->root, team->dir, team->id, "start", &ignored) == 0)
        add_holders(next, team, agent, wall->preset, to);
}

/* Appends what holds an agent. Of one behind a wall its host has told all there is to say. */
static void describe_wall(struct next *next, const struct session_bounds *bounds,
                          const struct roster_team *team, const struct roster_agent *agent,
                          const struct next_wall *wall, struct str *to)
{
    if (agent->told)
        wall_report_describe(&agent->status.wall, to);
    else if (wall->preset != NULL)
        foretell(next, team, agent->agent, wall, to);
    else
        str_addf(to, "at the next start: unknown, because %s",
                 bounds->has_config ? "there is no such preset" : bounds->problem.text);
    bool is_walled = agent->told && agent->status.wall.level != WALL_OFF;
    _cleanup_free_ char *place = session_detail_mas_dir(agent);
    if (place != NULL)
        str_addf(to, "; mas: %s", place);
    if (!is_walled && wall->preset != NULL && wall->source == WALL_BY_NOTHING)
        err_add_commands(to, "; put them up with: mas start --wall %s", team->id);
}

static void find_walls(const struct call *call, const struct session_detail *detail, char **texts)
{
    const struct roster *roster = &detail->roster;
    const struct session_bounds *bounds = &detail->bounds;
    struct next next = {.call = call, .config = &bounds->config, .probe = WALL_PROBE_INIT};

    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        struct str text = STR_INIT;
        describe_wall(&next, bounds, &roster->teams[agent->team], agent, &bounds->walls[i], &text);
        texts[i] = str_steal(&text);
    }
    wall_probe_free(&next.probe);
    strv_free(next.env);
}

/* ---- rows of the session */

static void add_walls(const struct call *call, const struct session_detail *detail,
                      struct table *table)
{
    _cleanup_strv_ char **texts = mem_alloc((detail->roster.count + 1) * sizeof *texts);

    find_walls(call, detail, texts);
    add_rows(&detail->roster, "walls", texts, table);
}

static void add_limits(const struct session_detail *detail, struct table *table)
{
    const struct roster *roster = &detail->roster;
    _cleanup_strv_ char **texts = mem_alloc((roster->count + 1) * sizeof *texts);

    for (size_t i = 0; i < roster->count; i++) {
        struct str text = STR_INIT;
        limits_held_describe(&roster->agents[i].status.limits, &text);
        texts[i] = str_steal(&text);
    }
    add_rows(roster, "limits", texts, table);
}

static void add_ports_and_accounts(const struct session_detail *detail, struct table *table)
{
    const struct roster *roster = &detail->roster;
    _cleanup_strv_ char **texts = mem_alloc((roster->count + 1) * sizeof *texts);
    _cleanup_strv_ char **accounts = mem_alloc((roster->count + 1) * sizeof *accounts);

    for (size_t i = 0; i < roster->count; i++) {
        const struct agent_status *status = &roster->agents[i].status;
        int port = status->port;
        texts[i] = port == 0 ? mem_dup("") : mem_printf("%d-%d", port, port + PORTS_EACH - 1);
        accounts[i] = mem_dup(status->account != NULL ? status->account : "");
    }
    add_rows(roster, "ports", texts, table);
    add_rows(roster, "accounts", accounts, table);
}

/* Adds the budget of all agents together, and those of each. */
static void add_budgets(const struct session_detail *detail, struct table *table)
{
    const struct roster *roster = &detail->roster;
    _cleanup_strv_ char **texts = mem_alloc((roster->count + 1) * sizeof *texts);
    _cleanup_str_ struct str team = STR_INIT;

    budget_held_describe(&detail->bounds.budget, &team);
    if (detail->bounds.problem.code != MAS_OK)
        str_addf(&team, "unknown: %s", detail->bounds.problem.text);
    if (team.len > 0) {
        table_add(table, "team budget", colour_dim());
        table_add(table, team.data, NULL);
    }
    for (size_t i = 0; i < roster->count; i++) {
        struct str text = STR_INIT;
        budget_held_describe(&detail->bounds.agents[i], &text);
        texts[i] = str_steal(&text);
    }
    add_rows(roster, "agent budgets", texts, table);
}

static void print_fields(const struct call *call, const struct session_detail *detail)
{
    const struct view *view = &detail->view;
    struct table table = {.columns = 2};
    char activity[TIME_TEXT];
    char size[16];
    _cleanup_str_ struct str status = STR_INIT;
    _cleanup_free_ char *dir = workspace_path(&call->root, view->row.id, NULL);

    print_status(view, &status);
    if (view->reason != NULL)
        str_addf(&status, ": %s", view->reason);
    time_format(view_activity(view), activity);
    number_format_size(detail->usage.all.real, size);
    _cleanup_str_ struct str project = STR_INIT;
    _cleanup_str_ struct str land = STR_INIT;
    describe_project(&detail->code, &project, &land);
    _cleanup_str_ struct str setup = STR_INIT;
    describe_setup(&detail->code.setup, session_label(&call->root, view->row.id).text, &setup);
    _cleanup_str_ struct str tried = STR_INIT;
    if (detail->code.tried.agent != NULL)
        str_addf(&tried, "files of agent '%s', tried in %s", detail->code.tried.agent,
                 detail->code.tried.top);
    _cleanup_str_ struct str lost = STR_INIT;
    if (view->lost_after != 0) {
        char when[TIME_TEXT];
        time_format(view->lost_after, when);
        str_addf(&lost, "what came after the save of %s", when);
    }
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
        {"lost", str_text(&lost)},
        {"workspace", dir},
        {"disk use", size},
        {"project", str_text(&project)},
        {"to land", str_text(&land)},
        {"setup", str_text(&setup)},
        {"tried", str_text(&tried)},
        {"ended by", "process group, subreaper and sweep"},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (fields[i].value == NULL || fields[i].value[0] == '\0')
            continue;
        table_add(&table, fields[i].name, colour_dim());
        table_add(&table, fields[i].value, i == 2 ? colour_of(view->status, view->crashed) : NULL);
    }
    add_walls(call, detail, &table);
    add_limits(detail, &table);
    add_ports_and_accounts(detail, &table);
    add_budgets(detail, &table);
    table_print(&table);
    table_free(&table);
}

static void print_detail(const struct call *call, const struct session_detail *detail)
{
    static const char *const spare[] = {"PANE", "RESTARTS", "UNIT", "PID", "BRANCH", "SINCE", NULL};
    struct table agents = {.columns = 1, .spare = spare};

    print_fields(call, detail);
    if (detail->roster.count == 0)
        return;
    (void)putchar('\n');
    add_agents(detail, &agents);
    table_print(&agents);
    table_free(&agents);
}

static int print_view(const struct call *call, struct survey *survey, const char *id,
                      struct err *err)
{
    _cleanup_session_detail_ struct session_detail detail = SESSION_DETAIL_INIT;
    const struct view *view = survey_look(&call->root, survey, id);

    if (view == NULL)
        return survey_no_session(call->root.path, id, err);
    session_detail_look(&call->root, view, true, &detail);
    if (call->json) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        session_detail_put_json(&call->root, &detail, &out);
        print_line(&text);
    } else {
        print_detail(call, &detail);
    }
    return 0;
}

int print_made(const struct call *call, const struct session *session, bool started,
               struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_str_ struct str line = STR_INIT;

    if (call->quiet) {
        printf("%s\n", session->id);
        return 0;
    }
    if (call->json) {
        if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
            return -1;
        return print_view(call, &survey, session->id, err);
    }
    const char *word = session->name[0] != '\0' ? session->name : session->tmux_name;
    str_addf(&line, "%s  %s\nworkspace: ", session->tmux_name, session->id);
    str_add_visible(&line, call->root.path, strlen(call->root.path));
    str_addf(&line, "/%s/%s\n", ROOT_SESSIONS, session->id);
    if (placement_is_shared(session->mode)) {
        _cleanup_free_ char *unit =
            placement_path(&call->root, session->id, session->mode, WORKSPACE_UNIT);
        str_add(&line, "agents: ");
        str_add_visible(&line, unit, strlen(unit));
        str_addc(&line, '\n');
    }
    err_add_commands(&line, started ? "attach: mas attach %s" : "start: mas start %s", word);
    print_line(&line);
    return 0;
}

static int run_show(struct call *call, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    char id[ID_TEXT];

    if (call_select(call, call->session, id, err) == -1)
        return all_jobs_act(call, call->session, err);
    if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    return print_view(call, &survey, id, err);
}

static const struct cmd_job job = {.act = job_show};

const struct cmd cmd_show = {
    .name = "show",
    .group = GROUP_SESSIONS,
    .alias = "info",
    .operands = " [SESSION]",
    .summary = "show a session in full: paths, agents, disk use",
    .examples = "mas show shop\n"
                "mas show @last --json",
    .details = "Inside a team's pane, SESSION may be omitted; the default is the team's own "
               "session.",
    .operands_max = 0,
    .root = ROOT_IF_THERE,
    .on = ON_SESSION,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .job = &job,
    .run = run_show,
};
