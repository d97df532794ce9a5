/*
 * First the words and types of values, then the table of keys. Keys that contain a name, such as
 * env.NAME, are read by hand before it.
 */

#include "model/preset.h"

#include "base/json.h"
#include "base/suggest.h"
#include "base/time.h"
#include "model/account.h"
#include "model/env_name.h"
#include "model/key_names.h"
#include "model/member.h"

#include <regex.h>

enum {
    RESTART_LIMIT_MAX = 1000,
    SESSION_META_MAX = 4096,
    PRESET_PATTERN_MAX = 256, /* bytes */
    PRESET_ROWS_MAX = 1024,
};

const char *const start_words[] = {"", "now", "demand", NULL};
static const char *const protocols[] = {"tty", "acp", NULL};
static const char *const policies[] = {"", "ask", "allow", "deny", NULL};
static const char *const restarts[] = {"never", "on-crash", NULL};
static const char *const token_counts[] = {"turn", "session", NULL};
static const char *const choices[] = {"", "no", "yes", NULL};
static const char *const offers[] = {"fs",      "terminal",  "elicitation", "auth",
                                     "session", "subagents", NULL};

static bool is_regex(const char *text)
{
    regex_t regex;

    if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    regfree(&regex);
    return true;
}

static const char *check_regex(const char *text)
{
    return strlen(text) > PRESET_REGEX_MAX ? "a text of at most 512 bytes" : NULL;
}

static bool is_object(const char *text)
{
    struct err ignored = ERR_INIT;
    _cleanup_json_ struct json *json = NULL;

    return json_parse(text, strlen(text), SESSION_META_MAX, &json, &ignored) == 0 &&
           json_is_object(json);
}

static bool is_rows(const char *text)
{
    return str_starts(text, "SELECT ") && strlen(text) <= PRESET_ROWS_MAX && !str_has_control(text);
}

static bool is_picture(const char *text)
{
    return strstr(text, "{path}") != NULL && strlen(text) <= PRESET_FILE_MAX &&
           !str_has_control(text);
}

static bool is_file_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= PRESET_FILE_MAX && strchr(name, '/') == NULL &&
           !str_has_control(name) && str_is_utf8(name, len) && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* A name, or one in a directory. */
static bool is_told_file(const char *path)
{
    const char *slash = strchr(path, '/');
    _cleanup_free_ char *dir = slash != NULL ? mem_dupn(path, (size_t)(slash - path)) : NULL;

    return is_file_name(slash != NULL ? slash + 1 : path) && (dir == NULL || is_file_name(dir));
}

/* A path below the home, or below what a variable says. */
static bool is_pattern(const char *path)
{
    size_t len = strlen(path);

    return len <= PRESET_PATTERN_MAX && path[0] != '/' && !str_has_control(path) &&
           str_is_utf8(path, len) && strstr(path, "..") == NULL;
}

static bool is_home_file(const char *path)
{
    return path[0] != '\0' && is_pattern(path);
}

static const struct value_type start_type = {VALUE_WORD, "now or demand", .words = start_words};
const struct value_type hibernate_type = {VALUE_NUMBER,
                                          "no, or a time such as 30s or 15m, up to 24h",
                                          .min = 1,
                                          .max = TIME_DURATION_MAX_MS,
                                          VALUE_UNITS(time_durations),
                                          .none = "no"};

static const struct value_type
    choice = {VALUE_WORD, "yes or no", .words = choices},
    protocol = {VALUE_WORD, "tty or acp", .words = protocols},
    policy = {VALUE_WORD, "ask, allow or deny", .words = policies},
    restart = {VALUE_WORD, "never or on-crash", .words = restarts},
    tokens = {VALUE_WORD, "turn or session", .words = token_counts},
    offer = {VALUE_SET, "a list of fs, terminal, elicitation, auth, session, subagents",
             .words = offers},
    regex = {VALUE_TEXT, "an extended regular expression", .check = check_regex, .fits = is_regex},
    command = {VALUE_TEXT, "a program and its arguments, with every quote closed",
               .fits = value_is_command},
    picture = {VALUE_TEXT, "a text with {path}, such as @{path}", .fits = is_picture},
    rows = {VALUE_TEXT, "a SELECT of SQL of at most 1 KiB", .fits = is_rows},
    object = {VALUE_TEXT, "a JSON object of at most 4 KiB", .fits = is_object},
    patterns = {VALUE_LIST, "a list of at most 4 paths below the home, such as .agent/*/{id}.jsonl",
                .max = 4, .fits = is_pattern},
    home_files = {VALUE_LIST, "a list of at most 4 paths below the home, such as .agent/login.json",
                  .max = 4, .fits = is_home_file},
    told_keys = {VALUE_TEXT, "at most 8 names of keys, such as Esc, Enter, Ctrl-C or y",
                 .fits = keys_are_known},
    file = {VALUE_TEXT, "the name of a file, at most 64 bytes", .fits = is_file_name},
    files = {VALUE_LIST, "a list of at most 16 file names", .max = PRESET_READS_MAX,
             .fits = is_file_name},
    variables = {VALUE_LIST, "a list of at most 32 names of environment variables",
                 .max = PRESET_NEEDS_MAX, .fits = env_is_name},
    duration = {VALUE_NUMBER, "a time such as 200ms, 2s or 1m, up to 24h",
                .max = TIME_DURATION_MAX_MS, VALUE_UNITS(time_durations)},
    count = {VALUE_NUMBER, "a number from 0 to 1000", .max = RESTART_LIMIT_MAX},
    size = {VALUE_NUMBER, "a size such as 400M or 2G, up to 1024T", .max = LIMIT_SIZE_MAX,
            VALUE_UNITS(number_sizes)};

