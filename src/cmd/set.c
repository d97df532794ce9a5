/*
 * The second operand says what is set: a word for the session (private, setup, project, a budget, a
 * limit), or an agent with its options (set_agent()). Each is parsed before the session is opened,
 * refused to agents where only a person may decide, and stored in the place that owns it; hosts are
 * told to look at once where they would else notice later.
 */

#include "client/roster.h"
#include "cmd.h"
#include "cmd/consent.h"
#include "cmd/print.h"
#include "cmd/set_agent.h"
#include "cmd/set_session.h"
#include "code/setup.h"
#include "memory/store_usage.h"
#include "session/life.h"
#include "store/session_limits.h"

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
        return err_set(err, MAS_NOT_FOUND, "session '%s' has no agent '%s'",
                       roster_label(&roster.teams[0]).text, budget->agent);
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
        (void)err_set(err, MAS_NOT_FOUND, "session '%s' has no agent '%s'",
                      roster_label(&team).text, limit->agent);
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
                  "project=DIR, budget.KIND=AMOUNT or limits.KIND=AMOUNT",
                  word);
    return call_usage(call, err);
}

const struct cmd cmd_set = {
    .name = "set",
    .group = GROUP_SESSIONS,
    .operands = " SESSION [AGENT] [KEY=VALUE...]",
    .summary = "set a budget, a limit, or an agent's mode; make a session private",
    .examples = "mas set shop private=yes\n"
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
        "also in those of later sessions until it changes. project= says where the project is "
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
    .offer = OFFER_SESSION,
    .then = OFFER_AGENT,
    .flags = CMD_ROOT | CMD_CHANGES | CMD_QUIET,
    .run = run_set,
};
