/*
 * session_detail_look() asks the hosts first, measures the disk and asks tmux while they work, and
 * only then waits for their answers; work trees of agents that have told nothing are looked at
 * last. What cannot be found stays empty and never makes it fail. The rest of the file writes the
 * JSON of `mas show`; its text is in cmd/show.c.
 */

#include "client/session_detail.h"

#include "client/look.h"
#include "code/work.h"
#include "memory/budgets.h"
#include "os/proc.h"
#include "store/limits/session_limits.h"
#include "store/placement.h"
#include "store/ports.h"
#include "store/workspace.h"

/* ---- budgets, limits and walls */

void session_bounds_free(struct session_bounds *bounds)
{
    free(bounds->walls);
    free(bounds->agents);
    config_free(&bounds->config);
}

/* Sets how much an agent uses of its limits, as far as its host knows. */
static void count(struct agent_status *status, const struct usage *usage)
{
    struct limit_held *of = status->limits.of;

    of[LIMIT_SESSION].used = (int64_t)usage->all.real;
    of[LIMIT_AGENT].used = status->disk.known ? status->disk.used : 0;
    of[LIMIT_MEMORY].used = status->resources.memory;
    of[LIMIT_PROCESSES].used = status->resources.processes;
}

static void look_at_walls(const struct roster *roster, struct session_bounds *bounds)
{
    const struct team *team = &roster->teams[0].team;
    const struct config *config = &bounds->config;

    for (size_t i = 0; i < roster->count; i++) {
        const struct agent *agent = roster->agents[i].agent;
        const struct preset *preset = config_agent_preset(config, team, agent);
        if (preset != NULL)
            bounds->walls[i] =
                (struct next_wall){.preset = preset,
                                   .level = wall_level_of(config, team, agent, preset),
                                   .source = wall_source_of(config, team, agent, preset)};
    }
}

/* Reads the limits as the hosts do when they start. */
static void look_at_limits(struct roster *roster, const struct usage *usage,
                           struct session_bounds *bounds)
{
    const struct config *config = &bounds->config;
    const struct roster_team *team = &roster->teams[0];
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    struct err ignored = ERR_INIT;

    (void)session_limits_read(team->dir, &limits, &ignored);
    bounds->limits = session_limits_hold(&limits, config, NULL, NULL);
    bounds->limits.of[LIMIT_SESSION].used = (int64_t)usage->all.real;
    for (size_t i = 0; i < roster->count; i++) {
        struct roster_agent *one = &roster->agents[i];
        if (!one->told) {
            one->status.resources = (struct agent_resources){-1, -1, -1};
            one->status.limits =
                session_limits_hold(&limits, config, one->agent, bounds->walls[i].preset);
        }
        count(&one->status, usage);
    }
}

static int look_at_budget(struct store *store, const struct budgets_subject *of,
                          struct budget_held *ret, struct err *err)
{
    if (budgets_read(store, of, ret, err) == -1)
        return -1;
    return budgets_count(store, of, ret, err);
}

static int look_at_budgets(const struct roster *roster, struct session_bounds *bounds,
                           struct err *err)
{
    const struct roster_team *team = &roster->teams[0];
    struct budgets_subject of = {.config = &bounds->config, .team = &team->team};
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;

