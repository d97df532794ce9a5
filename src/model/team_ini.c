/* The part of model/team.h that reads template.ini. mas-template(5) describes the format. */
#include "base/ini.h"
#include "base/number.h"
#include "base/suggest.h"
#include "model/layout.h"
#include "model/team_internal.h"

static const char *const window_keys[] = {"layout", "agents", NULL};
static const char *const template_keys[] = {"description", "preset", "project", "turns", NULL};
static const char *const budget_keys[] = {"cost", "tokens", "turns", "time", NULL};
static const char *const ranks[] = {"meta", "manager", "worker", NULL};

/* Sections by their first word, and how messages show them. */
static const char *const sections[] = {"template", "rules", "budget", "window", "agent", NULL};
static const char *const section_forms[] = {"[template]", "[rules]", "[budget]", "[window NAME]",
                                            "[agent ID]"};

#define EMPTY_KEY "unknown or empty key in an agent"

/* A window may name agents that appear later in the file, so the names are kept until its end. */
struct team_reader {
    struct team team;
    struct place {
        size_t window;
        char *id;
        int line;
    } * places;
    size_t place_count;
    int rules[RANK_COUNT]; /* their line numbers */
    const char *file;
    struct diagnostics *diagnostics;
};

static void reader_free(struct team_reader *reader)
{
    for (size_t i = 0; i < reader->place_count; i++)
        free(reader->places[i].id);
    free(reader->places);
    team_free(&reader->team);
}

/* Reports an invalid value, which still counts as given. */
static int bad_value(char **to, const struct ini_line *line, const char *why, struct err *err)
{
    if (*to == NULL)
        *to = mem_dup("");
    return ini_fail(line, err, "%s", why);
}

static int set_text(char **to, const struct ini_line *line, struct err *err)
{
    if (!str_is_utf8(line->value, strlen(line->value)))
        return ini_fail(line, err, "it is not UTF-8");
    free(*to);
    *to = mem_dup(line->value);
    return 0;
}

/* Sets a name that may be empty. */
static int set_word(char **to, const struct ini_line *line, struct err *err)
{
    if (line->value[0] != '\0' && !str_is_word(line->value, TEAM_WORD_MAX))
        return ini_fail(line, err, "'%s' is not 1 to 32 letters, digits, _ or -", line->value);
    return set_text(to, line, err);
}

/* Reads a limit of a budget. *ret_known is false if there is no such limit. */
static int read_budget(const struct ini_line *line, const char *key, struct budget *ret,
                       bool *ret_known, struct err *err)
{
    const char *want = budget_parse_key(key, line->value, ret, ret_known);
    return want == NULL ? 0 : ini_fail(line, err, "'%s' is not %s", line->value, want);
}

static int set_turns(struct team *team, const struct ini_line *line, struct err *err)
{
    static const struct unit units[] = {{"", 1}};
    uint64_t turns = 0;

    if (!number_parse(line->value, units, ARRAY_LEN(units), TEAM_TURNS_MAX, &turns))
        return ini_fail(line, err, "'%s' is not a number from 0 to 1000", line->value);
    team->turns = (int)turns;
    return 0;
}

static int read_window(struct team_reader *reader, const struct ini_line *line, struct err *err)
{
    const char *name = line->section + strlen("window ");
    struct team *team = &reader->team;

    if (line->key == NULL) {
        for (size_t i = 0; i < team->window_count; i++)
            if (strcmp(team->windows[i].name, name) == 0)
                return ini_fail(line, err, "duplicate window name");
        if (!str_is_word(name, TEAM_WORD_MAX))
            return ini_fail(line, err, "a window's name must be 1 to 32 letters, digits, _ or -");
        struct window *window = team_add_window(team, name);
        if (window == NULL)
            return ini_fail(line, err, "the team has more than %d windows", TEAM_WINDOWS_MAX);
        window->line = line->line;
        return 0;
    }
    struct window *window = &team->windows[team->window_count - 1];
    if (strcmp(line->key, "layout") == 0) {
        const char *wrong = layout_check(line->value);
        return wrong != NULL ? ini_fail(line, err, "%s", wrong)
                             : set_text(&window->layout, line, err);
    }
    if (strcmp(line->key, "agents") != 0)
        return ini_fail_unknown(line, "unknown key in a window", suggest_of(line->key, window_keys),
                                err);
    _cleanup_strv_ char **ids = str_split_list(line->value);
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        reader->places = mem_grow(reader->places, reader->place_count + 1, sizeof *reader->places);
        reader->places[reader->place_count++] = (struct place){
            .window = team->window_count - 1, .id = mem_dup(*id), .line = line->line};
    }
    return 0;
}

/* ---- an agent */

static int set_role(struct agent *agent, const struct ini_line *line, struct err *err)
{
    const char *wrong = team_check_role(line->value);
    return wrong != NULL ? bad_value(&agent->role, line, wrong, err)
                         : set_text(&agent->role, line, err);
}

static int set_rank(struct agent *agent, const struct ini_line *line, struct err *err)
{
    if (team_rank_parse(line->value, &agent->rank) == 0)
        return 0;
    agent->rank = RANK_WORKER; /* counts as given */
    return ini_fail(line, err, "a rank must be meta, manager or worker");
}

