/* What is summed up of the agents of a session, and the first line of another machine. */
#include "unit.h"

#include "base/json.h"
#include "client/agent_counts.h"
#include "fleet/greeting.h"

static void add(struct agent_counts *counts, const char *currency, int64_t micro)
{
    static const struct code_figures code = {.looked_ms = 0};
    static const struct agent_resources resources = {-1, -1, -1};
    struct agent_usage usage = {.tokens = 1, .cost.micro = micro};

    (void)snprintf(usage.cost.currency, sizeof usage.cost.currency, "%s", currency);
    agent_counts_add(counts, AGENT_IDLE, &usage, &code, &resources);
}

/* As many currencies as there is room for, and one more, which is left out and no other. */
TEST(costs_are_summed_by_their_currency)
{
    static const char *const currencies[] = {"AAA", "BBB", "CCC", "DDD", "EEE"};
    struct agent_counts counts = {.told = 0};

    _Static_assert(ARRAY_LEN(currencies) == AGENT_COUNTS_CURRENCIES + 1, "one too many");
    add(&counts, "", 5);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < ARRAY_LEN(currencies); i++)
            add(&counts, currencies[i], (int64_t)i + 1);
    for (size_t i = 0; i < AGENT_COUNTS_CURRENCIES; i++) {
        CHECK_STR(counts.costs[i].currency, currencies[i]);
        CHECK_INT(counts.costs[i].micro, 2 * ((int64_t)i + 1));
    }
    CHECK_INT(counts.told, 11);
    CHECK_INT(counts.tokens, 11);
    CHECK_INT(counts.memory, 0); /* of none it is known */
}

/* The oldest look counts, wherever it stands; what was not looked at, or cannot be read, does not.
 */
TEST(the_oldest_look_at_code_counts)
{
    static const struct agent_usage usage = {.tokens = 0};
    static const struct agent_resources resources = {10, 20, 1};

    for (int oldest = 0; oldest < 3; oldest++) {
        struct agent_counts counts = {.told = 0};
        for (int i = 0; i < 3; i++) {
            struct code_figures code = {
                .looked_ms = i == oldest ? 5 : 9, .ahead = 1, .behind = 2, .changed = 3};
            struct code_figures never = {.ahead = 100};
            struct code_figures broken = {.looked_ms = 1, .ahead = 100, .problem = "no"};
            agent_counts_add(&counts, AGENT_WORKING, &usage, &code, &resources);
            agent_counts_add(&counts, AGENT_CRASHED, &usage, i == 1 ? &broken : &never, &resources);
        }
        CHECK_INT(counts.code.looked_ms, 5);
        CHECK_INT(counts.code.agents, 3);
        CHECK(counts.code.ahead == 3 && counts.code.behind == 6 && counts.code.changed == 9);
        CHECK_INT(agent_counts_live(&counts), 3);
        CHECK_INT(agent_counts_ended(&counts), 3);
        CHECK_INT(counts.cpu_ms, 60);
        CHECK_INT(counts.memory, 120);
    }
}

static void add_pane(struct agent_counts *counts, const char *text)
{
    _cleanup_json_ struct json *object = NULL;
    struct err err = ERR_INIT;

    add(counts, "", 0);
    if (text != NULL)
        CHECK_INT(json_parse(text, strlen(text), 4096, &object, &err), 0);
    agent_counts_add_pane(counts, object);
}

/* One that tells nothing, or something else, wherever it stands: tmux is asked. */
TEST(hosts_vouch_only_if_all_say_the_same)
{
#define PANE(server, session, activity, agents)                                                    \
    "{\"server\":" #server ",\"session\":\"" session "\",\"activityMs\":" #activity                \
    ",\"agents\":" #agents "}"
    static const char *const others[] = {NULL,
                                         PANE(8, "$1", 1, 3),
                                         PANE(7, "$2", 1, 3),
                                         PANE(7, "$1", 1, 4),
                                         PANE(7, "1", 1, 3),
                                         PANE(0, "$1", 1, 3),
                                         PANE(7, "$1", 1, 0)};
    static const char *const same[] = {PANE(7, "$1", 5, 3), PANE(7, "$1", 9, 3),
                                       PANE(7, "$1", 2, 3)};

    struct agent_counts all = {.told = 0};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        add_pane(&all, same[i]);
    CHECK_INT(all.pane.server, 7);
    CHECK_STR(all.pane.session, "$1");
    CHECK_INT(all.pane.activity_ms, 9);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        for (size_t at = 0; at < ARRAY_LEN(same); at++) {
            struct agent_counts counts = {.told = 0};
            for (size_t j = 0; j < ARRAY_LEN(same); j++)
                add_pane(&counts, j == at ? others[i] : same[j]);
            CHECK_INT(counts.pane.server, 0);
        }
}

TEST(counts_are_equal_if_all_that_is_shown_is)
{
    const struct agent_counts one = {.told = 1};

    CHECK(agent_counts_equal(&one, &one));
    for (int i = 0; i < 10; i++) {
        struct agent_counts other = one;
        other.told += i == 0;
        other.tokens += i == 1;
        other.states[AGENT_STATE_COUNT - 1] += i == 2;
        other.code.agents += i == 3;
        other.code.ahead += i == 4;
        other.code.behind += i == 5;
        other.code.changed += i == 6;
        other.costs[AGENT_COUNTS_CURRENCIES - 1].micro += i == 7;
        other.costs[0].currency[0] = i == 8 ? 'E' : '\0';
        other.cpu_ms += i == 9; /* which grows all the time */
        CHECK_INT(agent_counts_equal(&one, &other), i == 9);
        CHECK_INT(agent_counts_equal(&other, &one), i == 9);
    }
}

/* ---- the greeting */

static bool greets(const char *text, size_t len)
{
    struct greeting greeting;
    size_t head = 0;
    bool good = greeting_parse(text, len, &greeting, &head);

    CHECK(!good || text[head - 1] == '\n');
    return good;
}

TEST(a_greeting_is_one_line_of_limited_length)
{
    char text[GREETING_MAX + 8];

    for (int more = -1; more <= 1; more++) {
        int len = GREETING_MAX + more; /* with its newline */
        memset(text, ' ', sizeof text);
        memcpy(text, "{\"mas\":\"1\"", 10);
        text[len - 2] = '}';
        text[len - 1] = '\n';
        text[len] = 'x';
        CHECK_INT(greets(text, (size_t)len + 1), more <= 0);
        CHECK(!greets(text, (size_t)len - 1)); /* not all of it has come */
    }
    static const char *const bad[] = {"\n", "{}\n", "{\"mas\":1}\n", "mas\n", "{\"mas\":\"1\"}x\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!greets(bad[i], strlen(bad[i])));
}

TEST(what_a_greeting_leaves_out_is_unknown)
{
    static const char text[] =
        "{\"mas\":\"0123456789012345678901234567890123456789012345678901234567"
        "89012345\",\"timeMs\":5}\nrest";
    struct greeting greeting;
    size_t len = 0;

    CHECK(greeting_parse(text, strlen(text), &greeting, &len));
    CHECK_STR(text + len, "rest");
    CHECK_INT(strlen(greeting.version), GREETING_VERSION_MAX - 1);
    CHECK_INT(greeting.time_ms, 5);
    CHECK_INT(greeting.free, -1);
    CHECK_INT(greeting.store_free, -1);
    CHECK_STR(greeting.tmux, "");
}
