#include "memory/budgets.h"

#include "memory/store_usage.h"

/* Takes a limit if no nearer place has said one. */
static void inherit(struct budget_share *share, const struct budget_limit *limit, const char *from,
                    const char *name)
{
    if (share->base.amount != 0 || limit->amount == 0)
        return;
    share->base = *limit;
    (void)snprintf(share->from, sizeof share->from, "%s%s", from, name);
}

/* Takes what mas.ini says for all agents together. */
static void inherit_setting(const struct config *config, enum budget_kind kind,
                            struct budget_share *share)
{
    static const enum setting settings[BUDGET_KIND_COUNT] = {
        SETTING_BUDGET_COST, SETTING_BUDGET_TOKENS, SETTING_BUDGET_TURNS, SETTING_BUDGET_TIME};

    inherit(share, &config_value(config, settings[kind])->budget, "",
            config->settings[settings[kind]].origin);
}

int budgets_read(struct store *store, const struct budgets_subject *of, struct budget_held *ret,
                 struct err *err)
{
    const char *agent = of->agent != NULL ? of->agent->id : "";
    struct budget set = {.of = {{.amount = 0}}};
    struct budget more = {.of = {{.amount = 0}}};

    if (store != NULL && store_limits(store, agent, &set, &more, err) == -1)
        return -1;
    *ret = (struct budget_held){.of = {{.from = ""}}};
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        struct budget_share *share = &ret->of[i];
        share->used = -1;
        inherit(share, &set.of[i], of->agent != NULL ? "mas set, for agent " : "mas set", agent);
        if (of->agent != NULL)
            inherit(share, &of->agent->budget.of[i], "the template, for agent ", agent);
        else
            inherit(share, &of->team->budget.of[i], "the template", "");
        if (of->agent == NULL)
            inherit_setting(of->config, i, share);
        else if (of->preset != NULL)
            inherit(share, &of->preset->budget.of[i], "preset ", of->preset->name);
        share->limit = share->base;
        if (share->base.amount <= 0 || more.of[i].amount <= share->base.amount ||
            strcmp(share->base.currency, more.of[i].currency) != 0)
            continue;
        share->limit = more.of[i];
        (void)snprintf(share->from, sizeof share->from, "mas approve%s%s",
                       of->agent != NULL ? ", for agent " : "", agent);
    }
    return 0;
}

int budgets_count(struct store *store, const struct budgets_subject *of, struct budget_held *held,
                  struct err *err)
{
    struct store_spent spent = {.turns = 0};

    if (!budget_held_any(held))
        return 0;
    if (store != NULL && store_spent(store, of->agent != NULL ? of->agent->id : NULL,
                                     held->of[BUDGET_COST].limit.currency, &spent, err) == -1)
        return -1;
    const int64_t amounts[BUDGET_KIND_COUNT] = {
        [BUDGET_COST] = spent.cost,
        [BUDGET_TOKENS] = spent.tokens,
        [BUDGET_TURNS] = spent.turns,
        [BUDGET_TIME] = spent.worked_ms,
    };
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++)
        held->of[i].used = spent.turns == 0 && amounts[i] == -1 ? 0 : amounts[i];
    return 0;
}
