/*
 * The words of a team, then how one is put together: template.ini (team_ini.c) and config.json use
 * the same functions for it, and team_complete() checks and completes what either has read. Then
 * the members in JSON, written and read back. A member that is missing was not said.
 */

#include "model/team.h"

#include "model/layout.h"
#include "model/message.h"
#include "model/team_internal.h"

#define WALL_AS_SET "default" /* the level is that of each agent */

static const char *const rank_names[RANK_COUNT] = {"meta", "manager", "worker"};

static const struct {
    const char *name;
    enum reach bit;
} reaches[] = {{"manager", REACH_MANAGER},   {"unit", REACH_UNIT}, {"workers", REACH_WORKERS},
               {"managers", REACH_MANAGERS}, {"meta", REACH_META}, {"all", REACH_ALL}};

const char *rank_name(enum rank rank)
{
    return rank_names[rank];
}

int team_rank_parse(const char *text, enum rank *ret)
{
    for (size_t i = 0; i < RANK_COUNT; i++) {
        if (strcmp(text, rank_names[i]) != 0)
            continue;
        *ret = (enum rank)i;
        return 0;
    }
    return -1;
}

int team_reach_parse(const char *text, unsigned *ret)
{
    unsigned set = 0;
    _cleanup_strv_ char **words = str_split_list(text);

    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t i = 0;
        while (i < ARRAY_LEN(reaches) && strcmp(*word, reaches[i].name) != 0)
            i++;
        if (i == ARRAY_LEN(reaches))
            return -1;
        set |= (unsigned)reaches[i].bit;
    }
    *ret = set;
    return 0;
}

void team_add_reach(struct str *to, unsigned set)
{
    const char *separator = "";
    for (size_t i = 0; i < ARRAY_LEN(reaches); i++) {
        if ((set & (unsigned)reaches[i].bit) == 0)
            continue;
        str_addf(to, "%s%s", separator, reaches[i].name);
        separator = ", ";
    }
}

unsigned team_reach(const struct agent *from, const struct agent *to)
{
    bool same = strcmp(from->group, to->group) == 0;
    const struct {
        enum reach bit;
        bool fits;
    } fits[] = {
        {REACH_MANAGER, same && to->rank == RANK_MANAGER},
        {REACH_UNIT, same},
        {REACH_WORKERS, same && to->rank == RANK_WORKER},
        {REACH_MANAGERS, to->rank == RANK_MANAGER},
        {REACH_META, to->rank == RANK_META},
        {REACH_ALL, true},
    };
    unsigned set = 0;

    for (size_t i = 0; i < ARRAY_LEN(fits); i++)
        set |= fits[i].fits ? (unsigned)fits[i].bit : 0;
    return set;
}

unsigned team_reach_nobody(const struct team *team, enum rank rank)
{
    unsigned reached = 0;

    for (size_t i = 0; i < team->agent_count; i++)
        for (size_t j = 0; team->agents[i].rank == rank && j < team->agent_count; j++)
            if (i != j)
                reached |= team_reach(&team->agents[i], &team->agents[j]);
    return team->rules[rank] & ~reached;
}

const char *team_check_role(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > TEAM_ROLE_MAX || str_has_control(text) || !str_is_utf8(text, len))
        return "a role must be 1 to 64 bytes of UTF-8 without control characters";
    return NULL;
}

static const char *const code_names[AGENT_CODE_COUNT] = {
    [AGENT_CODE_NONE] = "none", [AGENT_CODE_VIEW] = "view", [AGENT_CODE_WORKTREE] = "worktree"};
static const char *const cwd_names[AGENT_CWD_COUNT] = {
    [AGENT_CWD_UNSET] = "", [AGENT_CWD_UNIT] = "unit", [AGENT_CWD_CODE] = "code"};

const char *agent_code_name(enum agent_code code)
{
    return code_names[code];
}