static int set_group(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return line->value[0] != '\0' ? set_word(&agent->group, line, err)
                                  : ini_fail_unknown(line, EMPTY_KEY, NULL, err);
}

static int set_preset(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return set_word(&agent->preset, line, err);
}

static int set_model(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return strlen(line->value) <= TEAM_MODEL_MAX
               ? set_text(&agent->model, line, err)
               : ini_fail(line, err, "it is longer than 256 bytes");
}

static int set_command(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return set_text(&agent->command, line, err);
}

static int set_system(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return set_text(&agent->system, line, err);
}

static int set_start(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return start_parse(line->value, &agent->start)
               ? 0
               : ini_fail(line, err, "'%s' is not now or demand", line->value);
}

static int set_hibernate(struct agent *agent, const struct ini_line *line, struct err *err)
{
    int ms = 0;
    return hibernate_parse(line->value, &ms)
               ? set_text(&agent->hibernate, line, err)
               : ini_fail(line, err, "'%s' is not no, or a time such as 15m", line->value);
}

static int set_code(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return agent_code_parse(line->value, &agent->code)
               ? 0
               : ini_fail(line, err, "'%s' is not worktree, view or none", line->value);
}

static int set_cwd(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return agent_cwd_parse(line->value, &agent->cwd)
               ? 0
               : ini_fail(line, err, "'%s' is not unit or code", line->value);
}

static int set_wall(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return wall_level_parse(line->value, &agent->wall)
               ? 0
               : ini_fail(line, err, "'%s' is not off, try or require", line->value);
}

static int set_units(struct agent *agent, const struct ini_line *line, struct err *err)
{
    return agent_units_parse(line->value, &agent->team_units)
               ? 0
               : ini_fail(line, err, "'%s' is not own or team", line->value);
}

static int set_budget(struct agent *agent, const struct ini_line *line, struct err *err)
{
    bool known = false;
    return read_budget(line, line->key + strlen("budget."), &agent->budget, &known, err);
}

static int set_limit(struct agent *agent, const struct ini_line *line, struct err *err)
{
    const char *key = line->key + strlen("limits.");
    enum limit_kind kind = LIMIT_AGENT;

    (void)limit_kind_parse(key, strlen(key), &kind);
    const char *want = limit_parse(kind, line->value, &agent->limits.of[kind]);
    return want == NULL ? 0 : ini_fail(line, err, "'%s' is not %s", line->value, want);
}

static const struct agent_key {
    const char *name;
    int (*set)(struct agent *agent, const struct ini_line *line, struct err *err);
} agent_keys[] = {
    {"role", set_role},
    {"rank", set_rank},
    {"group", set_group},
    {"preset", set_preset},
    {"model", set_model},
    {"command", set_command},
    {"system", set_system},
    {"start", set_start},
    {"hibernate", set_hibernate},
    {"code", set_code},
    {"cwd", set_cwd},
    {"wall", set_wall},
    {"units", set_units},
    {"budget.cost", set_budget},
    {"budget.tokens", set_budget},
    {"budget.turns", set_budget},
    {"budget.time", set_budget},
    {"limits.agent", set_limit},
    {"limits.memory", set_limit},
    {"limits.cpus", set_limit},
    {"limits.processes", set_limit},
};

static int begin_agent(struct team *team, const struct ini_line *line, struct err *err)
{
    const char *id = line->section + strlen("agent ");

    if (!str_is_word(id, TEAM_WORD_MAX))
        return ini_fail(line, err, "an agent's id must be 1 to 32 letters, digits, _ or -");
    if (team_agent(team, id) != NULL)
        return ini_fail(line, err, "duplicate agent id");
    struct agent *agent = team_add_agent(team, id);
    if (agent == NULL)
        return ini_fail(line, err, "the team has more than %d agents", TEAM_AGENTS_MAX);
    agent->line = line->line;
    return 0;
}

static int read_agent(struct team_reader *reader, const struct ini_line *line, struct err *err)
{
    struct team *team = &reader->team;

    if (line->key == NULL)
        return begin_agent(team, line, err);
    struct suggest suggest = SUGGEST_INIT(line->key);
    for (size_t i = 0; i < ARRAY_LEN(agent_keys); i++) {
        if (strcmp(line->key, agent_keys[i].name) == 0)
            return agent_keys[i].set(&team->agents[team->agent_count - 1], line, err);
        suggest_try(&suggest, agent_keys[i].name);
    }
    return ini_fail_unknown(line, EMPTY_KEY, suggest.nearest, err);
}

static int no_section(const struct ini_line *line, struct err *err)
{
    _cleanup_free_ char *word = mem_dupn(line->section, strcspn(line->section, " "));
    const char *nearest = suggest_of(word, sections);
    size_t i = 0;

    while (nearest != NULL && sections[i] != nearest)
        i++;
    return ini_fail_unknown(line, "unknown section", nearest != NULL ? section_forms[i] : NULL,
                            err);
}

