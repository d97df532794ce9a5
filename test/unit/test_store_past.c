/* What is read back of a store: queries and their sessions, waiting messages, pages, and what an
 * agent that lost its context is told. */
#include "store.h"

#include "base/json.h"
#include "base/time.h"

static const struct store_home here = {.directory = "/w", .machine = "m"};

/* ---- queries */

static bool add_query(const struct store_query *query, void *arg)
{
    str_addf(arg, "%d %s %s%s%s%s %" PRId64 " %d\n", query->number, query->agent,
             query->current ? "current" : "past", query->reason[0] != '\0' ? " " : "",
             query->reason, query->ended_ms != 0 ? " ended" : "", query->messages,
             id_is_valid(query->conversation));
    return true;
}

static bool add_sessions(const struct store_query *query, void *arg)
{
    str_add(arg, query->sessions);
    str_add(arg, "\n");
    return false; /* the first alone */
}

TEST(queries_are_listed_with_what_became_of_them)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *other = opened(&place, "11");
    _cleanup_str_ struct str rows = STR_INIT;
    struct store_place at = {.query = 0};
    struct store_place next = {.query = 0};
    struct err err = ERR_INIT;

    REQUIRE(store != NULL && other != NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    (void)turn(store, at.query, "one", "eins");
    MUST(store_clear(store, at.conversation, &(struct store_clear){.reason = "plan"}, &next, NULL,
                     &err));
    (void)add(store, next.query, ROLE_USER, MESSAGE_OPEN, "two", 0);
    store_place_free(&next);
    store_place_free(&at);
    MUST(store_enter(store, CHOICE_NEW, NULL, &at, &err));
    store_place_free(&at);
    (void)query_of(other);
    WELL(store_queries(store, NULL, add_query, &rows, &err));
    CHECK_STR(str_text(&rows), "1 10 past plan ended 2 1\n"
                               "2 10 past 1 1\n"
                               "1 10 current 0 1\n"
                               "1 11 current 0 1\n");
    str_clear(&rows);
    WELL(store_queries(store, "11", add_query, &rows, &err));
    CHECK_STR(str_text(&rows), "1 11 current 0 1\n");
    str_clear(&rows);
    WELL(store_queries(store, "12", add_query, &rows, &err));
    CHECK_STR(str_text(&rows), "");
}

TEST(a_query_names_the_sessions_of_its_agent)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_str_ struct str rows = STR_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct store_agent_session session = {
        .id = "s1", .home = here, .program = "agent 1.0", .outcome = OUTCOME_FRESH};
    struct err err = ERR_INIT;
    const int64_t began = time_epoch_ms() / 1000 * 1000;
    int64_t since = -1;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    WELL(store_queries(store, NULL, add_sessions, &rows, &err));
    CHECK_STR(str_text(&rows), "[]\n");
    str_clear(&rows);
    WELL(store_agent_session(store, query, &session, &err));
    session.id = "s2";
    session.outcome = OUTCOME_INJECTED;
    session.note = "s1 is gone";
    WELL(store_agent_session(store, query, &session, &err));
    (void)add(store, query, ROLE_USER, MESSAGE_OPEN, "x", 0);
    WELL(store_queries(store, NULL, add_sessions, &rows, &err));
    MUST(json_parse(str_text(&rows), rows.len, 1 << 20, &json, &err));
    const struct json *first = json_first(json);
    REQUIRE(first != NULL && json_next(first) != NULL);
    const struct json *second = json_next(first);
    CHECK(json_next(second) == NULL);
    CHECK_STR(json_get_text(first, "id"), "s1");
    CHECK_STR(json_get_text(first, "program"), "agent 1.0");
    CHECK_STR(json_get_text(first, "outcome"), "fresh");
    CHECK_STR(json_get_text(first, "note"), "");
    CHECK(time_parse_past(json_get_text_or(first, "startedAt", ""), &since));
    CHECK(since >= began && since <= time_epoch_ms());
    since = -1;
    CHECK(time_parse_past(json_get_text_or(first, "endedAt", ""), &since));
    CHECK(since >= began && since <= time_epoch_ms());
    CHECK_STR(json_get_text(second, "id"), "s2");
    CHECK_STR(json_get_text(second, "outcome"), "injected");
    CHECK_STR(json_get_text(second, "note"), "s1 is gone");
    CHECK_STR(json_get_text(second, "endedAt"), NULL);
}

/* ---- what waits */

