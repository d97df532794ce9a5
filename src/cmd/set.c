/*
 * The second operand says what is set: a word for the session (private, setup, project, a budget, a
 * limit), or an agent with its options (set_agent()). Each is parsed before the session is opened,
 * refused to agents where only a person may decide, and stored in the place that owns it; hosts are
 * told to look at once where they would else notice later.
 */
#include "cli/agent_request.h"
#include "cli/consent.h"
#include "cli/print.h"
#include "cli/table.h"
#include "client/roster.h"
#include "client/session_detail.h"
#include "cmd.h"
#include "code/setup.h"
#include "memory/store_usage.h"
#include "model/target.h"
#include "session/life.h"
#include "store/limits/session_limits.h"

/* ---- what an ACP agent offers */

static int check_options(struct call *call, char *const *words, struct err *err)
{
    for (; *words != NULL; words++) {
        const char *equals = strchr(*words, '=');
        if (equals != NULL && equals != *words && equals[1] != '\0')
            continue;
        (void)err_set(err, MAS_USAGE, "cannot set '%s': it is not KEY=VALUE", *words);
        return call_usage(call, err);
    }
    return 0;
}

static int set_word(struct call *call, struct agent_request *request, const char *word,
                    struct err *err)
{
    size_t len = strcspn(word, "=");
    _cleanup_free_ char *key = mem_dupn(word, len);
    bool is_mode = strcmp(key, "mode") == 0;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};

    agent_request_open(request, is_mode ? "mode" : "set", &out);
    if (!is_mode)
        json_put(&out, "option", key);
    json_put(&out, is_mode ? "mode" : "value", word + len + 1);
    json_close(&out, '}');
    return agent_request_ask(call, request, &head, NULL, 0, &answer, err);
}

/* Sets the mode (mode=) or options of one agent, in the order given, without a clear. Checks all
 * words before it sets the first. An agent that has not run yet gets them when it starts. Fails
 * with MAS_NOT_FOUND if the agent has no such mode or option, with MAS_USAGE or MAS_FAILED if it
 * does not take the value. */
static int set_agent(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;

    if (agent_request_parse(call, "set", TARGETS_ONE, &request, err) == -1 ||
        check_options(call, call->operands, err) == -1)
        return -1;
    for (int i = 0; i < call->operand_count; i++)
        if (set_word(call, &request, call->operands[i], err) == -1)
            return -1;
    return 0;
}

/* ---- what the agent offers */

/* Adds a row: KEY=VALUE, and all values that it may have, which have their word in `member`. */
static void add_option(struct table *table, const char *key, const char *value,
                       const struct json *values, const char *member)
{
    _cleanup_str_ struct str setting = STR_INIT;
    _cleanup_str_ struct str list = STR_INIT;

    str_addf(&setting, "%s=%s", key, value);
    for (const struct json *one = json_first(values); one != NULL; one = json_next(one))
        str_addf(&list, "%s%s", list.len > 0 ? ", " : "", json_get_text_or(one, member, ""));
    table_add(table, setting.data, NULL);
    table_add(table, str_text(&list), NULL);
}

/* Prints the mode and the options of one agent, with the values that they may have. Fails with
 * MAS_CONFLICT if it has told of none: it does not run yet, or offers none. */
static int set_agent_show(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str listen = STR_INIT;
    _cleanup_json_ struct json *said = NULL;
    struct table table = {.columns = 2, .whole_last = true};

    str_add(&listen, "{\"do\":\"listen\"}");
    if (agent_request_parse(call, "show the settings of", TARGETS_ONE, &request, err) == -1 ||
        agent_request_ask(call, &request, &listen, NULL, 0, &said, err) == -1)
        return -1;
    const char *agent = request.roster.agents[0].agent->id;
    const char *state = json_get_text_or(said, "state", "");
    const struct json *modes = json_get(said, "modes");
    table_add(&table, "SETTING", colour_dim());
    table_add(&table, "VALUES", colour_dim());
    if (json_first(modes) != NULL)
        add_option(&table, "mode", json_get_text_or(said, "mode", ""), modes, "id");
    for (const struct json *option = json_first(json_get(said, "options")); option != NULL;
         option = json_next(option)) {
        /* some offer their modes as an option, too; mode= sets the mode */
        if (json_first(modes) != NULL && strcmp(json_get_text_or(option, "id", ""), "mode") == 0)
            continue;
        add_option(&table, json_get_text_or(option, "id", ""),
                   json_get_text_or(option, "value", ""), json_get(option, "values"), "value");
    }
    int rc = 0;
    if (table.count > table.columns)
        table_print(&table);
    else
        rc = err_set(err, MAS_CONFLICT,
                     "cannot show the settings of agent '%s': it is %s, and has told of none",
                     agent, state);
    table_free(&table);
    return rc;
}