#define KEY(key, type, member) MEMBER(key, type, struct preset, member)

static const struct member keys[] = {
    {KEY("description", value_text, description)},
    {KEY("protocol", protocol, protocol)},
    {KEY("command", command, command)},
    {KEY("model_option", value_text, model_option)},
    {KEY("install", value_text, install)},
    {KEY("login", value_text, login)},
    {KEY("login_command", command, login_command)},
    {KEY("login_files", home_files, login_files)},
    {KEY("as_root", value_text, as_root)},
    {KEY("accounts", accounts_type, accounts)},
    {KEY("needs_env", variables, needs_env)},
    {KEY("reads", files, reads)},
    {KEY("role_option", command, role_option)},
    {KEY("role_file", file, role_file)},
    {KEY("picture", picture, picture)},
    {KEY("told.hook", value_text, told.hook)},
    {KEY("told.args", command, told.args)},
    {KEY("told.begin", command, told.begin)},
    {KEY("told.resume", command, told.resume)},
    {KEY("told.kept", patterns, told.kept)},
    {KEY("told.state", patterns, told.state)},
    {KEY("told.transcript", patterns, told.transcript)},
    {KEY("told.alive", patterns, told.alive)},
    {KEY("told.title_new", regex, told.title_new)},
    {KEY("told.like", value_text, told.like)},
    {KEY("told.database", patterns, told.database)},
    {KEY("told.database.sessions", rows, told.session_rows)},
    {KEY("told.database.lines", rows, told.line_rows)},
    {KEY("told.copies", value_yes, told.copies)},
    {KEY("told.key.allow", told_keys, told.allow)},
    {KEY("told.key.deny", told_keys, told.deny)},
    {KEY("told.key.trust", told_keys, told.trust_keys)},
    {KEY("told.trust", regex, told.trust)},
    {KEY("told.trusted", command, told.trusted)},
    {KEY("told.renews", value_yes, told.renews)},
    {KEY("told.key.stop", told_keys, told.stop)},
    {KEY("told.clear", value_text, told.clear)},
    {KEY("sandbox_off.args", command, sandbox_off.args)},
    {KEY("sandbox_off.session", object, sandbox_off.session)},
    {KEY("start", start_type, start)},
    {KEY("restart", restart, restart_on_crash)},
    {KEY("restart_limit", count, restart_limit)},
    {KEY("restart_delay", duration, restart_delay_ms)},
    {KEY("memory", size, memory)},
    {KEY("idle", duration, idle_ms)},
    {KEY("ready", regex, ready)},
    {KEY("ready_after", duration, ready_ms)},
    {KEY("ready_quiet", duration, quiet_ms)},
    {KEY("ready_timeout", duration, ready_timeout_ms)},
    {KEY("enter_delay", duration, enter_ms)},
    {KEY("paste", value_yes, pastes)},
    {KEY("hold", duration, hold_ms)},
    {KEY("waiting", regex, waiting)},
    {KEY("title_working", regex, title_working)},
    {KEY("title_idle", regex, title_idle)},
    {KEY("title_waiting", regex, title_waiting)},
    {KEY("permission", policy, permission)},
    {KEY("operator", choice, is_operator)},
    {KEY("executes", choice, executes)},
    {KEY("wall.level", wall_level_type, wall.level)},
    {KEY("wall.home", wall_home_type, wall)},
    {KEY("wall.read", wall_paths_type, wall.read)},
    {KEY("wall.write", wall_paths_type, wall.write)},
    {KEY("wall.network", wall_network_type, wall.network)},
    {KEY("wall.nested", value_yes, wall.nested)},
    {KEY("mode", value_text, mode)},
    {KEY("plan_mode", value_text, plan_mode)},
    {KEY("limited", regex, limited)},
    {KEY("offers", offer, offers)},
    {KEY("tools", value_yes, tools)},
    {KEY("tokens", tokens, sums_tokens)},
    {KEY("initialize_timeout", duration, initialize_ms)},
    {KEY("resume_timeout", duration, resume_ms)},
    {KEY("end_timeout", duration, end_ms)},
    {KEY("hibernate", hibernate_type, hibernate_ms)},
    {KEY("budget.cost", budget_types[BUDGET_COST], budget.of[BUDGET_COST])},
    {KEY("budget.tokens", budget_types[BUDGET_TOKENS], budget.of[BUDGET_TOKENS].amount)},
    {KEY("budget.turns", budget_types[BUDGET_TURNS], budget.of[BUDGET_TURNS].amount)},
    {KEY("budget.time", budget_types[BUDGET_TIME], budget.of[BUDGET_TIME].amount)},
    {KEY("limits.agent", limit_types[LIMIT_AGENT], limits.of[LIMIT_AGENT])},
    {KEY("limits.memory", limit_types[LIMIT_MEMORY], limits.of[LIMIT_MEMORY])},
    {KEY("limits.cpus", limit_types[LIMIT_CPUS], limits.of[LIMIT_CPUS])},
    {KEY("limits.processes", limit_types[LIMIT_PROCESSES], limits.of[LIMIT_PROCESSES])},
    MEMBER_END,
};