TEST(what_waits_is_counted_for_each_agent)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "20");
    _cleanup_store_ struct store *other = opened(&place, "3");
    _cleanup_free_ struct store_waiting *items = NULL;
    struct err err = ERR_INIT;
    int64_t number;
    size_t count = 9;

    REQUIRE(store != NULL && other != NULL);
    WELL(store_waiting(store, &items, &count, &err));
    CHECK_INT(count, 0);
    int64_t query = query_of(store);
    (void)turn(store, query, "done", "yes");
    (void)add(store, query, ROLE_USER, MESSAGE_OPEN, "waits", 0);
    (void)add(store, query, ROLE_NOTE, MESSAGE_OPEN, "no prompt", 0);
    const struct store_input input = {.agent = "20", .text = "typed", .len = 5};
    WELL(store_input_add(store, &input, &number, &err));
    (void)add(other, query_of(other), ROLE_USER, MESSAGE_OPEN, "waits", 0);
    WELL(store_waiting(store, &items, &count, &err));
    REQUIRE(count == 2);
    CHECK_STR(items[0].agent, "20");
    CHECK_INT(items[0].count, 2);
    CHECK_STR(items[1].agent, "3");
    CHECK_INT(items[1].count, 1);
}

/* ---- pages */

TEST(a_page_of_the_newest_is_in_order)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    int64_t number = 0;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    int64_t first = add(store, query, ROLE_USER, MESSAGE_DONE, "a", 0);
    (void)add(store, query, ROLE_USER, MESSAGE_DONE, "b", 0);
    (void)add(store, query, ROLE_AGENT, MESSAGE_DONE, "to a", first);
    const struct {
        struct store_filter filter;
        const char *want;
    } rows[] = {
        {{.limit = 2}, "10 user done a\n10 user done b\n"},
        {{.limit = 2, .offset = 1}, "10 user done b\n10 agent done to a\n"},
        {{.limit = 1, .newest = true}, "10 agent done to a\n"},
        {{.limit = 1, .newest = true, .offset = 1}, "10 user done b\n"},
        {{.by_turn = true}, "10 user done a\n10 agent done to a\n10 user done b\n"},
        {{.by_turn = true, .newest = true}, "10 user done a\n10 agent done to a\n10 user done b\n"},
        {{.by_turn = true, .newest = true, .limit = 1}, "10 user done b\n"},
        {{.by_turn = true, .newest = true, .limit = 2}, "10 agent done to a\n10 user done b\n"},
        {{.by_turn = true, .newest = true, .limit = 1, .offset = 2}, "10 user done a\n"},
        {{.by_turn = true, .limit = 2}, "10 user done a\n10 agent done to a\n"},
        {{.tag = "agent:10", .limit = 1}, "10 user done a\n"},
        {{.tag = "agent:11"}, ""},
        {{.agent = "11"}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_rows(store, &rows[i].filter, rows[i].want);
    struct err err = ERR_INIT;
    WELL(store_count(store, &(struct store_filter){.limit = 1}, &number, &err));
    CHECK_INT(number, 3);
    WELL(store_count(store, &(struct store_filter){.tag = "agent:11"}, &number, &err));
    CHECK_INT(number, 0);
    WELL(store_count(store, &(struct store_filter){.roles = 1u << ROLE_AGENT}, &number, &err));
    CHECK_INT(number, 1);
}

TEST(own_tags_are_those_that_mas_did_not_put_on)
{
    _cleanup_strv_ char **tags =
        store_own_tags("[\"session:1\",\"a:b\",\"agent:x\",7,\"agents:x\"]");

    CHECK_INT(strv_len(tags), 2);
    CHECK_STR(tags[0], "a:b");
    CHECK_STR(tags[1], "agents:x");
    CHECK(store_own_tags("[\"a:b\"") == NULL);
    CHECK(store_own_tags("[]") == NULL);
}

TEST(the_newest_turn_says_when_it_ended)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_turn newest = {.time_ms = 7};
    struct err err = ERR_INIT;
    int64_t before = time_epoch_ms();

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    int64_t number = add(store, query, ROLE_USER, MESSAGE_OPEN, "a", 0);
    int64_t sent = time_epoch_ms();
    while (time_epoch_ms() == sent)
        ;
    WELL(store_end_turn(store, query, number, "failed", MESSAGE_FAILED, "it broke", &err));
    MUST(store_newest_turn(store, "10", &newest, &err));
    CHECK(newest.time_ms > sent && newest.time_ms <= time_epoch_ms());
    store_turn_free(&newest);
    CHECK(newest.why == NULL);
    (void)turn(store, query, "b", "c"); /* without a note its prompt's time counts */
    MUST(store_newest_turn(store, "10", &newest, &err));
    CHECK(newest.time_ms > before && newest.time_ms <= time_epoch_ms());
    CHECK_INT(newest.state, MESSAGE_DONE);
    store_turn_free(&newest);
}

/* ---- what is told again */

/* What is injected before `before`, without the frame; "" where nothing is. */
static void check_told(struct store *store, int64_t query, int64_t before,
                       const struct store_budget *budget, const char *want)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    WELL(store_injection(store, query, before, budget, &text, &err));
    char *start = strstr(str_text(&text), "<message ");
    char *end = start != NULL ? strstr(start, "</earlier_conversation>") : NULL;
    if (end != NULL)
        *end = '\0';
    CHECK_STR(start != NULL ? start : str_text(&text), want);
}

