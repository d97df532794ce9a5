/*
 * A parse function changes its member only if the value is good; else it returns what a good one
 * would be, for the error. Keys that contain a name, such as env.NAME, come first, then the table.
 * A key whose member is a text has its function in is_text(): by that it begins as "" and is freed.
 */

#include "model/preset.h"

#include "base/json.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/time.h"
#include "model/env_name.h"

#include <regex.h>

enum { RESTART_LIMIT_MAX = 1000, MEMORY_SHIFT_MAX = 50, SESSION_META_MAX = 4096 };

const char *start_name(enum start start)
{
    return start == START_NOW ? "now" : start == START_DEMAND ? "demand" : "";
}

bool start_parse(const char *text, enum start *ret)
{
    for (enum start s = START_UNSET; s <= START_DEMAND; s++) {
        if (strcmp(text, start_name(s)) != 0)
            continue;
        *ret = s;
        return true;
    }
    return false;
}

/* Parses a value into a member. Returns NULL, or a description of a valid value. */
typedef const char *parse_fn(const char *value, void *to);

static const char *parse_text(const char *value, void *to)
{
    char **text = to;
    free(*text);
    *text = mem_dup(value);
    return NULL;
}

static const char *parse_protocol(const char *value, void *to)
{
    bool acp = strcmp(value, "acp") == 0;
    if (!acp && strcmp(value, "tty") != 0)
        return "tty or acp";
    *(enum protocol *)to = acp ? PROTOCOL_ACP : PROTOCOL_TTY;
    return NULL;
}

static const char *parse_policy(const char *value, void *to)
{
    static const char *const names[] = {
        [POLICY_ASK] = "ask", [POLICY_ALLOW] = "allow", [POLICY_DENY] = "deny"};
    for (size_t i = POLICY_ASK; i < ARRAY_LEN(names); i++) {
        if (strcmp(value, names[i]) != 0)
            continue;
        *(enum policy *)to = (enum policy)i;
        return NULL;
    }
    return "ask, allow or deny";
}

static const char *parse_regex(const char *value, void *to)
{
    regex_t regex;
    if (strlen(value) > PRESET_REGEX_MAX)
        return "a text of at most 512 bytes";
    if (value[0] != '\0') {
        if (regcomp(&regex, value, REG_EXTENDED | REG_NOSUB) != 0)
            return "an extended regular expression";
        regfree(&regex);
    }
    return parse_text(value, to);
}

static const char *parse_command(const char *value, void *to)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;

    if (str_split_words(value, &words, &ignored) == -1)
        return "a program and its arguments, with every quote closed";
    return parse_text(value, to);
}

static const char *parse_duration(const char *value, void *to)
{
    return time_parse_duration(value, to) ? NULL : "a time such as 200ms, 2s or 1m, up to 24h";
}

bool hibernate_parse(const char *text, int *ret_ms)
{
    int ms = 0;

    if (strcmp(text, "no") != 0 && (!time_parse_duration(text, &ms) || ms == 0))
        return false;
    *ret_ms = ms;
    return true;
}

static const char *parse_hibernate(const char *value, void *to)
{
    return hibernate_parse(value, to) ? NULL : "no, or a time such as 30s or 15m, up to 24h";
}

static const char *parse_start(const char *value, void *to)
{
    enum start start = START_UNSET;
    if (!start_parse(value, &start) || start == START_UNSET)
        return "now or demand";
    *(enum start *)to = start;
    return NULL;
}

static const char *parse_restart(const char *value, void *to)
{
    bool on_crash = strcmp(value, "on-crash") == 0;
    if (!on_crash && strcmp(value, "never") != 0)
        return "never or on-crash";
    *(bool *)to = on_crash;
    return NULL;
}

static const char *parse_limit(const char *value, void *to)
{
    static const struct unit units[] = {{"", 1}};
    uint64_t n;
    if (!number_parse(value, units, 1, RESTART_LIMIT_MAX, &n))
        return "a number from 0 to 1000";
    *(int *)to = (int)n;
    return NULL;
}

static const char *parse_size(const char *value, void *to)
{
    return number_parse_size(value, UINT64_C(1) << MEMORY_SHIFT_MAX, to)
               ? NULL
               : "a size such as 400M or 2G, up to 1024T";
}

static const char *parse_names(const char *value, void *to)
{
    char ***names = to;
    _cleanup_strv_ char **found = str_split_list(value);

    if (strv_len(found) > PRESET_NEEDS_MAX)
        return "a list of at most 32 names of environment variables";
    for (char **name = found; name != NULL && *name != NULL; name++)
        if (!env_is_name(*name))
            return "a list of at most 32 names of environment variables";
    strv_free(*names);
    *names = TAKE_PTR(found);
    return NULL;
}

