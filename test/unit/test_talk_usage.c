/* Tokens, costs and working time, and their limits. */
#include "talk.h"

#include "base/time.h"
#include "host/talk/budget.h"
#include "host/talk/turn.h"
#include "host/talk/usage.h"
#include "memory/budgets.h"
#include "memory/store_usage.h"

enum { NOTE = 1U << ROLE_NOTE };

static struct store_spent spent(const struct world *world, const char *currency)
{
    struct store_spent ret = {.turns = -9};
    struct err err = ERR_INIT;

    WELL(store_spent(world->talk.memory.store, "w1", currency, &ret, &err));
    return ret;
}

static struct token_counts tokens_of(int64_t in, int64_t out)
{
    struct token_counts ret = token_counts_none();

    ret.of[TOKENS_INPUT] = in;
    ret.of[TOKENS_OUTPUT] = out;
    return ret;
}

static void begin(struct world *world)
{
    (void)queue_text(world, "x");
    turn_run(&world->host);
    CHECK(world->talk.turn.on);
}

TEST(what_it_tells_is_kept_and_summed_up)
{
    A_WORLD;
    const struct money cost = {.micro = 1500000, .currency = "USD"};
    const struct money none = {.micro = 0};

    usage_joined(host, true);
    begin(&world);
    free(told(&world, 0));
    usage_update(host, 100, 1000, &none);
    CHECK_INT(talk->spending.usage.context_used, 100);
    CHECK_INT(talk->spending.usage.context_size, 1000);
    CHECK_STR(talk->spending.usage.cost.currency, "");
    usage_update(host, -1, -1, &cost); /* not told */
    CHECK_INT(talk->spending.usage.context_used, 0);
    CHECK_INT(talk->spending.usage.context_size, 0);
    CHECK_INT(talk->spending.usage.cost.micro, 1500000);
    CHECK_STR(talk->spending.usage.cost.currency, "USD");
    _cleanup_free_ char *events = told(&world, 0);
    CHECK(str_starts(events, "{\"event\":\"usage\",\"used\":100,\"size\":1000,"));
    CHECK(strstr(events, "{\"event\":\"usage\",\"used\":0,\"size\":0,") != NULL);
    const struct token_counts counts = tokens_of(30, 12), nothing = token_counts_none();
    usage_tokens(host, "S1", &nothing);
    CHECK_INT(spent(&world, "").tokens, -1);
    usage_tokens(host, NULL, &counts); /* of no session that is known */
    CHECK_INT(spent(&world, "").tokens, -1);
    usage_tokens(host, "S1", &counts);
    CHECK_INT(talk->spending.usage.tokens, 42);
    CHECK_INT(spent(&world, "").tokens, 42);
    CHECK_INT(spent(&world, "").turns, 1);
    /* the next host reads it */
    usage_update(host, 70, 700, &none);
    world_close(&world);
    world_open(&world);
    CHECK_INT(talk->spending.usage.tokens, 42);
    CHECK_INT(talk->spending.usage.cost.micro, 1500000);
    usage_joined(host, false); /* an earlier session */
    CHECK_INT(talk->spending.usage.context_used, 70);
    CHECK_INT(talk->spending.usage.context_size, 700);
    usage_joined(host, true); /* a new one */
    CHECK_INT(talk->spending.usage.context_used, 0);
    CHECK_INT(talk->spending.usage.context_size, 0);
}

TEST(sums_over_a_session_are_counted_once)
{
    A_WORLD;
    static const struct {
        const char *of;
        int64_t in, out, total; /* afterwards */
    } table[] = {
        {"S1", 10, 5, 15},
        {"S1", 10, 5, 15}, /* nothing new */
        {"S1", 13, 5, 18},
        {"S2", 100, 100, 18}, /* another session: what was before it is not known */
        {"S1", 2, 6, 21}, /* one of them begins anew */
        {"S1", 4, 6, 23},
    };

    world.preset.sums_tokens = true;
    usage_joined(host, true);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct token_counts counts = tokens_of(table[i].in, table[i].out);
        begin(&world);
        usage_tokens(host, table[i].of, &counts);
        turn_end(host, "end_turn", 0, NULL);
        CHECK_INT(spent(&world, "").tokens, table[i].total);
    }
    usage_joined(host, true);
    begin(&world);
    const struct token_counts counts = tokens_of(4, 0);
    usage_tokens(host, "S1", &counts);
    CHECK_INT(spent(&world, "").tokens, 27);
}