    if (store_open(team->dir, team->id, NULL, false, &store, &why) == -1 &&
        why.code != MAS_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (look_at_budget(store, &of, &bounds->budget, err) == -1)
        return -1;
    for (size_t i = 0; i < roster->count; i++) {
        of.agent = roster->agents[i].agent;
        of.preset = bounds->walls[i].preset;
        if (look_at_budget(store, &of, &bounds->agents[i], err) == -1)
            return -1;
    }
    return 0;
}

void session_bounds_look(struct roster *roster, const struct usage *usage,
                         struct session_bounds *ret)
{
    if (roster->team_count == 0)
        return;
    ret->agents = mem_alloc((roster->count + 1) * sizeof *ret->agents);
    ret->walls = mem_alloc((roster->count + 1) * sizeof *ret->walls);
    if (config_load(roster->teams[0].root, true, &ret->config, NULL, &ret->problem) == -1)
        return;
    ret->has_config = true;
    look_at_walls(roster, ret);
    look_at_limits(roster, usage, ret);
    (void)look_at_budgets(roster, ret, &ret->problem);
}

/* ---- all of it */

void session_detail_free(struct session_detail *detail)
{
    roster_free(&detail->roster);
    usage_free(&detail->usage);
    session_bounds_free(&detail->bounds);
    repo_free(&detail->code.repo);
    tried_place_free(&detail->code.tried);
    free(detail->panes);
    free(detail->view.counts);
}

/* Finds out in which work trees the setup has run. */
static void look_at_setup(const struct root *root, struct session_detail *detail)
{
    struct session_setup *look = &detail->code.setup;
    const struct repo *repo = &detail->code.repo;
    struct setup setup;

    if (setup_load(repo, &setup, &look->problem) == -1)
        return;
    look->exists = setup.exists;
    look->from_project = setup.from_project;
    for (size_t i = 0; setup.exists && i < detail->roster.count; i++) {
        const struct agent *agent = detail->roster.agents[i].agent;
        enum setup_state state = SETUP_NONE;
        if (agent->code == AGENT_CODE_WORKTREE &&
            setup_look(root, repo, agent->id, &state, &look->problem) == 0)
            look->counts[state]++;
    }
}

/* Asks git of the project, and of the work trees of agents whose hosts told nothing of them. */
static void ask_git(const struct root *root, struct session_detail *detail)
{
    struct session_code *code = &detail->code;
    const struct git own = repo_git(&code->repo);

    code->kind = project_look(&own, code->path, detail->roster.teams[0].team.project.base);
    (void)repo_count_unlanded(&code->repo, &code->unlanded, &code->problem);
    for (size_t i = 0; i < detail->roster.count; i++)
        look_at(root, &detail->roster, i);
}

static void look_at_code(const struct root *root, bool git, struct session_detail *detail)
{
    struct session_code *code = &detail->code;
    const struct team_project *project =
        detail->roster.team_count > 0 ? &detail->roster.teams[0].team.project : NULL;

    if (project == NULL || project->path == NULL)
        return;
    repo_of(root, detail->view.row.id, project->label, &code->repo);
    code->path = project->path;
    code->branch = code->repo.main + strlen("refs/heads/");
    code->onto = str_starts(project->onto, "refs/heads/") ? project->onto + strlen("refs/heads/")
                                                          : project->onto;
    look_at_setup(root, detail);
    (void)tried_look(detail->roster.teams[0].dir, &code->tried);
    if (git) {
        ask_git(root, detail);
    } else {
        code->kind = project_look(NULL, code->path, project->base);
        (void)err_set(&code->problem, MAS_FAILED, "git was not asked");
    }
}

/* Fills in the ports of agents whose hosts do not tell them. */
static void look_at_ports(const struct root *root, struct session_detail *detail)
{
    struct roster *roster = &detail->roster;

    if (roster->team_count == 0)
        return;
    const struct team *team = &roster->teams[0].team;
    _cleanup_free_ int *ports = ports_find(root, roster->teams[0].id, team);
    for (size_t i = 0; i < roster->count; i++)
        if (!roster->agents[i].told)
            roster->agents[i].status.port = ports[roster->agents[i].agent - team->agents];
}

void session_detail_look(const struct root *root, const struct view *view, bool git,
                         struct session_detail *ret)
{
    struct err ignored = ERR_INIT;
    struct roster_team team;
    const struct usage_options options = {.id = view->row.id, .mode = view->row.mode};

