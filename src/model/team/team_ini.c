/*
 * The part of model/team/team.h that reads template.ini. mas-template(5) describes the format. A
 * wrong line becomes a diagnostic and reading goes on, so that a person sees all of them. Agents
 * get their places in windows at the end of the file, for a window may name one that comes later;
 * then the team is completed. Only if nothing is wrong are the rules looked at.
 */

#include "base/suggest.h"
#include "model/ini.h"
#include "model/team/team_internal.h"

static const char *const window_keys[] = {"layout", "agents", NULL};

static const struct member budget_keys[] = {
    {MEMBER("cost", budget_types[BUDGET_COST], struct budget, of[BUDGET_COST])},
    {MEMBER("tokens", budget_types[BUDGET_TOKENS], struct budget, of[BUDGET_TOKENS].amount)},
    {MEMBER("turns", budget_types[BUDGET_TURNS], struct budget, of[BUDGET_TURNS].amount)},
    {MEMBER("time", budget_types[BUDGET_TIME], struct budget, of[BUDGET_TIME].amount)},
    MEMBER_END,
};

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

/* Reads a key; plain texts have to be UTF-8. */
static int read_key(const struct member *members, const struct ini_line *line, const char *unknown,
                    void *record, struct err *err)
{
    const struct member *m = members_find(members, line->key);
    bool is_plain = m != NULL && m->type->kind == VALUE_TEXT && m->type->fits == NULL;

    return is_plain && !str_is_utf8(line->value, strlen(line->value))
               ? ini_fail(line, err, "it is not UTF-8")
               : members_read_line(members, line, unknown, record, err);
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
            return ini_fail(line, err, "a window's name must be 1 to 32 " STR_WORD_CHARS);
        struct window *window = team_add_window(team, name);
        if (window == NULL)
            return ini_fail(line, err, "the team has more than %d windows", TEAM_WINDOWS_MAX);
        window->line = line->line;
        return 0;
    }
    struct window *window = &team->windows[team->window_count - 1];
    if (members_find(window_members, line->key) != NULL)
        return read_key(window_members, line, "", window, err);
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

static int begin_agent(struct team *team, const struct ini_line *line, struct err *err)
{
    const char *id = line->section + strlen("agent ");

    if (!team_is_agent_id(id))
        return ini_fail(line, err, "an agent's id must be " TEAM_AGENT_ID);
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
    struct agent *agent = &team->agents[team->agent_count - 1];
    /* a wrong value counts as given */
    if (strcmp(line->key, "role") == 0 && agent->role == NULL)
        agent->role = mem_dup("");
    if (strcmp(line->key, "rank") == 0)
        agent->rank = RANK_WORKER;
    if (strcmp(line->key, "group") == 0 && line->value[0] == '\0')
        return ini_fail(line, err, EMPTY_KEY);
    return read_key(agent_members, line, EMPTY_KEY, agent, err);
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
        int rank = line->key != NULL ? value_word(rank_type.words, line->key) : -1;
        if (line->key == NULL)
            return 0;
        if (rank == -1)
            return ini_fail_unknown(line, "a rule must be for meta, manager or worker",
                                    suggest_of(line->key, rank_type.words), err);
        reader->rules[rank] = line->line;
        return ini_value(line, &reach_type, &reader->team.rules[rank],
                         sizeof reader->team.rules[rank], err);
    }
    if (strcmp(line->section, "budget") == 0)
        return line->key == NULL ? 0
                                 : read_key(budget_keys, line, "unknown key in a budget",
                                            &reader->team.budget, err);
    if (strcmp(line->section, "template") == 0)
        return line->key == NULL ? 0
                                 : read_key(team_members, line, "unknown key", &reader->team, err);
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