/* ---- what is set of a session */

/* Adds a row "AGENT.KEY=VALUE", without agent if that is NULL, and where the value comes from. */
static void add_setting(struct table *table, const char *agent, const char *key, const char *value,
                        const char *from)
{
    _cleanup_free_ char *setting =
        mem_printf("%s%s%s=%s", agent != NULL ? agent : "", agent != NULL ? "." : "", key, value);
    table_add(table, setting, NULL);
    table_add(table, from, colour_dim());
}

/* Adds the budget of an agent, as far as there is one; with NULL that of all together, as a whole.
 */
static void add_budget(struct table *table, const char *agent, const struct budget_held *held)
{
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        const struct budget_share *share = &held->of[kind];
        _cleanup_free_ char *key = mem_printf("budget.%s", budget_kind_name(kind));
        char value[BUDGET_TEXT];

        budget_write(kind, &share->limit, value);
        if (share->limit.amount > 0)
            add_setting(table, agent, key, value, share->from);
        else if (agent == NULL)
            add_setting(table, NULL, key, "none", share->from);
    }
}

static void add_limits(struct table *table, const struct limits_held *all)
{
    for (enum limit_kind kind = 0; kind < LIMIT_KIND_COUNT; kind++) {
        _cleanup_free_ char *key = mem_printf("limits.%s", limit_kind_name(kind));
        char value[LIMIT_TEXT];

        limit_format(kind, all->of[kind].amount, value);
        add_setting(table, NULL, key, value, all->of[kind].from);
    }
}

/* Adds the limits of an agent that are not those of all. */
static void add_agent_limits(struct table *table, const char *agent, const struct limits_held *held,
                             const struct limits_held *all)
{
    for (enum limit_kind kind = 0; kind < LIMIT_KIND_COUNT; kind++) {
        _cleanup_free_ char *key = mem_printf("limits.%s", limit_kind_name(kind));
        char value[LIMIT_TEXT];

        limit_format(kind, held->of[kind].amount, value);
        if (limit_is_of_agent(kind) && held->of[kind].amount != all->of[kind].amount)
            add_setting(table, agent, key, value, held->of[kind].from);
    }
}

/* The project's setup, if the session has one. */
static void add_setup(struct table *table, const struct call *call, const char *id)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    struct err ignored = ERR_INIT;
    struct setup setup;

    if (repo_load(&call->root, id, &team, &repo, &ignored) == 0 &&
        setup_load(&repo, &setup, &ignored) == 0 && setup.exists)
        add_setting(table, NULL, "setup", setup.declined ? "no" : "yes", "");
}