/* The suffixes of "permission.", as agents name the kinds. */
static const char *const kinds[TOOL_KIND_COUNT + 1] = {
    [TOOL_READ] = "read",   [TOOL_EDIT] = "edit",     [TOOL_DELETE] = "delete",
    [TOOL_MOVE] = "move",   [TOOL_SEARCH] = "search", [TOOL_EXECUTE] = "execute",
    [TOOL_THINK] = "think", [TOOL_FETCH] = "fetch",   [TOOL_SWITCH_MODE] = "switch_mode",
    [TOOL_OTHER] = "other",
};

const char *preset_told_kind(const struct preset *preset, const char *tool)
{
    const char *kind = tool != NULL ? kv_get(&preset->told.tools, tool) : NULL;

    return kind != NULL ? kind : kinds[TOOL_OTHER];
}

enum policy preset_policy(const struct preset *preset, const char *kind)
{
    int i = kind != NULL ? value_word(kinds, kind) : -1;
    enum policy said = preset->tool_permission[i != -1 ? i : TOOL_OTHER];

    return said != POLICY_UNSET ? said : preset->permission;
}

bool preset_executes(const struct preset *preset)
{
    if (preset->protocol == PROTOCOL_ACP)
        return false;
    if (preset->executes != SAID_UNSET)
        return preset->executes == SAID_YES;
    return preset->role_option[0] == '\0' && preset->role_env.count == 0;
}

void preset_make(struct preset *preset, const char *name)
{
    *preset = (struct preset){.name = mem_dup(name),
                              .start = START_NOW,
                              .restart_limit = 5,
                              .restart_delay_ms = 1000,
                              .idle_ms = 2000,
                              .ready_ms = 100,
                              .ready_timeout_ms = 3000,
                              .hold_ms = 30000,
                              .permission = POLICY_ASK,
                              .offers = OFFERS_ALL,
                              .tools = true,
                              .initialize_ms = 180000,
                              .resume_ms = 180000,
                              .end_ms = 1000};
    members_fill(keys, preset);
    strv_push(&preset->reads, "AGENTS.md");
    strv_push(&preset->reads, "CLAUDE.md");
}

static int check_event(const struct ini_line *line, struct err *err)
{
    int fact = value_word(told_facts, line->value);

    if (fact == -1)
        return ini_fail_unknown(line, "unknown fact", suggest_of(line->value, told_facts), err);
    if (fact >= TOLD_EVENTS)
        return ini_fail(line, err, "a fact '%s' is told by lines alone", line->value);
    return 0;
}

static int check_tool(const struct ini_line *line, struct err *err)
{
    if (value_word(kinds, line->value) == -1 && strcmp(line->value, TOLD_QUESTION) != 0)
        return ini_fail_unknown(line, "unknown kind of tool", suggest_of(line->value, kinds), err);
    return 0;
}

static bool is_short_word(const char *name)
{
    return str_is_word(name, PRESET_FILE_MAX);
}