static int read_section(const struct ini_line *line, void *arg, struct err *err)
{
    struct team_reader *reader = arg;

    if (str_starts(line->section, "window "))
        return read_window(reader, line, err);
    if (str_starts(line->section, "agent "))
        return read_agent(reader, line, err);
    if (strcmp(line->section, "rules") == 0) {
        enum rank rank;
        if (line->key == NULL)
            return 0;
        if (team_rank_parse(line->key, &rank) == -1)
            return ini_fail_unknown(line, "a rule must be for meta, manager or worker",
                                    suggest_of(line->key, ranks), err);
        reader->rules[rank] = line->line;
        return team_reach_parse(line->value, &reader->team.rules[rank]) == 0
                   ? 0
                   : ini_fail(line, err,
                              "a rule must list manager, unit, workers, managers, meta or all");
    }
    if (strcmp(line->section, "budget") == 0) {
        bool known = false;
        if (line->key == NULL)
            return 0;
        if (read_budget(line, line->key, &reader->team.budget, &known, err) == -1)
            return -1;
        return known ? 0
                     : ini_fail_unknown(line, "unknown key in a budget",
                                        suggest_of(line->key, budget_keys), err);
    }
    if (strcmp(line->section, "template") == 0) {
        if (line->key == NULL)
            return 0;
        if (strcmp(line->key, "description") == 0)
            return strlen(line->value) <= TEAM_DESCRIPTION_MAX
                       ? set_text(&reader->team.description, line, err)
                       : ini_fail(line, err, "it is longer than %d bytes", TEAM_DESCRIPTION_MAX);
        if (strcmp(line->key, "preset") == 0)
            return set_word(&reader->team.preset, line, err);
        if (strcmp(line->key, "turns") == 0)
            return set_turns(&reader->team, line, err);
        if (strcmp(line->key, "project") == 0)
            return line->value[0] == '\0' || line->value[0] == '/'
                       ? set_text(&reader->team.wants, line, err)
                       : ini_fail(line, err, "'%s' is not an absolute path", line->value);
        return ini_fail_unknown(line, "unknown key", suggest_of(line->key, template_keys), err);
    }
    return no_section(line, err);
}

static void add_wrong(int line, const char *section, const char *text, void *arg)
{
    struct team_reader *reader = arg;

    (void)section;
    diagnostics_add(reader->diagnostics, DIAGNOSTIC_ERROR, reader->file, line, "%s", text);
}

static void add_unfit(const struct agent *agent, const struct window *window, const char *why,
                      void *arg)
{
    struct team_reader *reader = arg;
    if (agent != NULL)
        diagnostics_add(reader->diagnostics, DIAGNOSTIC_ERROR, reader->file, agent->line,
                        "agent %s %s", agent->id, why);
    else if (window != NULL)
        diagnostics_add(reader->diagnostics, DIAGNOSTIC_ERROR, reader->file, window->line,
                        "window %s %s", window->name, why);
    else
        diagnostics_add(reader->diagnostics, DIAGNOSTIC_ERROR, reader->file, 0, "%s", why);
}

static void check_rules(struct team_reader *reader)
{
    for (enum rank rank = 0; rank < RANK_COUNT; rank++) {
        unsigned nobody = team_reach_nobody(&reader->team, rank);
        _cleanup_str_ struct str words = STR_INIT;
        team_add_reach(&words, nobody);
        if (nobody != 0)
            diagnostics_add(reader->diagnostics, DIAGNOSTIC_WARNING, reader->file,
                            reader->rules[rank], "[rules] %s: no agent of this team matches: %s",
                            rank_name(rank), words.data);
    }
}

static int read_all(struct team_reader *reader, int fd, struct err *err)
{
    if (ini_read(fd, reader->file, read_section, add_wrong, reader, err) == -1)
        return -1;
    for (size_t i = 0; i < reader->place_count; i++) {
        const struct place *place = &reader->places[i];
        const char *wrong = team_place(&reader->team, place->window, place->id);
        if (wrong != NULL)
            diagnostics_add(reader->diagnostics, DIAGNOSTIC_ERROR, reader->file, place->line,
                            "agent %s %s", place->id, wrong);
    }
    team_complete(&reader->team, add_unfit, reader);
    if (reader->diagnostics->errors == 0)
        check_rules(reader);
    return 0;
}

int team_check_ini(int fd, const char *file, struct diagnostics *diagnostics, struct team *ret,
                   struct err *err)
{
    struct team_reader reader = {.file = file, .diagnostics = diagnostics};
    int rc = read_all(&reader, fd, err);
    if (rc == 0) {
        *ret = reader.team;
        reader.team = (struct team)TEAM_INIT;
    }
    reader_free(&reader);
    return rc;
}

int team_read_ini(int fd, const char *file, struct team *ret, struct err *err)
{
    _cleanup_diagnostics_ struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;

    if (team_check_ini(fd, file, &diagnostics, &team, err) == -1 ||
        diagnostics_fail(&diagnostics, MAS_DAMAGED, err) == -1)
        return -1;
    *ret = team;
    team = (struct team)TEAM_INIT;
    return 0;
}