#define RED "0123456789012345678901234567890123456789012345678901234567890123.png"

TEST(pictures_and_senders_are_told_again)
{
    static const struct store_budget plenty = {.messages = 50, .each = 2000, .all = 60000};
    static const char data[] = "{\"pictures\":[{\"file\":\"" RED "\",\"name\":\"red.png\","
                               "\"bytes\":2048}]}";
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_message message = {.role = ROLE_USER,
                                    .state = MESSAGE_DONE,
                                    .text = "see",
                                    .len = 3,
                                    .data = data,
                                    .sender = "21"};
    struct err err = ERR_INIT;
    int64_t number;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    WELL(store_add(store, query, &message, SYNC_CHUNK, &number, &err));
    message = (struct store_message){.role = ROLE_AGENT,
                                     .state = MESSAGE_DONE,
                                     .text = "red",
                                     .len = 3,
                                     .data = data,
                                     .sender = "21",
                                     .trigger = number};
    WELL(store_add(store, query, &message, SYNC_CHUNK, &number, &err));
    check_told(store, query, INT64_MAX, &plenty,
               "<message role=\"user\" from=\"agent 21\">[picture red.png, 2.0K]\nsee</message>\n"
               "<message role=\"agent\">red</message>\n");
}

TEST(what_a_compaction_left_stands_for_what_was_before)
{
    static const struct store_budget plenty = {.messages = 50, .each = 2000, .all = 60000};
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_message note = {.role = ROLE_NOTE,
                                 .state = MESSAGE_DONE,
                                 .text = "in short",
                                 .len = 8,
                                 .key = STORE_COMPACTION};
    struct store_budget budget = plenty;
    struct err err = ERR_INIT;
    int64_t number;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    int64_t first = turn(store, query, "old", "alt");
    WELL(store_add(store, query, &note, SYNC_CHUNK, &number, &err));
    (void)turn(store, query, "new", "neu");
    check_told(
        store, query, INT64_MAX, &plenty,
        "<message role=\"summary\">in short</message>\n<message role=\"user\">new</message>\n"
        "<message role=\"agent\">neu</message>\n");
    check_told(store, query, number, &plenty,
               "<message role=\"user\">old</message>\n<message role=\"agent\">alt</message>\n");
    /* whoever asks for all from some message on gets no summary */
    budget.since = first;
    check_told(store, query, INT64_MAX, &budget,
               "<message role=\"user\">old</message>\n<message role=\"agent\">alt</message>\n"
               "<message role=\"user\">new</message>\n<message role=\"agent\">neu</message>\n");
    budget.since = first + 1;
    check_told(store, query, INT64_MAX, &budget,
               "<message role=\"user\">new</message>\n<message role=\"agent\">neu</message>\n");
    budget.messages = 0;
    check_told(store, query, INT64_MAX, &budget, "");
    budget = plenty;
    for (budget.all = 100; budget.all < 1000; budget.all += 10) {
        _cleanup_str_ struct str text = STR_INIT;
        WELL(store_injection(store, query, INT64_MAX, &budget, &text, &err));
        CHECK(text.len <= budget.all);
    }
}

TEST(prompts_that_were_cut_off_are_found)
{
    static const struct {
        const char *ends[4]; /* of turns in their order */
        int first; /* the turn that is found; 0: none */
    } rows[] = {
        {{NULL}, 0},
        {{"end_turn"}, 0},
        {{"failed"}, 1},
        {{STORE_STOPPED}, 1},
        {{"cancelled"}, 0},
        {{"failed", "cancelled", "failed"}, 1},
        {{"failed", "end_turn"}, 0},
        {{"failed", "end_turn", STORE_STOPPED, "failed"}, 3},
        {{"end_turn", "failed", "failed", "cancelled"}, 2},
        {{"failed", "refusal", "end_turn"}, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_place_ struct place place = place_make();
        _cleanup_store_ struct store *store = opened(&place, "10");
        struct err err = ERR_INIT;
        int64_t numbers[5] = {0};
        int64_t found = -1;
        int64_t query = query_of(store);
        for (int k = 0; k < 4 && rows[i].ends[k] != NULL; k++) {
            numbers[k + 1] = add(store, query, ROLE_USER, MESSAGE_OPEN, "x", 0);
            WELL(store_end_turn(store, query, numbers[k + 1], rows[i].ends[k],
                                strcmp(rows[i].ends[k], "end_turn") == 0 ? MESSAGE_DONE
                                                                         : MESSAGE_INTERRUPTED,
                                NULL, &err));
        }
        int64_t before = add(store, query, ROLE_USER, MESSAGE_OPEN, "next", 0);
        WELL(store_cut_off(store, query, before, &found, &err));
        if (!CHECK_INT(found, numbers[rows[i].first]))
            printf("# row %zu\n", i);
    }
}