TEST(time_in_which_it_waits_is_no_work)
{
    A_WORLD;

    CHECK_INT(usage_tick(host, 5), -1); /* no turn */
    usage_joined(host, true);
    begin(&world);
    int64_t now = talk->spending.began;
    CHECK_INT(usage_tick(host, now + 1000), now + 30000);
    talk->permissions.count = 1;
    CHECK_INT(usage_tick(host, now + 2000), -1);
    CHECK_INT(usage_tick(host, now + 5000), -1);
    talk->permissions.count = 0;
    CHECK_INT(usage_tick(host, now + 7000), now + 30000);
    CHECK_INT(talk->spending.waited, 5000);
    host->disk.paused = true;
    CHECK_INT(usage_tick(host, now + 10000), -1);
    host->disk.paused = false;
    CHECK_INT(usage_tick(host, now + 11000), now + 30000);
    CHECK_INT(talk->spending.waited, 6000);
    CHECK_INT(usage_tick(host, now + 29999), now + 30000);
    CHECK_INT(spent(&world, "").worked_ms, 0);
    CHECK_INT(usage_tick(host, now + 30000), now + 60000);
    CHECK_INT(spent(&world, "").worked_ms, 24000); /* a kill loses no more */
    talk->permissions.count = 1;
    CHECK_INT(usage_tick(host, now + 50000), -1);
    CHECK_INT(usage_tick(host, now + 60000), -1); /* what it waits now does not count, too */
    CHECK_INT(spent(&world, "").worked_ms, 44000);
    talk->permissions.count = 0;
}

/* ---- limits */

static struct budget_limit limit_of(enum budget_kind kind, const char *text)
{
    struct budget_limit ret = {.amount = 0};

    CHECK_STR(budget_parse(kind, text, &ret), NULL);
    return ret;
}

static void give(struct world *world, struct budget *budget, enum budget_kind kind,
                 const char *text)
{
    budget->of[kind] = limit_of(kind, text);
    world->host.team = world->team;
}

static void use(struct world *world, int64_t tokens)
{
    const struct token_counts counts = tokens_of(tokens, 0);

    usage_tokens(&world->host, "S1", &counts);
}

TEST(a_limit_that_is_reached_holds_the_next_turn)
{
    for (int team = 0; team < 2; team++) {
        A_WORLD;
        give(&world, team ? &world.team.budget : &world.agent.budget, BUDGET_TOKENS, "100");
        begin(&world);
        use(&world, 99);
        turn_end(host, "end_turn", 0, NULL);
        CHECK_STR(talk->spending.paused, "");
        begin(&world);
        use(&world, 1);
        free(told(&world, 0));
        budget_look(host, true);
        CHECK(talk->spending.paused[0] != '\0');
        CHECK_STORED(NOTE, team ? "note done the team has used 100 tokens of 100 tokens: it "
                                  "finishes its turn, and is paused then\n"
                                : "note done the agent has used 100 tokens of 100 tokens: it "
                                  "finishes its turn, and is paused then\n");
        budget_look(host, true); /* once */
        turn_end(host, "end_turn", 0, NULL);
        (void)queue_text(&world, "next");
        turn_run(host);
        CHECK(!talk->turn.on);
        CHECK_INT(talk->queue.count, 1);
        CHECK_INT(budget_tick(host, 100000), 102000);
        CHECK_INT(budget_tick(host, 101999), 102000);
        /* somebody changes it */
        struct str words = STR_INIT;
        MUST(budget_extend(host, "20", &words, &err));
        CHECK_STR(str_text(&words),
                  team ? "the team may use 120 tokens" : "the agent may use 120 tokens");
        CHECK_STR(talk->spending.paused, "");
        CHECK_INT(budget_tick(host, 105000), -1);
        turn_run(host);
        CHECK(talk->turn.on);
        str_clear(&words);
        CHECK_INT(budget_extend(host, NULL, &words, &err), -1);
        CHECK_INT(err.code, MAS_NOT_FOUND);
        /* much more than it may: by as much as it was at first */
        use(&world, 200);
        turn_end(host, "end_turn", 0, NULL);
        CHECK(talk->spending.paused[0] != '\0');
        err = (struct err)ERR_INIT;
        MUST(budget_extend(host, NULL, &words, &err));
        CHECK_STR(str_text(&words),
                  team ? "the team may use 400 tokens" : "the agent may use 400 tokens");
        str_free(&words);
    }
}

TEST(turns_are_counted_when_they_begin)
{
    A_WORLD;

    give(&world, &world.agent.budget, BUDGET_TURNS, "2");
    begin(&world);
    turn_end(host, "end_turn", 0, NULL);
    CHECK_STR(talk->spending.paused, "");
    begin(&world); /* the last one is not cut short */
    budget_look(host, true);
    CHECK_STR(talk->spending.paused, "");
    turn_end(host, "end_turn", 0, NULL);
    CHECK_STR(talk->spending.paused, "the agent has used 2 turns of 2 turns");
    (void)queue_text(&world, "next");
    turn_run(host);
    CHECK(!talk->turn.on);
    CHECK_INT(spent(&world, "").turns, 2);
}

