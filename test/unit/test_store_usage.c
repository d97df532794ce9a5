/* What agents use: sums, and that nothing is counted twice. */
#include "store.h"

#include "memory/store_usage.h"

/* A prompt of the store's agent, whose turn begins in an agent session. */
static int64_t begin(struct store *store, const char *agent_session)
{
    struct err err = ERR_INIT;
    const int64_t query = query_of(store);
    const struct store_usage_turn turn = {
        .query = query,
        .prompt = add(store, query, ROLE_USER, MESSAGE_DONE, "do it", 0),
        .agent_session = agent_session,
        .model = "large",
        .account = "",
    };
    bool begun = false;

    WELL(store_usage_begin(store, &turn, &begun, &err));
    CHECK(begun);
    return turn.prompt;
}

/* The agent tells what its session has cost so far. */
static void tell(struct store *store, const char *agent_session, int64_t micro,
                 const char *currency)
{
    struct err err = ERR_INIT;
    struct store_usage_report report = {.query = query_of(store),
                                        .agent_session = agent_session,
                                        .model = "large",
                                        .account = "",
                                        .used = 10,
                                        .size = 100,
                                        .cost = {.micro = micro}};

    CHECK(money_parse_currency(currency, report.cost.currency));
    WELL(store_usage_tell(store, &report, &err));
}

static void join(struct store *store, const char *agent_session, bool is_new)
{
    struct err err = ERR_INIT;

    WELL(store_usage_join(store, agent_session, is_new, &err));
}

static int64_t cost(struct store *store, const char *currency)
{
    struct store_spent spent = {.cost = -2};
    struct err err = ERR_INIT;

    WELL(store_spent(store, NULL, currency, &spent, &err));
    return spent.cost;
}

/* Rows as lines: agent, prompt, whether it has ended, the numbers, the costs. */
static bool add_usage(const struct store_usage *usage, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s %s %s %lld", usage->agent, usage->prompt != 0 ? "turn" : "-",
             usage->ended_ms != 0 ? "ended" : "on", (long long)usage->worked_ms);
    for (size_t i = 0; i < TOKEN_KIND_COUNT; i++)
        str_addf(to, " %lld", (long long)usage->tokens.of[i]);
    str_addf(to, " %lld/%lld", (long long)usage->used, (long long)usage->size);
    for (size_t i = 0; i < usage->cost_count; i++)
        str_addf(to, " %lld%s", (long long)usage->costs[i].micro, usage->costs[i].currency);
    str_addc(to, '\n');
    return true;
}

static void check_usages(struct store *store, const char *want)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct err err = ERR_INIT;

    WELL(store_usages(store, NULL, add_usage, &rows, &err));
    CHECK_STR(str_text(&rows), want);
}

TEST(what_is_not_told_is_unknown)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");
    struct err err = ERR_INIT;
    struct store_spent spent;

    WELL(store_spent(store, NULL, "", &spent, &err));
    CHECK_INT(spent.turns, 0);
    CHECK_INT(spent.worked_ms, -1);
    CHECK_INT(spent.tokens, -1);
    CHECK_INT(spent.cost, -1);
    CHECK_STR(spent.currency, "");
    int64_t prompt = begin(store, "s");
    check_usages(store, "11 turn on 0 -1 -1 -1 -1 -1 -1 -1/-1\n");
    WELL(store_usage_end(store, prompt, 1500, &err));
    check_usages(store, "11 turn ended 1500 -1 -1 -1 -1 -1 -1 -1/-1\n");
    WELL(store_spent(store, "11", "", &spent, &err));
    CHECK_INT(spent.turns, 1);
    CHECK_INT(spent.worked_ms, 1500);
    CHECK_INT(spent.tokens, -1);
    CHECK_INT(spent.cost, -1);
}

TEST(a_cumulative_cost_is_counted_once)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");

    join(store, "s", true);
    (void)begin(store, "s");
    tell(store, "s", 100, "USD");
    tell(store, "s", 100, "USD");
    tell(store, "s", 250, "USD");
    (void)begin(store, "s");
    tell(store, "s", 300, "USD");
    check_usages(store, "11 turn on 0 -1 -1 -1 -1 -1 -1 10/100 250USD\n"
                        "11 turn on 0 -1 -1 -1 -1 -1 -1 10/100 50USD\n");
    CHECK_INT(cost(store, "USD"), 300);
    /* a new context is another agent session, which counts from zero */
    join(store, "t", true);
    (void)begin(store, "t");
    tell(store, "t", 40, "USD");
    CHECK_INT(cost(store, "USD"), 340);
    /* back in the first one, in the same process or in another that has kept the count */
    join(store, "s", false);
    (void)begin(store, "s");
    tell(store, "s", 310, "USD");
    CHECK_INT(cost(store, "USD"), 350);
}