static const char *parse_tokens(const char *value, void *to)
{
    bool session = strcmp(value, "session") == 0;

    if (!session && strcmp(value, "turn") != 0)
        return "turn or session";
    *(bool *)to = session;
    return NULL;
}

static const char *parse_object(const char *value, void *to)
{
    struct err ignored = ERR_INIT;
    _cleanup_json_ struct json *json = NULL;

    if (value[0] != '\0' &&
        (json_parse(value, strlen(value), SESSION_META_MAX, &json, &ignored) == -1 ||
         !json_is_object(json)))
        return "a JSON object of at most 4 KiB";
    return parse_text(value, to);
}

static const char *parse_offers(const char *value, void *to)
{
    static const struct {
        const char *name;
        unsigned bit;
    } offers[] = {
        {"fs", OFFERS_FS},     {"terminal", OFFERS_TERMINAL}, {"elicitation", OFFERS_ELICITATION},
        {"auth", OFFERS_AUTH}, {"session", OFFERS_SESSION},   {"subagents", OFFERS_SUBAGENTS},
    };
    _cleanup_strv_ char **words = str_split_list(value);
    unsigned bits = 0;

    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t i = 0;
        while (i < ARRAY_LEN(offers) && strcmp(*word, offers[i].name) != 0)
            i++;
        if (i == ARRAY_LEN(offers))
            return "a list of fs, terminal, elicitation, auth, session, subagents";
        bits |= offers[i].bit;
    }
    *(unsigned *)to = bits;
    return NULL;
}

static bool is_file_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= PRESET_FILE_MAX && strchr(name, '/') == NULL &&
           !str_has_control(name) && str_is_utf8(name, len) && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static const char *parse_file(const char *value, void *to)
{
    if (value[0] != '\0' && !is_file_name(value))
        return "the name of a file, at most 64 bytes";
    return parse_text(value, to);
}

static const char *parse_files(const char *value, void *to)
{
    char ***files = to;
    _cleanup_strv_ char **found = str_split_list(value);

    if (strv_len(found) > PRESET_READS_MAX)
        return "a list of at most 16 file names";
    for (char **name = found; name != NULL && *name != NULL; name++)
        if (!is_file_name(*name))
            return "a list of at most 16 file names";
    strv_free(*files);
    *files = TAKE_PTR(found);
    return NULL;
}

static const char *parse_yes(const char *value, void *to)
{
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return "yes or no";
    *(bool *)to = yes;
    return NULL;
}

static const char *parse_choice(const char *value, void *to)
{
    bool yes = false;
    const char *want = parse_yes(value, &yes);

    if (want == NULL)
        *(enum said *)to = yes ? SAID_YES : SAID_NO;
    return want;
}

static const char *parse_wall_level(const char *value, void *to)
{
    return wall_level_parse(value, to) ? NULL : "off, try or require";
}

static const char *parse_wall_home(const char *value, void *to)
{
    return wall_parse_home(value, to);
}

static const char *parse_wall_paths(const char *value, void *to)
{
    return wall_parse_paths(value, to);
}

static const char *parse_wall_network(const char *value, void *to)
{
    const char *want = wall_check_network(value);
    return want != NULL ? want : parse_text(value, to);
}

static const char *parse_cost_budget(const char *value, void *to)
{
    return budget_parse(BUDGET_COST, value, to);
}

static const char *parse_token_budget(const char *value, void *to)
{
    return budget_parse(BUDGET_TOKENS, value, to);
}

static const char *parse_turn_budget(const char *value, void *to)
{
    return budget_parse(BUDGET_TURNS, value, to);
}

static const char *parse_time_budget(const char *value, void *to)
{
    return budget_parse(BUDGET_TIME, value, to);
}

static const char *parse_disk_limit(const char *value, void *to)
{
    return limit_parse(LIMIT_AGENT, value, to);
}

static const char *parse_memory_limit(const char *value, void *to)
{
    return limit_parse(LIMIT_MEMORY, value, to);
}

static const char *parse_cpu_limit(const char *value, void *to)
{
    return limit_parse(LIMIT_CPUS, value, to);
}

static const char *parse_process_limit(const char *value, void *to)
{
    return limit_parse(LIMIT_PROCESSES, value, to);
}

