/* `mas set SESSION`: what it can set for a session, and what that is now. */
#include "cmd/set_session.h"
#include "client/session_bounds.h"
#include "cmd.h"
#include "cmd/print.h"
#include "cmd/table.h"
#include "code/setup.h"

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

int set_session_show(const struct call *call, struct err *err)
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