TEST(a_decreasing_cost_adds_nothing)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");

    (void)begin(store, "s");
    tell(store, "s", 500, "USD");
    tell(store, "s", 400, "USD");
    tell(store, "s", 450, "USD");
    tell(store, "s", 0, "USD");
    tell(store, "s", 499, "USD");
    CHECK_INT(cost(store, "USD"), 500);
    tell(store, "s", 510, "USD");
    CHECK_INT(cost(store, "USD"), 510);
}

TEST(a_resumed_session_may_count_from_zero)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");

    (void)begin(store, "s");
    tell(store, "s", 500, "USD");
    join(store, "s", false);
    tell(store, "s", 0, "USD"); /* it knows nothing yet */
    tell(store, "s", 500, "USD");
    CHECK_INT(cost(store, "USD"), 500);
    join(store, "s", false);
    tell(store, "s", 0, "USD");
    tell(store, "s", 20, "USD");
    CHECK_INT(cost(store, "USD"), 520);
    tell(store, "s", 10, "USD"); /* only once */
    CHECK_INT(cost(store, "USD"), 520);
    /* an id that is given again is a new session */
    join(store, "s", true);
    tell(store, "s", 5, "USD");
    CHECK_INT(cost(store, "USD"), 525);
}

TEST(another_currency_is_counted_by_itself)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");
    struct err err = ERR_INIT;
    struct store_spent spent;

    (void)begin(store, "s");
    tell(store, "s", 500, "USD");
    tell(store, "s", 460, "EUR"); /* the same money */
    tell(store, "s", 470, "EUR");
    check_usages(store, "11 turn on 0 -1 -1 -1 -1 -1 -1 10/100 10EUR 500USD\n");
    tell(store, "s", 520, "USD");
    CHECK_INT(cost(store, "USD"), 520);
    CHECK_INT(cost(store, "EUR"), 10);
    CHECK_INT(cost(store, "GBP"), -1);
    join(store, "t", true);
    (void)begin(store, "t");
    tell(store, "t", 1, "EUR");
    WELL(store_spent(store, NULL, "", &spent, &err));
    CHECK_STR(spent.currency, "EUR");
    CHECK_INT(spent.cost, 11);
}

TEST(sums_do_not_overflow)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");

    for (int i = 0; i < 20; i++) {
        join(store, "s", true);
        tell(store, "s", MONEY_MAX, "USD");
        (void)begin(store, "s");
    }
    CHECK_INT(cost(store, "USD"), MONEY_MAX);
}

TEST(tokens_belong_to_their_turn)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");
    const int64_t query = query_of(store);
    struct token_counts tokens = token_counts_none();
    struct err err = ERR_INIT;
    struct store_spent spent;

    (void)begin(store, "s");
    tokens.of[TOKENS_TOTAL] = 100;
    tokens.of[TOKENS_INPUT] = 90;
    WELL(store_usage_tokens(store, query, "s", &tokens, &err));
    (void)begin(store, "s");
    tokens = token_counts_none();
    tokens.of[TOKENS_INPUT] = 7;
    tokens.of[TOKENS_OUTPUT] = 0;
    tokens.of[TOKENS_CACHED_READ] = 3;
    tokens.of[TOKENS_THOUGHT] = 20;
    tokens.of[TOKENS_CACHED_WRITE] = 400;
    WELL(store_usage_tokens(store, query, "s", &tokens, &err));
    WELL(store_usage_tokens(store, query, "s", &tokens, &err)); /* an answer that comes twice */
    check_usages(store, "11 turn on 0 100 90 -1 -1 -1 -1 -1/-1\n"
                        "11 turn on 0 -1 7 0 20 3 400 -1/-1\n");
    WELL(store_spent(store, "11", "", &spent, &err));
    CHECK_INT(spent.tokens, 530);
}

TEST(a_killed_turn_is_ended_by_the_next_writer)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    struct store *store = opened(&place, "11");

    int64_t prompt = begin(store, "s");
    tell(store, "s", 70, "USD");
    WELL(store_usage_worked(store, prompt, 2000, &err));
    store_close(store);
    _cleanup_store_ struct store *other = opened(&place, "12");
    check_usages(other, "11 turn on 2000 -1 -1 -1 -1 -1 -1 10/100 70USD\n");
    store = opened(&place, "11");
    check_usages(store, "11 turn ended 2000 -1 -1 -1 -1 -1 -1 10/100 70USD\n");
    join(store, "s", false);
    tell(store, "s", 75, "USD");
    CHECK_INT(cost(store, "USD"), 75);
    store_close(store);
}

