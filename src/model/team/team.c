/*
 * The words of a team, then how one is put together: template.ini (team_ini.c) and config.json use
 * the same functions for it, and team_complete() checks and completes what either has read. Then
 * the members in JSON, written and read back. A member that is missing was not said.
 */

#include "model/team/team.h"

#include "model/account.h"
#include "model/message.h"
#include "model/team/layout.h"
#include "model/team/team_internal.h"

static const char *const rank_names[] = {"meta", "manager", "worker", NULL};

/* In the order of the bits of enum reach. */
static const char *const reaches[] = {"manager", "unit", "workers", "managers",
                                      "meta",    "all",  NULL};

const struct value_type rank_type = {VALUE_WORD, "a rank must be meta, manager or worker",
                                     .sentence = true, .words = rank_names};
const struct value_type reach_type = {
    VALUE_SET, "a rule must list manager, unit, workers, managers, meta or all", .sentence = true,
    .words = reaches};

const char *rank_name(enum rank rank)
{
    return rank_names[rank];
}

void team_add_reach(struct str *to, unsigned set)
{
    const char *separator = "";
    for (unsigned i = 0; reaches[i] != NULL; i++) {
        if ((set & 1U << i) == 0)
            continue;
        str_addf(to, "%s%s", separator, reaches[i]);
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

static bool is_utf8(const char *text)
{
    return str_is_utf8(text, strlen(text));
}

static bool is_word(const char *text)
{
    return str_is_word(text, TEAM_WORD_MAX);
}

static bool are_words(const char *text)
{
    _cleanup_strv_ char **words = str_split_list(text);

    for (char **word = words; word != NULL && *word != NULL; word++)
        if (!is_word(*word))
            return false;
    return true;
}

static bool is_label(const char *text)
{
    return str_is_word(text, TEAM_LABEL_MAX);
}

static bool is_message(const char *text)
{
    return message_check(text, strlen(text)) == NULL;
}

static bool is_hibernate(const char *text)
{
    return value_parse(&hibernate_type, text, NULL, 0) == NULL;
}

static const char *const codes[] = {[AGENT_CODE_NONE] = "none",
                                    [AGENT_CODE_VIEW] = "view",
                                    [AGENT_CODE_WORKTREE] = "worktree",
                                    NULL};
static const char *const cwds[] = {
    [AGENT_CWD_UNSET] = "", [AGENT_CWD_UNIT] = "unit", [AGENT_CWD_CODE] = "code", NULL};
static const char *const levels[] = {[WALL_UNSET] = "default",
                                     [WALL_OFF] = "off",
                                     [WALL_TRY] = "try",
                                     [WALL_REQUIRE] = "require",
                                     NULL};
static const char *const units[] = {"own", "team", NULL};

static const struct value_type
    role = {VALUE_TEXT,
            "a role must be 1 to 64 bytes of UTF-8 without control characters",
            .sentence = true,
            .min = 1,
            .max = TEAM_ROLE_MAX,
            .line = true,
            .fits = is_utf8},
    word = {VALUE_TEXT, "1 to 32 " STR_WORD_CHARS, .min = 1, .fits = is_word},
    word_or_none = {VALUE_TEXT, "1 to 32 " STR_WORD_CHARS, .fits = is_word},
    model = {VALUE_TEXT, "it is longer than 256 bytes", .sentence = true, .max = TEAM_MODEL_MAX},
    command = {VALUE_TEXT, .max = TEAM_COMMAND_MAX},
    system_text = {VALUE_TEXT, .max = TEAM_SYSTEM_MAX},
    prompt = {VALUE_TEXT, .max = MESSAGE_MAX, .fits = is_message},
    start = {VALUE_WORD, "now or demand", .words = start_words, .none = ""},
    hibernate = {VALUE_TEXT, "no, or a time such as 15m", .min = 1, .max = TEAM_WORD_MAX,
                 .fits = is_hibernate},
    code = {VALUE_WORD, "worktree, view or none", .words = codes},
    cwd = {VALUE_WORD, "unit or code", .words = cwds},
    wall = {VALUE_WORD, .words = levels}, /* "default": that of each agent */
    unit = {VALUE_WORD, "own or team", .words = units},
    description = {VALUE_TEXT, "it is longer than 1024 bytes", .sentence = true,
                   .max = TEAM_DESCRIPTION_MAX},
    turns = {VALUE_NUMBER, "a number from 0 to 1000", .max = TEAM_TURNS_MAX},
    grow = {VALUE_NUMBER, "a number from 0 to 256", .max = TEAM_AGENTS_MAX},
    grow_presets = {VALUE_TEXT, "a list of presets", .max = TEAM_COMMAND_MAX, .fits = are_words},
    path_or_none = {VALUE_TEXT, "an absolute path", .absolute = true},
    path = {VALUE_TEXT, .min = 1, .max = TEAM_PATH_MAX, .absolute = true},
    branch = {VALUE_TEXT, .max = TEAM_PATH_MAX}, commit = {VALUE_TEXT, .max = TEAM_OID_MAX},
    label = {VALUE_TEXT, .min = 1, .fits = is_label};

#define AGENT(key, type, member) MEMBER(key, type, struct agent, member)

const struct member agent_members[] = {
    {AGENT("role", role, role)},
    {AGENT("rank", rank_type, rank), .how = MEMBER_NEEDED},
    {AGENT("group", word, group)},
    {AGENT("preset", word_or_none, preset)},
    {AGENT("model", model, model)},
    {AGENT("accounts", accounts_type, accounts), .how = MEMBER_SAID},
    {AGENT("command", command, command)},
    {AGENT("system", system_text, system)},
    {AGENT("start", start, start), .how = MEMBER_SAID},
    {AGENT("hibernate", hibernate, hibernate), .how = MEMBER_SAID},
    {AGENT("code", code, code), .how = MEMBER_SAID},
    {AGENT("cwd", cwd, cwd), .how = MEMBER_SAID},
    {AGENT("wall", wall_level_type, wall), .how = MEMBER_SAID},
    {AGENT("units", unit, team_units), .how = MEMBER_SAID},
    {AGENT("prompt", prompt, prompt), .how = MEMBER_SAID | MEMBER_OF_JSON},
    {AGENT("grownBy", word_or_none, grown_by), .how = MEMBER_SAID | MEMBER_OF_JSON},
    {AGENT("budget.cost", budget_types[BUDGET_COST], budget.of[BUDGET_COST]), .how = MEMBER_OF_INI},
    {AGENT("budget.tokens", budget_types[BUDGET_TOKENS], budget.of[BUDGET_TOKENS].amount),
     .how = MEMBER_OF_INI},
    {AGENT("budget.turns", budget_types[BUDGET_TURNS], budget.of[BUDGET_TURNS].amount),
     .how = MEMBER_OF_INI},
    {AGENT("budget.time", budget_types[BUDGET_TIME], budget.of[BUDGET_TIME].amount),
     .how = MEMBER_OF_INI},
    {AGENT("limits.agent", limit_types[LIMIT_AGENT], limits.of[LIMIT_AGENT]), .how = MEMBER_OF_INI},
    {AGENT("limits.memory", limit_types[LIMIT_MEMORY], limits.of[LIMIT_MEMORY]),
     .how = MEMBER_OF_INI},
    {AGENT("limits.cpus", limit_types[LIMIT_CPUS], limits.of[LIMIT_CPUS]), .how = MEMBER_OF_INI},
    {AGENT("limits.processes", limit_types[LIMIT_PROCESSES], limits.of[LIMIT_PROCESSES]),
     .how = MEMBER_OF_INI},
    MEMBER_END,
};

const struct member team_members[] = {
    {MEMBER("description", description, struct team, description)},
    {MEMBER("preset", word_or_none, struct team, preset)},
    {MEMBER("project", path_or_none, struct team, wants), .how = MEMBER_OF_INI},
    {MEMBER("turns", turns, struct team, turns), .how = MEMBER_SAID},
    {MEMBER("grow", grow, struct team, grow), .how = MEMBER_SAID},
    {MEMBER("grow.presets", grow_presets, struct team, grow_presets), .how = MEMBER_SAID},
    {MEMBER("wall", wall, struct team, wall), .how = MEMBER_OF_JSON},
    MEMBER_END,
};

const struct member window_members[] = {
    {MEMBER("layout", layout_type, struct window, layout)},
    MEMBER_END,
};

static const struct member project_members[] = {
    {MEMBER("path", path, struct team_project, path), .how = MEMBER_NEEDED},
    {MEMBER("onto", branch, struct team_project, onto), .how = MEMBER_NEEDED},
    {MEMBER("base", commit, struct team_project, base), .how = MEMBER_NEEDED},
    {MEMBER("label", label, struct team_project, label), .how = MEMBER_NEEDED},
    {MEMBER("check", command, struct team_project, check), .how = MEMBER_SAID},
    MEMBER_END,
};

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
    members_fill(agent_members, agent);
}

void team_complete(struct team *team, team_wrong *wrong, void *arg)
{
    members_fill(team_members, team);
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

/* Like team_complete(), but reports the first problem as the error. */
static int team_finish(struct team *team, struct err *err)
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
        free(team->agents[i].id);
        members_free(agent_members, &team->agents[i]);
    }
    for (size_t i = 0; i < team->window_count; i++) {
        free(team->windows[i].name);
        members_free(window_members, &team->windows[i]);
        free(team->windows[i].agents);
    }
    free(team->agents);
    free(team->windows);
    members_free(team_members, team);
    members_free(project_members, &team->project);
    *team = (struct team)TEAM_INIT;
}

