/*
 * Whether a limit is reached is found anew at each look, from memory.db; `paused` has the reason,
 * and is empty otherwise. What cannot be counted leaves it as it was. The statement that begins the
 * turn counts once more, as another agent of the team may begin one at the same moment. A person
 * extends only limits that are reached.
 */

#include "host/talk/budget.h"

#include "host/talk/memory.h"
#include "host/talk/usage.h"
#include "memory/budgets.h"
#include "memory/store_usage.h"

enum { LOOK_MS = 2000 }; /* so often a paused agent looks whether it may go on */

/* Whose limits: those of all agents of the session together, or the agent's own. */
enum scope { SCOPE_TEAM, SCOPE_AGENT, SCOPE_COUNT };

/* A limit that is reached. */
struct reached {
    enum scope scope;
    enum budget_kind kind;
    struct budget_limit limit, base; /* base: without what a person has added to it */
    int64_t spent;
};
enum { REACHED_MAX = SCOPE_COUNT * BUDGET_KIND_COUNT };

struct limits {
    struct budget_held of[SCOPE_COUNT];
};

static struct budgets_subject subject_of(const struct host *host, enum scope scope)
{
    return (struct budgets_subject){.config = &host->config,
                                    .team = &host->team,
                                    .agent = scope == SCOPE_AGENT ? host->agent : NULL,
                                    .preset = host->preset};
}

/* Returns the name of a scope in the store. */
static const char *key_of(const struct host *host, enum scope scope)
{
    return scope == SCOPE_AGENT ? host->agent->id : "";
}

static bool same_unit(const struct budget_limit *a, const struct budget_limit *b)
{
    return strcmp(a->currency, b->currency) == 0;
}

static int read_limits(const struct host *host, struct limits *ret, struct err *err)
{
    for (enum scope i = 0; i < SCOPE_COUNT; i++) {
        const struct budgets_subject subject = subject_of(host, i);
        if (budgets_read(host->talk->memory.store, &subject, &ret->of[i], err) == -1)
            return -1;
    }
    return 0;
}

/* Finds the limits that are reached. Turns count when they begin, so the last one is not cut short.
 */
static int find_reached(const struct host *host, struct limits *limits,
                        struct reached ret[REACHED_MAX], size_t *ret_count, struct err *err)
{
    size_t n = 0;

    for (enum scope i = 0; i < SCOPE_COUNT; i++) {
        const struct budgets_subject subject = subject_of(host, i);
        struct budget_held *held = &limits->of[i];
        if (budgets_count(host->talk->memory.store, &subject, held, err) == -1)
            return -1;
        for (enum budget_kind k = 0; k < BUDGET_KIND_COUNT; k++) {
            const struct budget_share *share = &held->of[k];
            if (share->limit.amount <= 0 || share->used < share->limit.amount ||
                (k == BUDGET_TURNS && host->talk->turn.on))
                continue;
            ret[n++] = (struct reached){.scope = i,
                                        .kind = k,
                                        .limit = share->limit,
                                        .base = share->base,
                                        .spent = share->used};
        }
    }
    *ret_count = n;
    return 0;
}

/* Writes an amount in the unit of a limit. */
static void format(const struct reached *one, int64_t amount, char buf[BUDGET_TEXT])
{
    struct budget_limit limit = one->limit;

    limit.amount = amount;
    budget_format(one->kind, &limit, buf);
}

static const char *scope_words(enum scope scope)
{
    return scope == SCOPE_AGENT ? "the agent" : "the team";
}

static void describe(const struct reached *reached, size_t count, char buf[BUDGET_WORDS])
{
    _cleanup_str_ struct str words = STR_INIT;
    char spent[BUDGET_TEXT], limit[BUDGET_TEXT];

    for (size_t i = 0; i < count; i++) {
        format(&reached[i], reached[i].spent, spent);
        format(&reached[i], reached[i].limit.amount, limit);
        str_addf(&words, "%s%s has used %s of %s", i > 0 ? ", " : "", scope_words(reached[i].scope),
                 spent, limit);
    }
    (void)snprintf(buf, BUDGET_WORDS, "%s", str_text(&words));
}