/* Prints what `mas set` can set for the session operands[0], and where the values come from. */
static int set_session_show(const struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_session_ struct session session = SESSION_INIT;
    const struct usage unknown = USAGE_INIT;
    struct session_bounds bounds = {.has_config = false};
    struct table table = {.columns = 2, .whole_last = true};
    struct roster_team team;
    char id[ID_TEXT];

    if (call_select(call, call->operands[0], id, err) == -1 ||
        roster_open(&call->root, id, &team, err) == -1 ||
        roster_add(&roster, &team, NULL, err) == -1 ||
        session_load(&call->root, roster.teams[0].dir, id, &session, err) == -1)
        return -1;
    session_bounds_look(&roster, &unknown, &bounds);
    table_add(&table, "SETTING", colour_dim());
    table_add(&table, "FROM", colour_dim());
    add_setting(&table, NULL, "private", session.private ? "yes" : "no", "");
    add_setup(&table, call, id);
    if (bounds.problem.code == MAS_OK) {
        add_budget(&table, NULL, &bounds.budget);
        add_limits(&table, &bounds.limits);
        for (size_t i = 0; i < roster.count; i++) {
            const char *agent = roster.agents[i].agent->id;
            add_budget(&table, agent, &bounds.agents[i]);
            add_agent_limits(&table, agent, &roster.agents[i].status.limits, &bounds.limits);
        }
        table_print(&table);
    }
    int rc = bounds.problem.code != MAS_OK ? -1 : 0;
    if (rc == -1)
        *err = bounds.problem;
    table_free(&table);
    session_bounds_free(&bounds);
    return rc;
}

/* ---- setting it */