bool agent_code_parse(const char *text, enum agent_code *ret)
{
    for (enum agent_code i = 0; i < AGENT_CODE_COUNT; i++) {
        if (strcmp(text, code_names[i]) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

const char *agent_cwd_name(enum agent_cwd cwd)
{
    return cwd_names[cwd];
}

bool agent_cwd_parse(const char *text, enum agent_cwd *ret)
{
    for (enum agent_cwd i = AGENT_CWD_UNIT; i < AGENT_CWD_COUNT; i++) {
        if (strcmp(text, cwd_names[i]) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

bool agent_units_parse(const char *text, bool *ret_team)
{
    bool of_team = strcmp(text, "team") == 0;

    if (!of_team && strcmp(text, "own") != 0)
        return false;
    *ret_team = of_team;
    return true;
}

bool agent_starts_in_code(const struct agent *agent)
{
    return agent->cwd == AGENT_CWD_CODE
               ? agent->code != AGENT_CODE_NONE
               : agent->cwd == AGENT_CWD_UNSET && agent->code == AGENT_CODE_WORKTREE;
}

struct agent *team_add_agent(struct team *team, const char *id)
{
    if (team->agent_count == TEAM_AGENTS_MAX)
        return NULL;
    team->agents = mem_grow(team->agents, team->agent_count + 1, sizeof *team->agents);
    struct agent *agent = &team->agents[team->agent_count++];
    *agent = (struct agent){.id = mem_dup(id), .rank = RANK_COUNT, .window = TEAM_WINDOWS_MAX};
    return agent;
}

struct window *team_add_window(struct team *team, const char *name)
{
    if (team->window_count == TEAM_WINDOWS_MAX)
        return NULL;
    team->windows = mem_grow(team->windows, team->window_count + 1, sizeof *team->windows);
    struct window *window = &team->windows[team->window_count++];
    *window = (struct window){.name = mem_dup(name)};
    return window;
}

const char *team_place(struct team *team, size_t window, const char *id)
{
    for (size_t i = 0; i < team->agent_count; i++) {
        if (strcmp(team->agents[i].id, id) != 0)
            continue;
        if (team->agents[i].window != TEAM_WINDOWS_MAX)
            return "is in two windows";
        team->agents[i].window = window;
        struct window *w = &team->windows[window];
        w->agents = mem_grow(w->agents, w->count + 1, sizeof *w->agents);
        w->agents[w->count++] = i;
        return NULL;
    }
    return "is not defined";
}

/* Sets missing text members to their empty value. */
static void fill(char **text)
{
    if (*text == NULL)
        *text = mem_dup("");
}

static void complete_agent(struct agent *agent, team_wrong *wrong, void *arg)
{
    const struct {
        const char *name;
        bool missing;
    } needed[] = {{"role", agent->role == NULL},
                  {"group", agent->group == NULL},
                  {"rank", agent->rank == RANK_COUNT}};

    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (!needed[i].missing)
            continue;
        _cleanup_free_ char *why = mem_printf("lacks its %s", needed[i].name);
        wrong(agent, NULL, why, arg);
    }
    if (agent->window == TEAM_WINDOWS_MAX)
        wrong(agent, NULL, "is in no window", arg);
    fill(&agent->preset);
    fill(&agent->model);
    fill(&agent->command);
    fill(&agent->system);
    fill(&agent->prompt);
    fill(&agent->hibernate);
}

void team_complete(struct team *team, team_wrong *wrong, void *arg)
{
    fill(&team->description);
    fill(&team->preset);
    if (team->agent_count == 0)
        wrong(NULL, NULL, "it has no agents", arg);
    for (size_t i = 0; i < team->agent_count; i++)
        complete_agent(&team->agents[i], wrong, arg);
    for (size_t i = 0; i < team->window_count; i++) {
        struct window *window = &team->windows[i];
        if (window->layout == NULL)
            window->layout = mem_dup("tiled");
        if (window->count == 0)
            wrong(NULL, window, "has no agents", arg);
        if (window->count > layout_capacity(window->layout)) {
            _cleanup_free_ char *why = mem_printf(
                "has %zu agents, more than the layout %s can hold", window->count, window->layout);
            wrong(NULL, window, why, arg);
        }
    }
}

/* Keeps the first problem. */
static void keep_wrong(const struct agent *agent, const struct window *window, const char *why,
                       void *arg)
{
    struct err *err = arg;

    if (err->code != MAS_OK)
        return;
    if (agent != NULL)
        (void)err_set(err, MAS_DAMAGED, "agent %s %s", agent->id, why);
    else if (window != NULL)
        (void)err_set(err, MAS_DAMAGED, "window %s %s", window->name, why);
    else
        (void)err_set(err, MAS_DAMAGED, "%s", why);
}

int team_finish(struct team *team, struct err *err)
{
    struct err first = ERR_INIT;

    team_complete(team, keep_wrong, &first);
    if (first.code == MAS_OK)
        return 0;
    *err = first;
    return -1;
}

void team_free(struct team *team)
{
    for (size_t i = 0; i < team->agent_count; i++) {
        struct agent *agent = &team->agents[i];
        free(agent->id);
        free(agent->role);
        free(agent->group);
        free(agent->preset);
        free(agent->model);
        free(agent->command);
        free(agent->system);
        free(agent->prompt);
        free(agent->hibernate);
    }
    for (size_t i = 0; i < team->window_count; i++) {
        free(team->windows[i].name);
        free(team->windows[i].layout);
        free(team->windows[i].agents);
    }
    free(team->agents);
    free(team->windows);
    free(team->description);
    free(team->preset);
    free(team->wants);
    free(team->project.path);
    free(team->project.onto);
    free(team->project.base);
    free(team->project.label);
    *team = (struct team)TEAM_INIT;
}

const struct agent *team_agent(const struct team *team, const char *id)
{
    for (size_t i = 0; i < team->agent_count; i++)
        if (strcmp(team->agents[i].id, id) == 0)
            return &team->agents[i];
    return NULL;
}

bool team_has_prompts(const struct team *team)
{
    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].prompt[0] != '\0')
            return true;
    return false;
}

void team_put_json(const struct team *team, struct json_out *out)
{
    json_put(out, "description", team->description);
    json_put(out, "preset", team->preset);
    if (team->project.path != NULL) {
        json_put_all(out, JO("project"), JT("path", team->project.path),
                     JT("onto", team->project.onto), JT("base", team->project.base),
                     JT("label", team->project.label), JOE);
    }
    budget_put(&team->budget, out);
    if (team->turns > 0)
        json_put_int(out, "turns", team->turns);
    json_put(out, "wall", team->wall != WALL_UNSET ? wall_level_name(team->wall) : WALL_AS_SET);
    json_open(out, "windows", '[');
    for (size_t i = 0; i < team->window_count; i++) {
        const struct window *window = &team->windows[i];
        json_open(out, NULL, '{');
        json_put(out, "name", window->name);
        json_put(out, "layout", window->layout);
        json_open(out, "agents", '[');
        for (size_t j = 0; j < window->count; j++)
            json_put(out, NULL, team->agents[window->agents[j]].id);
        json_close(out, ']');
        json_close(out, '}');
    }
    json_close(out, ']');
    json_open(out, "team", '[');
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        json_open(out, NULL, '{');
        json_put_all(out, JT("id", agent->id), JT("role", agent->role),
                     JT("rank", rank_names[agent->rank]), JT("group", agent->group),
                     JT("preset", agent->preset), JT("model", agent->model),
                     JT("command", agent->command), JT("system", agent->system));
        if (agent->start != START_UNSET)
            json_put(out, "start", start_name(agent->start));
        if (agent->hibernate[0] != '\0')
            json_put(out, "hibernate", agent->hibernate);
        if (agent->code != AGENT_CODE_NONE)
            json_put(out, "code", agent_code_name(agent->code));
        if (agent->cwd != AGENT_CWD_UNSET)
            json_put(out, "cwd", agent_cwd_name(agent->cwd));
        if (agent->wall != WALL_UNSET)
            json_put(out, "wall", wall_level_name(agent->wall));
        if (agent->team_units)
            json_put(out, "units", "team");
        if (agent->prompt[0] != '\0')
            json_put(out, "prompt", agent->prompt);
        budget_put(&agent->budget, out);
        limit_set_put("limits", &agent->limits, out);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_open(out, "rules", '{');
    for (size_t i = 0; i < RANK_COUNT; i++) {
        json_open(out, rank_names[i], '[');
        for (size_t j = 0; j < ARRAY_LEN(reaches); j++)
            if ((team->rules[i] & (unsigned)reaches[j].bit) != 0)
                json_put(out, NULL, reaches[j].name);
        json_close(out, ']');
    }
    json_close(out, '}');
}

/* Copies a text member; -1 if it exists but is not text or exceeds `max` bytes. */
static int parse_text(const struct json *object, const char *key, size_t max, char **to)
{
    const struct json *node = json_get(object, key);
    const char *text = json_text(node);
    if (node == NULL)
        return 0;
    if (text == NULL || strlen(text) > max)
        return -1;
    *to = mem_dup(text);
    return 0;
}

/* Like parse_text(), for a name as in template.ini: it may be empty. */
static int parse_word(const struct json *object, const char *key, char **to)
{
    if (parse_text(object, key, TEAM_WORD_MAX, to) == -1)
        return -1;
    return *to == NULL || (*to)[0] == '\0' || str_is_word(*to, TEAM_WORD_MAX) ? 0 : -1;
}

static int agent_from_json(const struct json *node, struct team *team, struct err *err)
{
    const char *id = json_get_text(node, "id");
    const char *rank = json_get_text(node, "rank");
    _cleanup_free_ char *start = NULL;
    _cleanup_free_ char *code = NULL;
    _cleanup_free_ char *cwd = NULL;
    _cleanup_free_ char *wall = NULL;
    _cleanup_free_ char *units = NULL;
    int ms = 0;

    if (id == NULL || !str_is_word(id, TEAM_WORD_MAX) || team_agent(team, id) != NULL)
        return err_set(err, MAS_DAMAGED, "an agent's id is missing, bad or used twice");
    struct agent *agent = team_add_agent(team, id);
    if (agent == NULL)
        return err_set(err, MAS_DAMAGED, "it has more than %d agents", TEAM_AGENTS_MAX);
    if (rank == NULL || team_rank_parse(rank, &agent->rank) == -1 ||
        parse_text(node, "role", TEAM_ROLE_MAX, &agent->role) == -1 ||
        (agent->role != NULL && team_check_role(agent->role) != NULL) ||
        parse_word(node, "group", &agent->group) == -1 ||
        (agent->group != NULL && agent->group[0] == '\0') ||
        parse_word(node, "preset", &agent->preset) == -1 ||
        parse_text(node, "model", TEAM_MODEL_MAX, &agent->model) == -1 ||
        parse_text(node, "command", TEAM_COMMAND_MAX, &agent->command) == -1 ||
        parse_text(node, "system", TEAM_SYSTEM_MAX, &agent->system) == -1 ||
        parse_text(node, "prompt", MESSAGE_MAX, &agent->prompt) == -1 ||
        (agent->prompt != NULL && message_check(agent->prompt, strlen(agent->prompt)) != NULL) ||
        parse_text(node, "start", TEAM_WORD_MAX, &start) == -1 ||
        (start != NULL && !start_parse(start, &agent->start)) ||
        parse_text(node, "hibernate", TEAM_WORD_MAX, &agent->hibernate) == -1 ||
        (agent->hibernate != NULL && !hibernate_parse(agent->hibernate, &ms)) ||
        parse_text(node, "code", TEAM_WORD_MAX, &code) == -1 ||
        (code != NULL && !agent_code_parse(code, &agent->code)) ||
        parse_text(node, "cwd", TEAM_WORD_MAX, &cwd) == -1 ||
        (cwd != NULL && !agent_cwd_parse(cwd, &agent->cwd)) ||
        parse_text(node, "wall", TEAM_WORD_MAX, &wall) == -1 ||
        (wall != NULL && !wall_level_parse(wall, &agent->wall)) ||
        parse_text(node, "units", TEAM_WORD_MAX, &units) == -1 ||
        (units != NULL && !agent_units_parse(units, &agent->team_units)) ||
        !budget_read(json_get(node, "budget"), &agent->budget) ||
        !limit_set_read(json_get(node, "limits"), &agent->limits) ||
        agent->limits.of[LIMIT_SESSION] != 0)
        return err_set(err, MAS_DAMAGED, "agent %s has a bad member", id);
    return 0;
}

static int window_from_json(const struct json *node, struct team *team, struct err *err)
{
    const char *name = json_get_text(node, "name");
    if (name == NULL || !str_is_word(name, TEAM_WORD_MAX))
        return err_set(err, MAS_DAMAGED, "a window's name is missing or bad");
    struct window *window = team_add_window(team, name);
    if (window == NULL)
        return err_set(err, MAS_DAMAGED, "it has more than %d windows", TEAM_WINDOWS_MAX);
    if (parse_text(node, "layout", 64, &window->layout) == -1 ||
        (window->layout != NULL && layout_check(window->layout) != NULL))
        return err_set(err, MAS_DAMAGED, "window %s has a bad layout", name);
    for (const struct json *a = json_first(json_get(node, "agents")); a != NULL; a = json_next(a)) {
        const char *id = json_text(a);
        const char *wrong =
            id != NULL ? team_place(team, team->window_count - 1, id) : "is not a string";
        if (wrong != NULL)
            return err_set(err, MAS_DAMAGED, "window %s: agent %s %s", name, id != NULL ? id : "?",
                           wrong);
    }
    return 0;
}

static int project_from_json(const struct json *node, struct team_project *project)
{
    if (node == NULL)
        return 0;
    return parse_text(node, "path", TEAM_PATH_MAX, &project->path) == -1 ||
                   parse_text(node, "onto", TEAM_PATH_MAX, &project->onto) == -1 ||
                   parse_text(node, "base", TEAM_OID_MAX, &project->base) == -1 ||
                   parse_text(node, "label", TEAM_LABEL_MAX, &project->label) == -1 ||
                   project->path == NULL || project->path[0] != '/' || project->onto == NULL ||
                   project->base == NULL || project->label == NULL ||
                   !str_is_word(project->label, TEAM_LABEL_MAX)
               ? -1
               : 0;
}

static int walls_from_json(const struct json *node, struct team *team)
{
    const char *level = json_text(node);

    return node == NULL || (level != NULL && (strcmp(level, WALL_AS_SET) == 0 ||
                                              wall_level_parse(level, &team->wall)))
               ? 0
               : -1;
}

int team_from_json(const struct json *object, struct team *ret, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;

    if (parse_text(object, "description", TEAM_DESCRIPTION_MAX, &team.description) == -1 ||
        parse_word(object, "preset", &team.preset) == -1 ||
        project_from_json(json_get(object, "project"), &team.project) == -1 ||
        !budget_read(json_get(object, "budget"), &team.budget))
        return err_set(err, MAS_DAMAGED, "it has a bad member");
    int64_t turns = json_int(json_get(object, "turns"), 0);
    if (turns < 0 || turns > TEAM_TURNS_MAX)
        return err_set(err, MAS_DAMAGED, "it has a bad member");
    team.turns = (int)turns;
    if (walls_from_json(json_get(object, "wall"), &team) == -1)
        return err_set(err, MAS_DAMAGED, "it has a bad member");
    for (const struct json *n = json_first(json_get(object, "team")); n != NULL; n = json_next(n))
        if (agent_from_json(n, &team, err) == -1)
            return -1;
    for (const struct json *n = json_first(json_get(object, "windows")); n != NULL;
         n = json_next(n))
        if (window_from_json(n, &team, err) == -1)
            return -1;
    const struct json *rules = json_get(object, "rules");
    for (size_t i = 0; i < RANK_COUNT; i++) {
        for (const struct json *n = json_first(json_get(rules, rank_names[i])); n != NULL;
             n = json_next(n)) {
            unsigned bit = 0;
            if (json_text(n) == NULL || team_reach_parse(json_text(n), &bit) == -1)
                return err_set(err, MAS_DAMAGED, "it has a bad rule");
            team.rules[i] |= bit;
        }
    }
    if (team_finish(&team, err) == -1)
        return -1;
    *ret = team;
    team = (struct team)TEAM_INIT;
    return 0;
}