static void say_paused(struct host *host, bool keep)
{
    const struct spending *spending = &host->talk->spending;
    _cleanup_free_ char *words = mem_printf("paused: %s", spending->paused);

    host_log(host, words);
    memory_say(host, keep, "%s; to let it go on: mas approve %s %s", words,
               session_label(&host->root, host->session.id).text, host->agent->id);
}

/* Tells what has changed since `before`. */
static void tell_change(struct host *host, bool before, bool keep)
{
    struct spending *spending = &host->talk->spending;
    bool paused = spending->paused[0] != '\0';

    if (paused && host->talk->turn.on) {
        if (!before)
            memory_say(host, keep, "%s: it finishes its turn, and is paused then",
                       spending->paused);
    } else if (paused && !spending->said) {
        spending->said = true;
        say_paused(host, keep);
    } else if (!paused && spending->said) {
        spending->said = false;
        host_log(host, "no longer paused");
        memory_say(host, keep, "no longer paused: its budget lets it go on");
    }
}

void budget_look(struct host *host, bool keep)
{
    struct talk *talk = host->talk;
    struct spending *spending = &talk->spending;
    bool before = spending->paused[0] != '\0';
    struct reached reached[REACHED_MAX];
    struct err err = ERR_INIT;
    struct limits limits;
    size_t count = 0;

    if (talk->memory.store == NULL)
        return;
    spending->changes = store_changes(talk->memory.store);
    if (read_limits(host, &limits, &err) == -1 ||
        find_reached(host, &limits, reached, &count, &err) == -1) {
        memory_failed(host, &err); /* what cannot be counted stays as it was */
        return;
    }
    describe(reached, count, spending->paused);
    tell_change(host, before, keep);
}

/* ---- limits that cannot be counted */

static void warn(struct host *host, enum budget_kind kind, const char *words)
{
    unsigned *warned = &host->talk->spending.warned;

    if ((*warned & 1U << kind) == 0)
        memory_say(host, true, "%s", words);
    *warned |= 1U << kind;
}

static void warn_of_cost(struct host *host, const char *budget, const char *told)
{
    _cleanup_free_ char *words =
        told[0] == '\0'
            ? mem_printf("the agent tells no cost: a budget in %s does not count it", budget)
            : mem_printf("the agent tells its cost in %s: a budget in %s does not count it", told,
                         budget);
    warn(host, BUDGET_COST, words);
}

/* Says once which limits do not hold, because the agent does not tell what they count. */
static void warn_uncounted(struct host *host)
{
    struct store *store = host->talk->memory.store;
    struct err err = ERR_INIT;
    struct limits limits;
    struct store_spent spent;

    if (store == NULL || read_limits(host, &limits, &err) == -1)
        return;
    for (enum scope i = 0; i < SCOPE_COUNT; i++) {
        const struct budget_share *of = limits.of[i].of;
        const char *currency = of[BUDGET_COST].limit.currency;
        if (!budget_held_any(&limits.of[i]) ||
            store_spent(store, host->agent->id, currency, &spent, &err) == -1 || spent.turns == 0)
            continue;
        if (of[BUDGET_TOKENS].limit.amount > 0 && spent.tokens == -1)
            warn(host, BUDGET_TOKENS,
                 "the agent tells no tokens: a budget of tokens does not count them");
        if (of[BUDGET_COST].limit.amount > 0 && spent.cost == -1)
            warn_of_cost(host, currency, spent.currency);
    }
}

void budget_turn_ended(struct host *host)
{
    warn_uncounted(host);
    budget_look(host, true);
}

/* ---- the next turn */

bool budget_holds(struct host *host)
{
    struct talk *talk = host->talk;
    const char *paused = talk->spending.paused;
    struct usage_turns most = {.team = 0};
    struct err err = ERR_INIT;
    struct limits limits;

    if (paused[0] == '\0')
        budget_look(host, true);
    if (talk->ops->give != NULL) /* what it tells begins the turn: turn_begin_told() records it */
        return paused[0] != '\0';
    if (paused[0] == '\0' && talk->memory.store != NULL && read_limits(host, &limits, &err) == 0) {
        int64_t team = limits.of[SCOPE_TEAM].of[BUDGET_TURNS].limit.amount;
        int64_t agent = limits.of[SCOPE_AGENT].of[BUDGET_TURNS].limit.amount;
        most = (struct usage_turns){.team = team > 0 ? team : 0, .agent = agent > 0 ? agent : 0};
    }
    if (paused[0] == '\0' && usage_begin(host, talk->queue.prompts[0].number, &most))
        return false;
    budget_look(host, true); /* another agent of the team may have begun the last turn just now */
    return true;
}