static int set_private(const struct call *call, const char *id, bool yes, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};

    if (life_set_private(&life, id, yes, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s is %s\n", call->operands[0], yes ? "private" : "not private");
    return 0;
}

/* Answers for the project's script, for this session and for later ones. */
static int set_setup(const struct call *call, const char *id, bool yes, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    const char *name = call->operands[0];
    struct setup setup;

    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot set 'setup': an agent may not decide this");
    if (repo_load(&call->root, id, &team, &repo, err) == -1 || setup_load(&repo, &setup, err) == -1)
        return -1;
    if (!setup.exists)
        return err_set(err, MAS_CONFLICT,
                       "session '%s' has no setup: its project had no " SETUP_SCRIPT, name);
    setup.declined = !yes;
    if ((setup.from_project &&
         setup_answers_keep(&call->root, setup.hash, yes ? SETUP_YES : SETUP_NO, err) == -1) ||
        setup_save(&repo, &setup, err) == -1)
        return -1;
    if (!call->quiet) {
        _cleanup_str_ struct str line = STR_INIT;
        err_add_commands(&line,
                         yes ? "%s: the setup runs before each agent starts next; see: mas restart"
                             : "%s: the setup does not run",
                         name);
        print_line(&line);
    }
    return 0;
}

static int set_name(const struct call *call, const char *name, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};
    char id[ID_TEXT];

    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot set 'name': an agent may not decide this");
    if (call_select(call, call->operands[0], id, err) == -1 ||
        life_set_name(&life, id, name, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s: %s%s\n", call->operands[0], name[0] != '\0' ? "its name is " : "it has no name",
               name);
    return 0;
}

/* Says where the project is now. */
static int set_project(const struct call *call, const char *dir, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};
    char id[ID_TEXT];

    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot set 'project': an agent may not decide this");
    if (call_select(call, call->operands[0], id, err) == -1 ||
        life_set_project(&life, id, dir, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s: its project is %s\n", call->operands[0], dir);
    return 0;
}

/* ---- budgets */

/* "budget.cost=5 USD", or with an agent "11.budget.cost=5 USD" */
struct budget_word {
    char *agent; /* "": all agents together */
    enum budget_kind kind;
    struct budget_limit limit;
};

/* Parses the name in such a word. *ret_value is the rest; the caller frees ret->agent. Returns
 * false if it is another word. */
static bool is_budget(const char *word, struct budget_word *ret, const char **ret_value)
{
    static const char name[] = "budget.";
    const char *at = strstr(word, name);
    const char *value = at != NULL ? strchr(at, '=') : NULL;

    if (value == NULL || (at != word && (at[-1] != '.' || at == word + 1)))
        return false;
    _cleanup_free_ char *kind = mem_dupn(at + strlen(name), (size_t)(value - at) - strlen(name));
    if (!budget_kind_parse(kind, &ret->kind))
        return false;
    ret->agent = mem_dupn(word, at != word ? (size_t)(at - word) - 1 : 0);
    *ret_value = value + 1;
    return true;
}

static int no_agent(const struct roster_team *team, const char *agent, struct err *err)
{
    (void)err_set(err, MAS_NOT_FOUND, "session '%s' has no agent '%s'", roster_label(team).text,
                  agent);
    return target_hint(&team->team, agent, false, err);
}

static int keep_budget(const struct call *call, const struct budget_word *budget, const char *id,
                       struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_store_ struct store *store = NULL;
    struct roster_team team;

    if (roster_open(&call->root, id, &team, err) == -1)
        return -1;
    roster_add_none(&roster, &team);
    if (budget->agent[0] != '\0' && team_agent(&roster.teams[0].team, budget->agent) == NULL)
        return no_agent(&roster.teams[0], budget->agent, err);
    if (store_open(roster.teams[0].dir, id, NULL, true, &store, err) == -1)
        return -1;
    return store_set_limit(store, budget->agent, budget->kind, &budget->limit, err);
}

static int set_budget(const struct call *call, struct budget_word *budget, const char *value,
                      struct err *err)
{
    char id[ID_TEXT], text[BUDGET_TEXT];
    const char *want =
        strcmp(value, "default") == 0 ? NULL : budget_parse(budget->kind, value, &budget->limit);

    if (want != NULL)
        return err_set(err, MAS_USAGE, "cannot set '%s': '%s' is not %s, or default",
                       call->operands[1], value, want);
    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot set a budget: an agent may not decide this");
    if (call_select(call, call->operands[0], id, err) == -1 ||
        keep_budget(call, budget, id, err) == -1)
        return -1;
    budget_write(budget->kind, &budget->limit, text);
    if (!call->quiet)
        printf("%s%s%s: the budget of %s is %s\n", call->operands[0],
               budget->agent[0] != '\0' ? " " : "", budget->agent, budget_kind_name(budget->kind),
               text[0] != '\0' ? text : "the default");
    return 0;
}

/* ---- limits */

/* "limits.memory=2G", or with an agent "11.limits.memory=2G" */
struct limit_word {
    char *agent; /* NULL: the session */
    enum limit_kind kind;
    int64_t amount; /* 0: the default */
};

/* Stores the limit, and lets the hosts look at once. */
static int keep_limit(const struct call *call, const struct limit_word *limit, const char *id,
                      struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;

    if (roster_open(&call->root, id, &team, err) == -1)
        return -1;
    if (limit->agent != NULL && team_agent(&team.team, limit->agent) == NULL) {
        (void)no_agent(&team, limit->agent, err);
        roster_close(&team);
        return -1;
    }
    if (roster_add(&roster, &team, NULL, err) == -1 ||
        session_limits_set(&call->root, roster.teams[0].dir, limit->agent, limit->kind,
                           limit->amount, ROOT_LOCK_MS, err) == -1)
        return -1;
    roster_ask(&roster, "{\"do\":\"disk\"}", NULL, 0);
    hosts_finish(roster.calls, roster.count, HOSTS_ANSWER_MS, NULL, NULL);
    return 0;
}

static int set_limit(const struct call *call, const struct limit_word *limit, const char *value,
                     struct err *err)
{
    const char *of = limit->kind <= LIMIT_AGENT ? "the limit of the " : "the limit of ";
    char id[ID_TEXT];

    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot set a limit: an agent may not decide this");
    if (call_select(call, call->operands[0], id, err) == -1 ||
        keep_limit(call, limit, id, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s%s%s: %s%s is %s\n", call->operands[0], limit->agent != NULL ? " " : "",
               limit->agent != NULL ? limit->agent : "", of, limit_kind_name(limit->kind),
               limit->amount == 0 ? "the default" : value);
    return 0;
}

static int run_set(struct call *call, struct err *err)
{
    static const struct {
        const char *key;
        int (*set)(const struct call *call, const char *id, bool yes, struct err *err);
    } keys[] = {{"private=", set_private}, {"setup=", set_setup}};
    const char *word = call->operands[1];
    char id[ID_TEXT];
    bool is_key = false;

    if (call->operand_count == 1)
        return set_session_show(call, err);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        is_key = is_key || (str_starts(keys[i].key, word) && keys[i].key[strlen(word)] == '=');
    if (strchr(word, '=') == NULL && call->operand_count > 2)
        return set_agent(call, err);
    if (strchr(word, '=') == NULL && !is_key)
        return set_agent_show(call, err);
    if (call->operand_count > 2)
        return call_unexpected(call, call->operands[2], err);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *value = str_starts(word, keys[i].key) ? word + strlen(keys[i].key) : "";
        bool yes = strcmp(value, "yes") == 0;
        if (!yes && strcmp(value, "no") != 0)
            continue;
        return call_select(call, call->operands[0], id, err) == -1
                   ? -1
                   : keys[i].set(call, id, yes, err);
    }
    if (str_starts(word, "name="))
        return set_name(call, word + strlen("name="), err);
    if (str_starts(word, "project="))
        return set_project(call, word + strlen("project="), err);
    struct budget_word budget = {.agent = NULL};
    const char *value = NULL;
    if (is_budget(word, &budget, &value)) {
        int rc = set_budget(call, &budget, value, err);
        free(budget.agent);
        return rc;
    }
    struct limit_word limit = {.agent = NULL};
    const char *wrong = NULL;
    if (session_limits_parse(word, &limit.agent, &limit.kind, &limit.amount, &wrong)) {
        int rc = set_limit(call, &limit, strchr(word, '=') + 1, err);
        free(limit.agent);
        return rc;
    }
    if (wrong != NULL)
        return err_set(err, MAS_USAGE, "cannot set '%s': '%s' is not %s, or default", word,
                       strchr(word, '=') + 1, wrong);
    (void)err_set(err, MAS_USAGE,
                  "cannot set '%s': it is not private=yes, private=no, setup=yes, setup=no, "
                  "name=NAME, project=DIR, budget.KIND=AMOUNT or limits.KIND=AMOUNT",
                  word);
    return call_usage(call, err);
}

const struct cmd cmd_set = {
    .name = "set",
    .group = GROUP_SESSIONS,
    .operands = " SESSION [AGENT] [KEY=VALUE...]",
    .summary = "set a name, a budget, a limit, or an agent's mode; make a session private",
    .examples = "mas set shop private=yes\n"
                "mas set shop name=store\n"
                "mas set shop\n"
                "mas set login setup=yes\n"
                "mas set login project=/srv/shop\n"
                "mas set shop 'budget.cost=5 USD'\n"
                "mas set shop 11.budget.turns=20\n"
                "mas set shop limits.session=4G\n"
                "mas set shop 11.limits.memory=2G\n"
                "mas set shop 11\n"
                "mas set shop 11 mode=plan model=fast",
    .details =
        "A search finds messages of a private session only if it names the session, "
        "and the agents of a private session do not see what was said elsewhere. "
        "setup= says whether the project's own .mas/setup may run in new work trees, "
        "also in those of later sessions until it changes. name= gives the session another name, "
        "or "
        "none; its branches keep the old one. project= says where the project is "
        "now, if it was moved. budget.cost=, "
        "budget.tokens=, budget.turns= and budget.time= limit what the agents of the "
        "session may use together, or with AGENT what one may use: an amount, none, or "
        "default for what the template, the preset and mas.ini say. limits.session= and "
        "limits.agent= limit the disk space of the session and of each agent, "
        "limits.memory=, limits.cpus= and limits.processes= what the programs of each "
        "agent use, or with AGENT of one: an amount, none, or default. With AGENT as an "
        "operand of its own, mode= sets the permission mode of an ACP agent, and any other "
        "KEY an option that it offers, such as model, without a clear. What the agent "
        "rejects is not kept. Without KEY=VALUE, mas shows the agent's mode and options, and "
        "the values that they may have; /set in its pane does the same. With SESSION alone, mas "
        "shows what holds for the session and its agents, and who says so.",
    .operands_min = 1,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .takes = TAKES_QUIET,
    .does = CHANGES_SESSIONS,
    .run = run_set,
};