/* Another agent of the team begins the last turn between the look and the begin. */
TEST(no_turn_is_begun_that_another_agent_has_begun)
{
    A_WORLD;

    give(&world, &world.team.budget, BUDGET_TURNS, "1");
    _cleanup_store_ struct store *other = NULL;
    struct store_place where = {.query = 0};
    bool begun = false;
    MUST(store_open(world.dir, ID(0), "w2", true, &other, &err));
    MUST(store_enter(other, CHOICE_CURRENT, NULL, &where, &err));
    const struct store_message message = {.role = ROLE_USER, .state = MESSAGE_DONE};
    int64_t number = 0;
    MUST(store_add(other, where.query, &message, SYNC_CHUNK, &number, &err));
    const struct store_usage_turn turn = {
        .query = where.query, .prompt = number, .agent_session = "S2", .model = "m", .account = ""};
    MUST(store_usage_begin(other, &turn, &begun, &err));
    store_place_free(&where);
    CHECK(begun);
    const struct usage_turns most = {.team = 1};
    int64_t mine = queue_text(&world, "x");
    CHECK(!usage_begin(host, mine, &most));
    turn_run(host);
    CHECK(!talk->turn.on);
    CHECK_STR(talk->spending.paused, "the team has used 1 turns of 1 turns");
    /* what the other does is seen at the next look */
    int64_t now = time_monotonic_ms();
    (void)budget_tick(host, now + 10000);
    struct budget_limit more = limit_of(BUDGET_TURNS, "5");
    MUST(store_set_limit(other, "", BUDGET_TURNS, &more, &err));
    CHECK_INT(budget_tick(host, now + 11999), now + 12000);
    CHECK_INT(budget_tick(host, now + 12000), -1);
    CHECK_STR(talk->spending.paused, "");
}

TEST(of_several_limits_one_is_named)
{
    static const struct {
        const char *more;
        int code;
        const char *words;
    } table[] = {
        {"5", MAS_USAGE, ""}, /* which one */
        {"turns=5", 0, "the agent may use 6 turns"},
        {"tokens=1k", 0, "the team may use 1050 tokens, the agent may use 1050 tokens"},
        {"tokens=none", 0, "the team may use any tokens, the agent may use any tokens"},
        {"cost=1 USD", MAS_NOT_FOUND, ""},
        {"apples=5", MAS_USAGE, ""},
        {"turns=many", MAS_USAGE, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        _cleanup_str_ struct str words = STR_INIT;
        give(&world, &world.agent.budget, BUDGET_TURNS, "1");
        give(&world, &world.agent.budget, BUDGET_TOKENS, "50");
        give(&world, &world.team.budget, BUDGET_TOKENS, "10");
        begin(&world);
        use(&world, 50);
        turn_end(host, "end_turn", 0, NULL);
        CHECK_STR(talk->spending.paused, "the team has used 50 tokens of 10 tokens, the agent has "
                                         "used 50 tokens of 50 tokens, the agent has used 1 turns "
                                         "of 1 turns");
        CHECK_INT(budget_extend(host, table[i].more, &words, &err), table[i].code == 0 ? 0 : -1);
        CHECK_INT(err.code, table[i].code);
        CHECK_STR(str_text(&words), table[i].words);
        CHECK(talk->spending.paused[0] != '\0'); /* another one is still reached */
    }
}

TEST(a_cost_has_a_currency)
{
    A_WORLD;
    _cleanup_str_ struct str words = STR_INIT;
    const struct money cost = {.micro = 3000000, .currency = "USD"};

    give(&world, &world.agent.budget, BUDGET_COST, "2 USD");
    begin(&world);
    usage_update(host, 1, 2, &cost);
    turn_end(host, "end_turn", 0, NULL);
    CHECK_STR(talk->spending.paused, "the agent has used 3.00 USD of 2.00 USD");
    CHECK_INT(budget_extend(host, "1 EUR", &words, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    str_clear(&words);
    err = (struct err)ERR_INIT;
    MUST(budget_extend(host, "0.5 USD", &words, &err));
    CHECK_STR(str_text(&words), "the agent may use 3.50 USD");
}

/* It is said once what a limit does not count. */
TEST(what_cannot_be_counted_is_said)
{
    static const struct {
        const char *cost, *currency, *words;
    } table[] = {
        {NULL, "", "note done the agent tells no tokens: a budget of tokens does not count them\n"},
        {"2 USD", "",
         "note done the agent tells no tokens: a budget of tokens does not count them\n"
         "note done the agent tells no cost: a budget in USD does not count it\n"},
        {"2 USD", "EUR",
         "note done the agent tells no tokens: a budget of tokens does not count them\n"
         "note done the agent tells its cost in EUR: a budget in USD does not count it\n"},
        {"2 USD", "USD",
         "note done the agent tells no tokens: a budget of tokens does not count them\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        struct money cost = {.micro = 10};
        (void)snprintf(cost.currency, sizeof cost.currency, "%s", table[i].currency);
        give(&world, &world.agent.budget, BUDGET_TOKENS, "100");
        if (table[i].cost != NULL)
            give(&world, &world.agent.budget, BUDGET_COST, table[i].cost);
        budget_turn_ended(host); /* no turn yet */
        CHECK_STORED(NOTE, "");
        for (int turn = 0; turn < 2; turn++) {
            begin(&world);
            if (cost.currency[0] != '\0')
                usage_update(host, 1, 2, &cost);
            turn_end(host, "end_turn", 0, NULL);
        }
        CHECK_STORED(NOTE, table[i].words);
    }
}