static const struct key {
    const char *name;
    parse_fn *parse;
    size_t member;
} keys[] = {
    {"description", parse_text, offsetof(struct preset, description)},
    {"protocol", parse_protocol, offsetof(struct preset, protocol)},
    {"command", parse_command, offsetof(struct preset, command)},
    {"model_option", parse_text, offsetof(struct preset, model_option)},
    {"install", parse_text, offsetof(struct preset, install)},
    {"login", parse_text, offsetof(struct preset, login)},
    {"login_command", parse_command, offsetof(struct preset, login_command)},
    {"as_root", parse_text, offsetof(struct preset, as_root)},
    {"needs_env", parse_names, offsetof(struct preset, needs_env)},
    {"reads", parse_files, offsetof(struct preset, reads)},
    {"role_option", parse_command, offsetof(struct preset, role_option)},
    {"role_file", parse_file, offsetof(struct preset, role_file)},
    {"sandbox_off.args", parse_command, offsetof(struct preset, sandbox_off.args)},
    {"sandbox_off.session", parse_object, offsetof(struct preset, sandbox_off.session)},
    {"start", parse_start, offsetof(struct preset, start)},
    {"restart", parse_restart, offsetof(struct preset, restart_on_crash)},
    {"restart_limit", parse_limit, offsetof(struct preset, restart_limit)},
    {"restart_delay", parse_duration, offsetof(struct preset, restart_delay_ms)},
    {"memory", parse_size, offsetof(struct preset, memory)},
    {"idle", parse_duration, offsetof(struct preset, idle_ms)},
    {"ready", parse_regex, offsetof(struct preset, ready)},
    {"ready_after", parse_duration, offsetof(struct preset, ready_ms)},
    {"ready_timeout", parse_duration, offsetof(struct preset, ready_timeout_ms)},
    {"enter_delay", parse_duration, offsetof(struct preset, enter_ms)},
    {"hold", parse_duration, offsetof(struct preset, hold_ms)},
    {"waiting", parse_regex, offsetof(struct preset, waiting)},
    {"title_working", parse_regex, offsetof(struct preset, title_working)},
    {"title_idle", parse_regex, offsetof(struct preset, title_idle)},
    {"title_waiting", parse_regex, offsetof(struct preset, title_waiting)},
    {"permission", parse_policy, offsetof(struct preset, permission)},
    {"operator", parse_choice, offsetof(struct preset, is_operator)},
    {"executes", parse_choice, offsetof(struct preset, executes)},
    {"wall.level", parse_wall_level, offsetof(struct preset, wall.level)},
    {"wall.home", parse_wall_home, offsetof(struct preset, wall)},
    {"wall.read", parse_wall_paths, offsetof(struct preset, wall.read)},
    {"wall.write", parse_wall_paths, offsetof(struct preset, wall.write)},
    {"wall.network", parse_wall_network, offsetof(struct preset, wall.network)},
    {"wall.nested", parse_yes, offsetof(struct preset, wall.nested)},
    {"mode", parse_text, offsetof(struct preset, mode)},
    {"plan_mode", parse_text, offsetof(struct preset, plan_mode)},
    {"offers", parse_offers, offsetof(struct preset, offers)},
    {"tools", parse_yes, offsetof(struct preset, tools)},
    {"tokens", parse_tokens, offsetof(struct preset, sums_tokens)},
    {"initialize_timeout", parse_duration, offsetof(struct preset, initialize_ms)},
    {"resume_timeout", parse_duration, offsetof(struct preset, resume_ms)},
    {"end_timeout", parse_duration, offsetof(struct preset, end_ms)},
    {"hibernate", parse_hibernate, offsetof(struct preset, hibernate_ms)},
    {"budget.cost", parse_cost_budget, offsetof(struct preset, budget.of[BUDGET_COST])},
    {"budget.tokens", parse_token_budget, offsetof(struct preset, budget.of[BUDGET_TOKENS])},
    {"budget.turns", parse_turn_budget, offsetof(struct preset, budget.of[BUDGET_TURNS])},
    {"budget.time", parse_time_budget, offsetof(struct preset, budget.of[BUDGET_TIME])},
    {"limits.agent", parse_disk_limit, offsetof(struct preset, limits.of[LIMIT_AGENT])},
    {"limits.memory", parse_memory_limit, offsetof(struct preset, limits.of[LIMIT_MEMORY])},
    {"limits.cpus", parse_cpu_limit, offsetof(struct preset, limits.of[LIMIT_CPUS])},
    {"limits.processes", parse_process_limit, offsetof(struct preset, limits.of[LIMIT_PROCESSES])},
};