bool team_is_agent_id(const char *text)
{
    return str_is_word(text, TEAM_WORD_MAX) && text[0] != '-';
}

const struct agent *team_agent(const struct team *team, const char *id)
{
    for (size_t i = 0; i < team->agent_count; i++)
        if (strcmp(team->agents[i].id, id) == 0)
            return &team->agents[i];
    return NULL;
}

struct agent *team_copy_agent(struct team *team, const char *id, size_t like)
{
    struct agent *agent = team_add_agent(team, id);
    char *own = agent->id;

    *agent = team->agents[like];
    agent->id = own;
    agent->window = TEAM_WINDOWS_MAX;
    for (const struct member *member = agent_members; member->key != NULL; member++) {
        char **text = member_of(member, agent);
        if (member->type->kind == VALUE_TEXT && *text != NULL)
            *text = mem_dup(*text);
    }
    return agent;
}

void team_repeat(struct team *team, size_t count)
{
    size_t window = team->agents[0].window;

    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *id = mem_printf("%zu", i + 1);
        if (i == 0) {
            free(team->agents[0].id);
            team->agents[0].id = TAKE_PTR(id);
            continue;
        }
        (void)team_copy_agent(team, id, 0);
        (void)team_place(team, window, id);
    }
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
    members_put(team_members, team, out);
    if (team->project.path != NULL) {
        json_open(out, "project", '{');
        members_put(project_members, &team->project, out);
        json_close(out, '}');
    }
    budget_put(&team->budget, out);
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
        json_put(out, "id", agent->id);
        members_put(agent_members, agent, out);
        budget_put(&agent->budget, out);
        limit_set_put("limits", &agent->limits, out);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_open(out, "rules", '{');
    for (size_t i = 0; i < RANK_COUNT; i++) {
        json_open(out, rank_names[i], '[');
        for (unsigned j = 0; reaches[j] != NULL; j++)
            if ((team->rules[i] & 1U << j) != 0)
                json_put(out, NULL, reaches[j]);
        json_close(out, ']');
    }
    json_close(out, '}');
}