int64_t budget_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct spending *spending = &talk->spending;

    if (spending->paused[0] == '\0' || talk->turn.on)
        return -1;
    if (now < spending->look_at)
        return spending->look_at;
    spending->look_at = now + LOOK_MS;
    if (talk->memory.store != NULL && store_changes(talk->memory.store) != spending->changes)
        budget_look(host, true);
    return spending->paused[0] != '\0' ? spending->look_at : -1;
}

/* ---- more of it */

/* Reads how much more there is: "2 USD", or "cost=2 USD" if several kinds of limits are reached. */
static int parse_more(const char *more, const struct reached *reached, size_t count,
                      enum budget_kind *ret_kind, struct budget_limit *ret, struct err *err)
{
    const char *value = strchr(more, '=');

    *ret_kind = reached[0].kind;
    if (value != NULL) {
        _cleanup_free_ char *key = mem_dupn(more, (size_t)(value - more));
        if (!budget_kind_parse(key, ret_kind))
            return err_set(err, MAS_USAGE,
                           "'%s' is no kind of budget: it is cost, tokens, turns or time", key);
        value++;
    } else {
        value = more;
        for (size_t i = 1; i < count; i++)
            if (reached[i].kind != *ret_kind)
                return err_set(err, MAS_USAGE, "several limits are reached: name one, as in %s=%s",
                               budget_kind_name(*ret_kind), more);
    }
    const char *want = budget_parse(*ret_kind, value, ret);
    return want == NULL ? 0 : err_set(err, MAS_USAGE, "'%s' is not %s", value, want);
}

/* Moves one limit. `more` NULL: by as much as it was at first. */
static int extend(struct host *host, const struct reached *one, const struct budget_limit *more,
                  struct str *ret_words, struct err *err)
{
    struct store *store = host->talk->memory.store;
    struct budget_limit limit = one->limit;
    char text[BUDGET_TEXT];

    if (more == NULL)
        more = &one->base;
    str_addf(ret_words, "%s%s may use ", ret_words->len > 0 ? ", " : "", scope_words(one->scope));
    if (more->amount == -1) {
        str_addf(ret_words, "any %s", budget_kind_name(one->kind));
        return store_set_limit(store, key_of(host, one->scope), one->kind, more, err);
    }
    if (!same_unit(&limit, more))
        return err_set(err, MAS_USAGE, "its budget is in %s", limit.currency);
    limit.amount = (one->spent > limit.amount ? one->spent : limit.amount) + more->amount;
    format(one, limit.amount, text);
    str_add(ret_words, text);
    return store_extend_limit(store, key_of(host, one->scope), one->kind, &limit, err);
}

int budget_extend(struct host *host, const char *more, struct str *ret_words, struct err *err)
{
    struct reached reached[REACHED_MAX];
    struct budget_limit by = {.amount = 0};
    enum budget_kind kind = BUDGET_COST;
    struct limits limits;
    size_t count = 0;

    if (memory_need(host, err) == -1 || read_limits(host, &limits, err) == -1 ||
        find_reached(host, &limits, reached, &count, err) == -1)
        return -1;
    if (count == 0)
        return err_set(err, MAS_NOT_FOUND, "it has reached no limit of a budget");
    if (more != NULL && parse_more(more, reached, count, &kind, &by, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++)
        if ((more == NULL || reached[i].kind == kind) &&
            extend(host, &reached[i], more != NULL ? &by : NULL, ret_words, err) == -1)
            return -1;
    if (ret_words->len == 0)
        return err_set(err, MAS_NOT_FOUND, "it has not reached its limit of %s",
                       budget_kind_name(kind));
    host_log(host, str_text(ret_words));
    memory_say(host, true, "a person lets it go on: %s", str_text(ret_words));
    budget_look(host, true);
    return 0;
}