TEST(never_more_turns_than_are_allowed)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *one = opened(&place, "11");
    _cleanup_store_ struct store *two = opened(&place, "12");
    struct err err = ERR_INIT;
    struct store *const stores[] = {one, two, one};
    int64_t first = 0;
    bool begun = false;

    for (size_t i = 0; i < ARRAY_LEN(stores); i++) {
        int64_t query = query_of(stores[i]);
        struct store_usage_turn turn = {
            .query = query,
            .prompt = add(stores[i], query, ROLE_USER, MESSAGE_DONE, "do it", 0),
            .agent_session = "s",
            .model = "",
            .account = "",
            .team_turns = 2,
        };
        first = i == 0 ? turn.prompt : first;
        WELL(store_usage_begin(stores[i], &turn, &begun, &err));
        CHECK(begun == (i < 2));
        turn.team_turns = 0;
        turn.agent_turns = 1;
        WELL(store_usage_begin(stores[i], &turn, &begun, &err));
        CHECK(begun == (i < 2)); /* once more, for the first two */
    }
    CHECK_INT(cost(one, "USD"), -1);
    check_usages(one,
                 "11 turn on 0 -1 -1 -1 -1 -1 -1 -1/-1\n12 turn on 0 -1 -1 -1 -1 -1 -1 -1/-1\n");
}

TEST(limits_are_kept)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");
    _cleanup_store_ struct store *other = opened(&place, "12");
    const struct budget_limit five = {.amount = 5000000, .currency = "USD"};
    const struct budget_limit none = {.amount = -1};
    const struct budget_limit unset = {.amount = 0};
    struct budget set, extended;
    struct err err = ERR_INIT;

    int64_t before = store_changes(store);
    WELL(store_set_limit(other, "", BUDGET_COST, &five, &err));
    WELL(store_set_limit(other, "11", BUDGET_TURNS, &none, &err));
    WELL(store_extend_limit(other, "", BUDGET_COST, &five, &err));
    CHECK(store_changes(store) != before);
    WELL(store_limits(store, "", &set, &extended, &err));
    CHECK_INT(set.of[BUDGET_COST].amount, 5000000);
    CHECK_STR(set.of[BUDGET_COST].currency, "USD");
    CHECK_INT(set.of[BUDGET_TURNS].amount, 0);
    CHECK_INT(extended.of[BUDGET_COST].amount, 5000000);
    WELL(store_limits(store, "11", &set, &extended, &err));
    CHECK_INT(set.of[BUDGET_TURNS].amount, -1);
    CHECK_INT(extended.of[BUDGET_TURNS].amount, 0);
    WELL(store_set_limit(other, "", BUDGET_COST, &unset, &err)); /* and what extends it */
    WELL(store_limits(store, "", &set, &extended, &err));
    CHECK_INT(set.of[BUDGET_COST].amount, 0);
    CHECK_INT(extended.of[BUDGET_COST].amount, 0);
}

TEST(the_context_is_known_again)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "11");
    struct err err = ERR_INIT;
    int64_t used = 0, size = 0;

    tell(store, "s", 1, "USD");
    (void)begin(store, "s");
    WELL(store_context(store, "11", "s", &used, &size, &err));
    CHECK_INT(used, 10);
    CHECK_INT(size, 100);
    WELL(store_context(store, "11", "t", &used, &size, &err));
    CHECK_INT(used, -1);
    CHECK_INT(size, -1);
}

static bool count_two(const struct store_usage *usage, void *arg)
{
    (void)usage;
    return ++*(int *)arg < 2;
}

TEST(usage_is_read_of_one_agent_and_as_far_as_is_wanted)
{
    static const char *const agents[] = {"10", "11", "12"};
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
        _cleanup_store_ struct store *store = opened(&place, agents[i]);
        for (int k = 0; k < 2; k++)
            (void)begin(store, agents[i]);
    }
    _cleanup_store_ struct store *store = opened(&place, NULL);
    for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
        _cleanup_str_ struct str rows = STR_INIT;
        WELL(store_usages(store, agents[i], add_usage, &rows, &err));
        size_t lines = 0;
        for (const char *at = str_text(&rows); *at != '\0'; at = strchr(at, '\n') + 1) {
            CHECK(str_starts(at, agents[i]));
            lines++;
        }
        CHECK_INT(lines, 2);
    }
    int count = 0;
    WELL(store_usages(store, NULL, count_two, &count, &err));
    CHECK_INT(count, 2);
}