    ret->view = *view;
    ret->view.counts = NULL;
    view_set_counts(&ret->view, view_counts(view));
    if (roster_open(root, view->row.id, &team, &ignored) == 0) {
        (void)roster_add(&ret->roster, &team, NULL, &ignored);
        roster_ask(&ret->roster, "{\"do\":\"status\"}", NULL, 0);
    }
    usage_measure(root, &options, 1, &ret->usage, NULL);
    if (view->live != NULL)
        (void)tmux_panes(view->live_socket, view->live->target, view->row.id, &ret->panes,
                         &ret->pane_count, &ignored);
    roster_finish(&ret->roster, HOSTS_ANSWER_MS);
    look_at_code(root, git, ret);
    look_at_ports(root, ret);
    session_bounds_look(&ret->roster, &ret->usage, &ret->bounds);
    for (size_t i = 0; i < ret->roster.count; i++) {
        const struct agent_status *status = &ret->roster.agents[i].status;
        if (ret->roster.agents[i].told)
            agent_counts_add(ret->view.counts, status->state, &status->usage, &status->code,
                             &status->resources);
    }
}

const struct tmux_pane *session_detail_pane(const struct session_detail *detail, const char *agent)
{
    for (size_t i = 0; i < detail->pane_count; i++)
        if (strcmp(detail->panes[i].agent, agent) == 0)
            return &detail->panes[i];
    return NULL;
}

const char *session_detail_pane_word(const struct tmux_pane *pane)
{
    return pane == NULL ? "stopped" : pane->dead ? "exited" : "running";
}

int session_detail_exit_status(const struct roster_agent *agent, const struct tmux_pane *pane)
{
    if (!agent->told)
        return pane != NULL && pane->dead ? pane->exit_status : -1;
    if (agent->status.state != AGENT_EXITED && agent->status.state != AGENT_CRASHED)
        return -1;
    return agent->status.signal != 0 ? 128 + agent->status.signal : agent->status.exit_code;
}

char *session_detail_mas_dir(const struct roster_agent *agent)
{
    bool is_walled = agent->told && agent->status.wall.held_by[WALL_FILES][0] != '\0';
    _cleanup_free_ char *program = is_walled ? proc_program((pid_t)agent->status.host_pid) : NULL;
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;

    return slash != NULL && slash != program ? mem_dupn(program, (size_t)(slash - program)) : NULL;
}

static void put_next_wall(const struct session_bounds *bounds, size_t i, struct json_out *out)
{
    const struct next_wall *wall = &bounds->walls[i];
    _cleanup_str_ struct str from = STR_INIT;

    if (wall->level == WALL_UNSET) {
        json_put(out, "nextWall", NULL);
        return;
    }
    json_open(out, "nextWall", '{');
    json_put(out, "level", wall_level_name(wall->level));
    wall_source_describe(&bounds->config, wall->source, wall->preset, &from);
    json_put(out, "from", str_text(&from));
    json_close(out, '}');
}

static void put_agent(const struct session_detail *detail, size_t i, struct json_out *out)
{
    const struct roster_agent *one = &detail->roster.agents[i];
    const struct tmux_pane *pane = session_detail_pane(detail, one->agent->id);
    int code = session_detail_exit_status(one, pane);

    json_open(out, NULL, '{');
    json_put_all(out, JT("id", one->agent->id), JT("role", one->agent->role),
                 JT("rank", rank_name(one->agent->rank)), JT("group", one->agent->group),
                 JT("preset", one->agent->preset), JT("model", one->agent->model));
    if (one->told) {
        _cleanup_free_ char *place = session_detail_mas_dir(one);
        agent_status_put(&one->status, out);
        json_put(out, "masDir", place);
    } else {
        json_put(out, "state", session_detail_pane_word(pane));
        if (pane != NULL) {
            json_put(out, "problem", roster_problem(&detail->roster, i));
            json_put(out, "pane", pane->pane);
        }
        if (one->status.port != 0)
            json_put_int(out, "port", one->status.port);
        else
            json_put(out, "port", NULL);
        code_figures_put(&one->status.code, out);
        limits_held_put(&one->status.limits, out);
        put_next_wall(&detail->bounds, i, out);
    }
    budget_held_put(&detail->bounds.agents[i], out);
    if (code != -1)
        json_put_int(out, "exitStatus", code);
    json_close(out, '}');
}

static void put_setup(const struct session_setup *setup, struct json_out *out)
{
    if (!setup->exists) {
        json_put(out, "setup", NULL);
        return;
    }
    json_open(out, "setup", '{');
    json_put(out, "from", setup->from_project ? "project" : "setting");
    for (enum setup_state state = SETUP_DONE; state <= SETUP_CHANGED; state++)
        json_put_int(out, setup_state_name(state), (int64_t)setup->counts[state]);
    json_close(out, '}');
}

static void put_code(const struct session_code *code, struct json_out *out)
{
    if (code->path == NULL) {
        json_put(out, "project", NULL);
        return;
    }
    json_open(out, "project", '{');
    json_put_all(out, JT("path", code->path), JB("gone", code->kind == PROJECT_GONE));
    if (code->kind == PROJECT_UNKNOWN)
        json_put(out, "replaced", NULL);
    else
        json_put_bool(out, "replaced", code->kind == PROJECT_OTHER);
    json_put_all(out, JT("branch", code->branch),
                 JT("onto", code->onto[0] != '\0' ? code->onto : NULL));
    if (code->problem.code == MAS_OK)
        json_put_int(out, "unlanded", (int64_t)code->unlanded);
    else
        json_put(out, "unlanded", NULL);
    put_setup(&code->setup, out);
    if (code->tried.agent == NULL)
        json_put(out, "tried", NULL);
    else
        json_put_all(out, JO("tried"), JT("agent", code->tried.agent), JT("dir", code->tried.top),
                     JT("since", code->tried.since), JB("half", code->tried.half), JOE);
    json_close(out, '}');
}

/* Returns what keeps the agents from other teams: "walls" around all that run, "some" or "none". */
static const char *protection_of(const struct session_detail *detail)
{
    size_t told = 0, held = 0;

    for (size_t i = 0; i < detail->roster.count; i++) {
        const struct roster_agent *agent = &detail->roster.agents[i];
        told += agent->told;
        held += agent->told && agent->status.wall.held_by[WALL_FILES][0] != '\0';
    }
    return held == 0 ? "none" : held == told ? "walls" : "some";
}

void session_detail_put_json(const struct root *root, const struct session_detail *detail,
                             struct json_out *out)
{
    const struct view *view = &detail->view;
    struct session session = {.mode = view->row.mode};
    memcpy(session.id, view->row.id, ID_TEXT);
    _cleanup_free_ char *unit = placement_path(root, session.id, session.mode, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        placement_path(root, session.id, session.mode, WORKSPACE_WORKFLOWS);

    json_open(out, NULL, '{');
    view_put_json(root, view, out);
    json_put_all(
        out, JT("tmuxSocket", view->live_socket != NULL ? view->live_socket : view->socket),
        JT("unitDir", unit), JT("workflowsDir", workflows), JT("protection", protection_of(detail)),
        JT("endedBy", "sweep"), JO("disk"), JI("files", detail->usage.all.files),
        JI("apparentBytes", detail->usage.all.apparent), JI("realBytes", detail->usage.all.real),
        JOE);
    limits_held_put(&detail->bounds.limits, out);
    budget_held_put(&detail->bounds.budget, out);
    json_put(out, "boundsProblem",
             detail->bounds.problem.code != MAS_OK ? detail->bounds.problem.text : NULL);
    put_code(&detail->code, out);
    json_open(out, "agents", '[');
    for (size_t i = 0; i < detail->roster.count; i++)
        put_agent(detail, i, out);
    json_close(out, ']');
    json_close(out, '}');
}