static int agent_from_json(const struct json *node, struct team *team, struct err *err)
{
    const char *id = json_get_text(node, "id");

    if (id == NULL || !str_is_word(id, TEAM_WORD_MAX) || team_agent(team, id) != NULL)
        return err_set(err, MAS_DAMAGED, "an agent's id is missing, bad or used twice");
    struct agent *agent = team_add_agent(team, id);
    if (agent == NULL)
        return err_set(err, MAS_DAMAGED, "it has more than %d agents", TEAM_AGENTS_MAX);
    const struct member *bad = members_read(agent_members, node, agent);
    const char *key = bad != NULL                                              ? bad->key
                      : !budget_read(json_get(node, "budget"), &agent->budget) ? "budget"
                      : !limit_set_read(json_get(node, "limits"), &agent->limits) ||
                              agent->limits.of[LIMIT_SESSION] != 0
                          ? "limits"
                          : NULL;
    return key == NULL ? 0 : err_set(err, MAS_DAMAGED, "agent %s has a bad %s", id, key);
}

void team_want_again(struct team *team)
{
    const char *onto = team->project.onto;

    free(team->wants);
    team->wants = team->project.path == NULL ? mem_dup("")
                  : onto[0] == '\0'
                      ? mem_dup(team->project.path)
                      : mem_printf("%s@%s", team->project.path, onto + strlen("refs/heads/"));
    struct team_project was = team->project;
    team->project = (struct team_project){.check = was.check};
    was.check = NULL;
    members_free(project_members, &was);
}

static int window_from_json(const struct json *node, struct team *team, struct err *err)
{
    const char *name = json_get_text(node, "name");
    if (name == NULL || !str_is_word(name, TEAM_WORD_MAX))
        return err_set(err, MAS_DAMAGED, "a window's name is missing or bad");
    struct window *window = team_add_window(team, name);
    if (window == NULL)
        return err_set(err, MAS_DAMAGED, "it has more than %d windows", TEAM_WINDOWS_MAX);
    if (members_read(window_members, node, window) != NULL)
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

int team_from_json(const struct json *object, struct team *ret, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;

    const struct json *project = json_get(object, "project");
    const struct member *bad = members_read(team_members, object, &team);
    if (bad == NULL && project != NULL &&
        members_read(project_members, project, &team.project) != NULL)
        return err_set(err, MAS_DAMAGED, "it has a bad project");
    if (bad != NULL || !budget_read(json_get(object, "budget"), &team.budget))
        return err_set(err, MAS_DAMAGED, "it has a bad %s", bad != NULL ? bad->key : "budget");
    if (project != NULL)
        members_fill(project_members, &team.project);
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
            int bit = value_word(reaches, json_text(n));
            if (bit == -1)
                return err_set(err, MAS_DAMAGED, "it has a bad rule");
            team.rules[i] |= 1U << bit;
        }
    }
    if (team_finish(&team, err) == -1)
        return -1;
    *ret = team;
    team = (struct team)TEAM_INIT;
    return 0;
}