/* Keys that end in a name, each with its text. */
static const struct named_key {
    const char *prefix;
    size_t names; /* where the struct kv is */
    bool (*fits)(const char *name); /* NULL: it is one of a variable */
    const char *words, *things; /* what it has to be, and what there are `max` of */
    size_t max;
    int (*check)(const struct ini_line *line, struct err *err); /* of the text; NULL: any */
} named[] = {
#define NAMED(text, member) .prefix = (text), .names = offsetof(struct preset, member)
    {NAMED("env.", env)},
    {NAMED("role_env.", role_env)},
    {NAMED("told.env.", told.env)},
    {NAMED("wall.env.", wall_env)},
    {NAMED("sandbox_off.env.", sandbox_off.env)},
    {NAMED("told.file.", told.files), is_told_file, "the name of a file, or DIRECTORY/FILE",
     "files", PRESET_TOLD_MAX},
    {NAMED("told.home.", told.homes), is_home_file, "the path of a file below the home",
     "such files", PRESET_EACH_MAX},
    {NAMED("told.trusted_home.", told.trusted_homes), is_home_file,
     "the path of a file below the home", "such files", PRESET_EACH_MAX},
    {NAMED("told.each.", told.each), is_short_word, "a word", "such texts", PRESET_EACH_MAX},
    {NAMED("told.event.", told.events), is_short_word, "a word", "events", PRESET_TOLD_MAX,
     check_event},
    {NAMED("told.tool.", told.tools), is_short_word, "a word", "tools", PRESET_TOLD_MAX,
     check_tool},
#undef NAMED
};

static struct kv *names_of(struct preset *preset, const struct named_key *key)
{
    return (struct kv *)(void *)((char *)preset + key->names);
}

static int read_named(struct preset *preset, const struct named_key *key,
                      const struct ini_line *line, struct err *err)
{
    const char *name = line->key + strlen(key->prefix);
    struct kv *to = names_of(preset, key);
    const char *wrong = key->fits == NULL ? env_check_name(name) : NULL;

    if (wrong != NULL)
        return ini_fail(line, err, "'%s' %s", name, wrong);
    if (key->fits != NULL && (!key->fits(name) || to->count == key->max))
        return ini_fail(line, err, "'%s' has to be %s, and there are at most %zu %s", name,
                        key->words, key->max, key->things);
    if (key->check != NULL && key->check(line, err) == -1)
        return -1;
    kv_put(to, name, line->value);
    return 0;
}

static int read_told_line(struct preset *preset, const struct ini_line *line, struct err *err)
{
    struct preset_told *told = &preset->told;
    const char *name = line->key + strlen("told.line.");
    struct line_rule rule;
    struct err why = ERR_INIT;

    if (!str_is_word(name, PRESET_FILE_MAX))
        return ini_fail(line, err, "'%s' has to be a word", name);
    if (line_rule_parse(line->value, &rule, &why) == -1) {
        line_rule_free(&rule);
        return ini_fail(line, err, "%s", why.text);
    }
    size_t i = 0;
    while (i < told->line_count && strcmp(told->lines[i].name, name) != 0)
        i++;
    if (i == LINE_RULES_MAX) {
        line_rule_free(&rule);
        return ini_fail(line, err, "there are more than %d lines", LINE_RULES_MAX);
    }
    if (i < told->line_count) {
        line_rule_free(&told->lines[i]);
    } else {
        told->lines = mem_room(told->lines, told->line_count, sizeof *told->lines);
        told->line_count++;
    }
    rule.name = mem_dup(name);
    told->lines[i] = rule;
    return 0;
}

int preset_read(struct preset *preset, const struct ini_line *line, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (str_starts(line->key, named[i].prefix))
            return read_named(preset, &named[i], line, err);
    if (str_starts(line->key, "told.line."))
        return read_told_line(preset, line, err);
    if (str_starts(line->key, "permission.")) {
        const char *name = line->key + strlen("permission.");
        int kind = value_word(kinds, name);
        return kind == -1
                   ? ini_fail_unknown(line, "unknown kind of tool", suggest_of(name, kinds), err)
                   : ini_value(line, &policy, &preset->tool_permission[kind],
                               sizeof preset->tool_permission[kind], err);
    }
    return members_read_line(keys, line, "unknown key in a preset", preset, err);
}

void preset_free(struct preset *preset)
{
    members_free(keys, preset);
    wall_options_free(&preset->wall);
    free(preset->name);
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        kv_free(names_of(preset, &named[i]));
    for (size_t i = 0; i < preset->told.line_count; i++)
        line_rule_free(&preset->told.lines[i]);
    free(preset->told.lines);
}