/* The suffixes of "permission.", as agents name the kinds. */
static const char *const kinds[TOOL_KIND_COUNT] = {
    [TOOL_READ] = "read",   [TOOL_EDIT] = "edit",     [TOOL_DELETE] = "delete",
    [TOOL_MOVE] = "move",   [TOOL_SEARCH] = "search", [TOOL_EXECUTE] = "execute",
    [TOOL_THINK] = "think", [TOOL_FETCH] = "fetch",   [TOOL_SWITCH_MODE] = "switch_mode",
    [TOOL_OTHER] = "other",
};

static size_t find_kind(const char *name)
{
    size_t i = 0;
    while (i < TOOL_KIND_COUNT && strcmp(name, kinds[i]) != 0)
        i++;
    return i;
}

enum policy preset_policy(const struct preset *preset, const char *kind)
{
    size_t i = kind != NULL ? find_kind(kind) : TOOL_OTHER;
    enum policy policy = preset->tool_permission[i < TOOL_KIND_COUNT ? i : TOOL_OTHER];
    return policy != POLICY_UNSET ? policy : preset->permission;
}

bool preset_executes(const struct preset *preset)
{
    if (preset->protocol == PROTOCOL_ACP)
        return false;
    if (preset->executes != SAID_UNSET)
        return preset->executes == SAID_YES;
    return preset->role_option[0] == '\0' && preset->role_env.count == 0;
}

static bool is_text(const struct key *key)
{
    return key->parse == parse_text || key->parse == parse_regex || key->parse == parse_command ||
           key->parse == parse_file || key->parse == parse_object ||
           key->parse == parse_wall_network;
}

/* Returns the text member that a key sets. */
static char **text_of(struct preset *preset, const struct key *key)
{
    return (char **)(void *)((char *)preset + key->member);
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
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (is_text(&keys[i]))
            *text_of(preset, &keys[i]) = mem_dup("");
    strv_push(&preset->reads, "AGENTS.md");
    strv_push(&preset->reads, "CLAUDE.md");
}

static const char *nearest_kind(const char *name)
{
    struct suggest suggest = SUGGEST_INIT(name);

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        suggest_try(&suggest, kinds[i]);
    return suggest.nearest;
}

static const char *nearest_key(const char *name)
{
    struct suggest suggest = SUGGEST_INIT(name);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        suggest_try(&suggest, keys[i].name);
    return suggest.nearest;
}

static int read_variable(const struct ini_line *line, const char *prefix, struct kv *to,
                         struct err *err)
{
    const char *name = line->key + strlen(prefix);
    const char *wrong = env_check_name(name);

    if (wrong != NULL)
        return ini_fail(line, err, "'%s' %s", name, wrong);
    kv_put(to, name, line->value);
    return 0;
}

int preset_read(struct preset *preset, const struct ini_line *line, struct err *err)
{
    if (str_starts(line->key, "env."))
        return read_variable(line, "env.", &preset->env, err);
    if (str_starts(line->key, "role_env."))
        return read_variable(line, "role_env.", &preset->role_env, err);
    if (str_starts(line->key, "wall.env."))
        return read_variable(line, "wall.env.", &preset->wall_env, err);
    if (str_starts(line->key, "sandbox_off.env."))
        return read_variable(line, "sandbox_off.env.", &preset->sandbox_off.env, err);
    if (str_starts(line->key, "permission.")) {
        size_t kind = find_kind(line->key + strlen("permission."));
        if (kind == TOOL_KIND_COUNT)
            return ini_fail_unknown(line, "unknown kind of tool",
                                    nearest_kind(line->key + strlen("permission.")), err);
        const char *want = parse_policy(line->value, &preset->tool_permission[kind]);
        return want == NULL ? 0 : ini_fail(line, err, "'%s' is not %s", line->value, want);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (line->key[0] != keys[i].name[0] || strcmp(line->key, keys[i].name) != 0)
            continue;
        const char *want = keys[i].parse(line->value, (char *)preset + keys[i].member);
        return want == NULL ? 0 : ini_fail(line, err, "'%s' is not %s", line->value, want);
    }
    return ini_fail_unknown(line, "unknown key in a preset", nearest_key(line->key), err);
}

void preset_free(struct preset *preset)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (is_text(&keys[i]))
            free(*text_of(preset, &keys[i]));
    preset->wall.network = NULL;
    wall_options_free(&preset->wall);
    free(preset->name);
    kv_free(&preset->env);
    kv_free(&preset->role_env);
    kv_free(&preset->wall_env);
    kv_free(&preset->sandbox_off.env);
    strv_free(preset->reads);
    strv_free(preset->needs_env);
}
