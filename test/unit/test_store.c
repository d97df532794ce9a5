#include "store.h"

#include "memory/store_internal.h"

TEST(keeps_what_was_said_in_order)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_filter all = {.agent = "10"};

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    (void)turn(store, query, "one", "eins");
    (void)turn(store, query, "two", "zwei");
    check_rows(store, &all,
               "10 user done one\n10 agent done eins\n10 user done two\n10 agent done zwei\n");
    all.limit = 3;
    all.newest = true;
    check_rows(store, &all, "10 agent done eins\n10 user done two\n10 agent done zwei\n");
    all.offset = 2;
    check_rows(store, &all, "10 user done one\n10 agent done eins\n");
    all.newest = false;
    all.limit = 1;
    check_rows(store, &all, "10 user done two\n");
}

/* Three prompts come at once: each answer stands under its own, whatever part is read. */
TEST(shows_answers_under_their_prompts)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_filter turns = {.agent = "10", .newest = true, .by_turn = true};

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    (void)turn(store, query, "zero", "null");
    int64_t one = add(store, query, ROLE_USER, MESSAGE_DONE, "one", 0);
    int64_t two = add(store, query, ROLE_USER, MESSAGE_DONE, "two", 0);
    (void)add(store, query, ROLE_USER, MESSAGE_OPEN, "three", 0);
    (void)add(store, query, ROLE_NOTE, MESSAGE_DONE, "resumed", 0); /* for the first turn */
    (void)add(store, query, ROLE_AGENT, MESSAGE_DONE, "eins", one);
    (void)add(store, query, ROLE_AGENT, MESSAGE_DONE, "by itself", 0);
    (void)add(store, query, ROLE_AGENT, MESSAGE_DONE, "zwei", two);
    static const char *const rows[] = {
        "user done zero",    "agent done null", "user done one",
        "note done resumed", "agent done eins", "agent done by itself",
        "user done two",     "agent done zwei", "user open three"};
    const int count = (int)ARRAY_LEN(rows);
    for (int i = 0; i < (count + 1) * count; i++) {
        _cleanup_str_ struct str want = STR_INIT;
        turns.limit = i / count;
        turns.offset = i % count;
        int end = count - turns.offset;
        for (int n = turns.limit == 0 || turns.limit > end ? 0 : end - turns.limit; n < end; n++)
            str_addf(&want, "10 %s\n", rows[n]);
        check_rows(store, &turns, str_text(&want));
    }
}

TEST(is_private_and_leaves_one_file)
{
    _cleanup_place_ struct place place = place_make();
    struct stat st;
    mode_t old = umask(0);
    struct store *store = opened(&place, "10");

    (void)umask(old);
    REQUIRE(store != NULL);
    (void)turn(store, query_of(store), "a", "b");
    static const char *const files[] = {"memory.db", "memory.db-wal", "memory.db-shm"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CHECK_INT(fstatat(place.dir, files[i], &st, 0), 0);
        CHECK_INT(st.st_mode, S_IFREG | 0600);
    }
    store_close(store);
    CHECK_INT(fstatat(place.dir, "memory.db", &st, 0), 0);
    CHECK_INT(fstatat(place.dir, "memory.db-wal", &st, 0), -1);
    CHECK_INT(fstatat(place.dir, "memory.db-shm", &st, 0), -1);
}

TEST(a_reader_makes_nothing)
{
    _cleanup_place_ struct place place = place_make();
    struct store *store = NULL;
    struct err err = ERR_INIT;
    struct stat st;
    int64_t number;
    struct store_message message = {.role = ROLE_NOTE};

    CHECK_INT(store_open(place.dir, SESSION, NULL, false, &store, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_INT(fstatat(place.dir, "memory.db", &st, 0), -1);

    store_close(opened(&place, "10"));
    store = opened(&place, NULL);
    REQUIRE(store != NULL);
    CHECK_INT(store_add(store, 1, &message, SYNC_FULL, &number, &err), -1);
    CHECK_STR(err.text, "cannot write to 'memory.db': it is open only for reading");
    CHECK_INT(store_method_tried(store, "p", "load", "why", &err), -1);
    store_close(store);
}

TEST(a_growing_text_is_whole_at_every_look)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *reader = opened(&place, NULL);
    struct store_filter agents = {.roles = 1u << ROLE_AGENT};
    struct err err = ERR_INIT;

    REQUIRE(store != NULL && reader != NULL);
    int64_t query = query_of(store);
    int64_t prompt = add(store, query, ROLE_USER, MESSAGE_OPEN, "tell", 0);
    int64_t answer = add(store, query, ROLE_AGENT, MESSAGE_OPEN, "", prompt);
    check_rows(reader, &agents, "10 agent open \n");
    WELL(store_append(store, answer, "once ", 5, &err));
    WELL(store_append(store, answer, "upon", 4, &err));
    check_rows(reader, &agents, "10 agent open once upon\n");
    for (int i = 0; i < 12; i++) /* past nine: the pieces are in order as numbers, not as text */
        WELL(store_append(store, answer, i < 10 ? "." : "!", 1, &err));
    WELL(store_finish(store, answer, MESSAGE_DONE, SYNC_CHUNK, &err));
    check_rows(reader, &agents, "10 agent done once upon..........!!\n");
    CHECK_INT(store_append(store, answer, "x", 1, &err), -1);
    CHECK_STR(err.text, "cannot add to a message: it is finished");
    CHECK_INT(store_finish(store, 4711, MESSAGE_DONE, SYNC_CHUNK, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
}

TEST(a_tool_call_is_replaced_and_others_stay)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_filter all = {.agent = NULL};
    struct err err = ERR_INIT;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    int64_t prompt = add(store, query, ROLE_USER, MESSAGE_OPEN, "go", 0);
    int64_t tool = add(store, query, ROLE_TOOL, MESSAGE_OPEN, "Read a", prompt);
    WELL(store_append(store, tool, " more", 5, &err));
    WELL(store_update(store, tool, "Read b", 6, "{\"title\":\"Read b\"}", MESSAGE_OPEN, SYNC_CHUNK,
                      &err));
    check_rows(store, &all, "10 user open go\n10 tool open Read b\n");
    WELL(store_append(store, tool, "!", 1, &err));
    WELL(store_update(store, tool, NULL, 0, "{}", MESSAGE_FAILED, SYNC_CHUNK, &err));
    check_rows(store, &all, "10 user open go\n10 tool failed Read b!\n");
    WELL(store_end_turn(store, query, prompt, "cancelled", MESSAGE_INTERRUPTED, NULL, &err));
    check_rows(store, &all, "10 user interrupted go\n10 tool failed Read b!\n");
}

static bool keep_item(const struct store_item *item, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s|%s|%s|%s|%lld\n", item->tags, item->sender != NULL ? item->sender : "-",
             item->key != NULL ? item->key : "-",
             item->stop_reason != NULL ? item->stop_reason : "-", (long long)item->trigger);
    return true;
}

TEST(an_answer_inherits_the_tags_of_its_prompt)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_str_ struct str got = STR_INIT;
    struct err err = ERR_INIT;
    int64_t prompt, number;
    char quoted[] = "ticket:\"7\"", blank[] = "kind:a b";
    char *tags[] = {quoted, blank, quoted, NULL};
    struct store_filter filter = {.tag = "ticket:\"7\""};

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    struct store_message message = {
        .role = ROLE_USER, .state = MESSAGE_OPEN, .sender = "00", .tags = tags};
    MUST(store_add(store, query, &message, SYNC_FULL, &prompt, &err));
    struct store_message answer = {.role = ROLE_AGENT, .key = "k1", .trigger = prompt};
    MUST(store_add(store, query, &answer, SYNC_CHUNK, &number, &err));
    WELL(store_end_turn(store, query, prompt, "end_turn", MESSAGE_DONE, NULL, &err));
    WELL(store_read(store, &filter, keep_item, &got, &err));
    CHECK_STR(str_text(&got), "[\"session:" SESSION
                              "\",\"agent:10\",\"ticket:\\\"7\\\"\",\"kind:a b\"]|00|-|end_turn|0\n"
                              "[\"session:" SESSION
                              "\",\"agent:10\",\"ticket:\\\"7\\\"\",\"kind:a b\"]|-|k1|-|1\n");

    static const struct {
        const char *tag;
        int count;
    } filters[] = {{"session:" SESSION, 2}, {"session:x", 0}, {"agent:10", 2},
                   {"agent:11", 0},         {"kind:a", 0},    {"kind:a b", 2}};
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        filter.tag = filters[i].tag;
        WELL(store_count(store, &filter, &number, &err));
        CHECK_INT(number, filters[i].count);
    }
}

TEST(refuses_what_is_no_tag)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    static const char *const bad[] = {
        "", "a", ":b", "a:", "a:\033[2J", "session:x", "agent:00", "a:\xff"};
    char long_tag[STORE_TAG_MAX + 2];
    char *many[STORE_TAGS_MAX + 2] = {NULL};
    char *tags[] = {NULL, NULL};
    struct store_message message = {.role = ROLE_USER, .tags = tags};
    int64_t number;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        memset(long_tag, 'x', sizeof long_tag);
        long_tag[1] = ':';
        long_tag[sizeof long_tag - 1] = '\0';
        _cleanup_free_ char *tag = mem_dup(i < ARRAY_LEN(bad) ? bad[i] : long_tag);
        tags[0] = tag;
        CHECK_INT(store_add(store, query, &message, SYNC_FULL, &number, &err), -1);
        CHECK_INT(err.code, MAS_USAGE);
    }
    struct err err = ERR_INIT;
    long_tag[STORE_TAG_MAX] = '\0';
    tags[0] = long_tag;
    WELL(store_add(store, query, &message, SYNC_FULL, &number, &err));
    for (size_t i = 0; i < STORE_TAGS_MAX + 1; i++)
        many[i] = mem_printf("k:%zu", i);
    message.tags = many;
    CHECK_INT(store_add(store, query, &message, SYNC_FULL, &number, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    char *last = TAKE_PTR(many[STORE_TAGS_MAX]);
    WELL(store_add(store, query, &message, SYNC_FULL, &number, &err));
    many[STORE_TAGS_MAX] = last;
    for (size_t i = 0; i < STORE_TAGS_MAX + 1; i++)
        free(many[i]);
}

TEST(has_limits)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct err err = ERR_INIT;
    int64_t number = 0;

    REQUIRE(store != NULL);
    int64_t query = query_of(store);
    _cleanup_free_ char *text = mem_alloc(STORE_TEXT_MAX + 1);
    memset(text, 'x', STORE_TEXT_MAX + 1);
    struct store_message message = {
        .role = ROLE_AGENT, .state = MESSAGE_OPEN, .text = text, .len = STORE_TEXT_MAX + 1};
    CHECK_INT(store_add(store, query, &message, SYNC_CHUNK, &number, &err), -1);
    CHECK_STR(err.text, "cannot store a message: it is larger than 16 MB");
    message.len = STORE_TEXT_MAX - 3;
    MUST(store_add(store, query, &message, SYNC_CHUNK, &number, &err));
    CHECK_INT(store_append(store, number, "1234", 4, &err), -1);
    WELL(store_append(store, number, "123", 3, &err));
    CHECK_INT(store_append(store, number, "1", 1, &err), -1);
    CHECK_INT(store_append(store, number, text, (size_t)-1, &err), -1);
    CHECK_INT(store_add(store, query + 7, &message, SYNC_CHUNK, &number, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
}

TEST(an_agent_has_one_current_conversation)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_place first = {.query = 0}, second = {.query = 0}, again = {.query = 0};
    struct err err = ERR_INIT;

    REQUIRE(store != NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &first, &err));
    CHECK(first.is_new && first.injected && first.number == 1);
    CHECK_STR(first.mode, "");
    CHECK_STR(first.options, "{}");
    (void)turn(store, first.query, "a", "b");
    WELL(store_keep_settings(store, first.conversation, "plan", NULL, "{\"a\":1}", &err));
    MUST(store_enter(store, CHOICE_NEW, NULL, &second, &err));
    CHECK(strcmp(first.conversation, second.conversation) != 0 && second.query != first.query);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &again, &err));
    CHECK_STR(again.conversation, second.conversation);
    store_place_free(&again);

    char prefix[] = "12345678";
    for (size_t i = 0; i < 8; i++) /* in either case */
        prefix[i] = (char)toupper((unsigned char)first.conversation[i]);
    MUST(store_enter(store, CHOICE_NAMED, prefix, &again, &err));
    CHECK_STR(again.conversation, first.conversation);
    CHECK_STR(again.mode, "plan");
    CHECK_STR(again.options, "{\"a\":1}");
    CHECK(!again.is_new);
    store_place_free(&again);
    CHECK_INT(store_enter(store, CHOICE_NAMED, "zzzz", &again, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_INT(store_enter(store, CHOICE_NAMED, "ab", &again, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);

    /* Another agent's id is none of this one's. */
    _cleanup_store_ struct store *other = opened(&place, "11");
    CHECK_INT(store_enter(other, CHOICE_NAMED, first.conversation, &again, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    store_place_free(&first);
    store_place_free(&second);
}

static bool add_query_row(const struct store_query *query, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%d %s %s %s %lld%s\n", query->number, query->agent,
             query->reason[0] != '\0' ? query->reason : "-", query->mode,
             (long long)query->messages, query->current ? " current" : "");
    return true;
}

static const struct store_home here = {.directory = "/here", .machine = "m"};

static void session(struct store *store, int64_t query, const char *id, enum store_outcome outcome,
                    const char *note)
{
    const struct store_agent_session session = {
        .id = id, .home = here, .program = "x 1", .outcome = outcome, .note = note};
    struct err err = ERR_INIT;

    WELL(store_agent_session(store, query, &session, &err));
}

TEST(a_clear_ends_all_that_was)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_str_ struct str rows = STR_INIT;
    struct store_place old = {.query = 0}, new = {.query = 0};
    struct err err = ERR_INIT;
    int64_t then = 0;
    const char *why;
    char *id = NULL;

    REQUIRE(store != NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &old, &err));
    (void)turn(store, old.query, "one", "eins");
    session(store, old.query, "s1", OUTCOME_FRESH, NULL);
    int64_t begun = add(store, old.query, ROLE_USER, MESSAGE_OPEN, "begun", 0);
    int64_t half = add(store, old.query, ROLE_AGENT, MESSAGE_OPEN, "ha", begun);
    WELL(store_append(store, half, "lf", 2, &err));
    (void)add(store, old.query, ROLE_USER, MESSAGE_OPEN, "waits", 0);

    struct store_clear clear = {
        .reason = "clear", .mode = "auto", .then_text = "go on", .then_len = 5, .sender = "00"};
    MUST(store_clear(store, old.conversation, &clear, &new, &then, &err));
    CHECK(new.query != old.query &&new.number == 2 && then > half);
    CHECK_STR(new.conversation, old.conversation);
    CHECK_STR(new.mode, "auto");
    WELL(store_last_session(store, old.query, &here, &id, &why, &err));
    CHECK_STR(id, NULL);
    check_rows(store, &(struct store_filter){.query = old.query},
               "10 user done one\n10 agent done eins\n10 user interrupted begun\n"
               "10 agent interrupted half\n10 user failed waits\n");
    check_rows(store, &(struct store_filter){.query = new.query}, "10 user open go on\n");
    WELL(store_queries(store, "10", add_query_row, &rows, &err));
    CHECK_STR(str_text(&rows), "1 10 clear  5\n2 10 - auto 1 current\n");

    clear.then_text = NULL;
    struct store_place third = {.query = 0};
    MUST(store_clear(store, old.conversation, &clear, &third, NULL, &err));
    CHECK(third.is_new && third.number == 3);
    CHECK_INT(store_clear(store, "no", &clear, &third, NULL, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    store_place_free(&old);
    store_place_free(&new);
    store_place_free(&third);
}

TEST(an_agent_session_lasts_until_it_is_ended)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct store_place at = {.query = 0};
    struct err err = ERR_INIT;
    const char *why;
    char *id = NULL;

    REQUIRE(store != NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    int64_t query = at.query;
    store_place_free(&at);
    session(store, query, "s1", OUTCOME_FRESH, NULL);
    session(store, query, "s1", OUTCOME_RESUMED, "again");
    WELL(store_last_session(store, query, &here, &id, &why, &err));
    CHECK_STR(id, "s1");
    free(id);
    WELL(store_end_session(store, query, "other", &err));
    WELL(store_last_session(store, query, &here, &id, &why, &err));
    CHECK_STR(id, "s1");
    free(id);
    WELL(store_end_session(store, query, "s1", &err));
    WELL(store_last_session(store, query, &here, &id, &why, &err));
    CHECK_STR(id, NULL);

    /* Injection is due from then on until one turn has succeeded. */
    session(store, query, "s2", OUTCOME_INJECTED, NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    CHECK(!at.injected);
    store_place_free(&at);
    int64_t prompt = add(store, query, ROLE_USER, MESSAGE_OPEN, "a", 0);
    WELL(store_end_turn(store, query, prompt, "failed", MESSAGE_FAILED, NULL, &err));
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    CHECK(!at.injected);
    store_place_free(&at);
    (void)turn(store, query, "b", "c");
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    CHECK(at.injected);
    store_place_free(&at);
}

TEST(an_agent_session_of_elsewhere_is_none)
{
    static const struct {
        const char *id, *directory, *machine, *why;
    } cases[] = {
        {SESSION, "/here", "m", NULL},
        {SESSION, "/there", "m", "it was opened in another directory"},
        {SESSION, "/here", "n", "it was opened on another machine"},
        {"6a0e8400-e29b-41d4-a716-446655440000", "/here", "m", "it was opened by another session"},
    };
    _cleanup_place_ struct place place = place_make();
    struct store_place at = {.query = 0};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_store_ struct store *store = NULL;
        const struct store_home home = {cases[i].directory, cases[i].machine};
        _cleanup_free_ char *id = NULL;
        const char *why = NULL;
        MUST(store_open(place.dir, cases[i].id, "10", true, &store, &err));
        MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
        if (i == 0)
            session(store, at.query, "s1", OUTCOME_FRESH, NULL);
        WELL(store_last_session(store, at.query, &home, &id, &why, &err));
        CHECK_STR(why, cases[i].why);
        CHECK_STR(id, cases[i].why == NULL ? "s1" : NULL);
        store_place_free(&at);
    }
}

/* true if it is skipped. */
static bool skips(struct store *store, const char *program, const char *method)
{
    _cleanup_free_ char *why = store_method_skip(store, program, method);
    return why != NULL;
}

static void fail_method(struct store *store, int times)
{
    struct err err = ERR_INIT;

    for (int i = 0; i < times; i++) {
        CHECK(i >= 3 || !skips(store, "x 1", "load"));
        WELL(store_method_tried(store, "x 1", "load", "bad luck", &err));
    }
}

TEST(a_method_is_skipped_after_three_failures_of_its_agent)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *other = opened(&place, "11");
    struct err err = ERR_INIT;

    REQUIRE(store != NULL && other != NULL);
    fail_method(store, 3);
    _cleanup_free_ char *why = store_method_skip(store, "x 1", "load");
    CHECK_STR(why, "it failed 3 times, most recently with: bad luck");
    CHECK(!skips(store, "x 2", "load") && !skips(store, "x 1", "resume"));
    CHECK(!skips(other, "x 1", "load"));
    WELL(store_method_tried(store, "x 1", "load", NULL, &err));
    CHECK(!skips(store, "x 1", "load"));
    for (int i = 0; i < 4; i++)
        WELL(store_method_tried(store, "x 1", "load", "lost", &err));
    CHECK(!skips(store, "x 1", "load")); /* it has worked once */
}

TEST(a_method_is_tried_again_when_it_has_worked_for_another_agent_or_after_an_hour)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *other = opened(&place, "11");
    struct err err = ERR_INIT;

    REQUIRE(store != NULL && other != NULL);
    fail_method(store, 3);
    CHECK(skips(store, "x 1", "load"));
    WELL(store_method_tried(other, "x 1", "load", NULL, &err));
    WELL(store_method_tried(store, "x 1", "load", "again", &err));
    CHECK(!skips(store, "x 1", "load"));
    MUST(db_run(store->db, &err, "UPDATE rung SET worked = 0", ""));
    CHECK(skips(store, "x 1", "load"));
    MUST(db_run(store->db, &err, "UPDATE rung SET failed = failed - 3600001", ""));
    CHECK(!skips(store, "x 1", "load"));
    WELL(store_method_tried(store, "x 1", "load", "again", &err));
    CHECK(skips(store, "x 1", "load"));
}

TEST(filters_by_time_role_number_and_conversation)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *other = opened(&place, "11");
    struct store_place at = {.query = 0};
    struct err err = ERR_INIT;
    int64_t count;

    REQUIRE(store != NULL && other != NULL);
    MUST(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    (void)turn(store, at.query, "a", "b");
    int64_t last = turn(other, query_of(other), "c", "d");
    check_rows(store, &(struct store_filter){.agent = "11"}, "11 user done c\n11 agent done d\n");
    check_rows(store, &(struct store_filter){.after = last}, "11 agent done d\n");
    check_rows(store, &(struct store_filter){.roles = 1u << ROLE_AGENT},
               "10 agent done b\n11 agent done d\n");
    check_rows(store, &(struct store_filter){.conversation = at.conversation},
               "10 user done a\n10 agent done b\n");
    check_rows(store, &(struct store_filter){.conversation = at.conversation, .agent = "11"}, "");
    check_rows(store, &(struct store_filter){.until_ms = 1}, "");
    WELL(store_count(store, &(struct store_filter){.since_ms = 1, .limit = 1}, &count, &err));
    CHECK_INT(count, 4);
    store_place_free(&at);
}

static bool count_input(const struct store_input *input, void *arg)
{
    (void)input;
    ++*(int *)arg;
    return true;
}

TEST(a_copy_forgets_what_waits_for_each_agent)
{
    _cleanup_place_ struct place place = place_make();
    static const char *const agents[] = {"00", "10", "20"};
    int64_t number, count = 0;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
        _cleanup_store_ struct store *store = opened(&place, agents[i]);
        REQUIRE(store != NULL);
        (void)add(store, query_of(store), ROLE_USER, MESSAGE_OPEN, "prompt", 0);
        for (int begun = 0; begun < 2; begun++) {
            const struct store_input input = {
                .agent = agents[i], .begun = begun, .text = "message", .len = 7};
            WELL(store_input_add(store, &input, &number, &err));
        }
    }
    _cleanup_store_ struct store *store = opened(&place, "00");
    REQUIRE(store != NULL);
    WELL(store_disown(store, &count, &err));
    CHECK_INT(count, 9);
    for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
        int left = 0;
        WELL(store_inputs(store, agents[i], count_input, &left, &err));
        CHECK_INT(left, 0);
    }
    WELL(store_disown(store, &count, &err));
    CHECK_INT(count, 0);
}

static void check_newest(struct store *store, int64_t prompt, bool over, enum store_state state,
                         bool stopped, const char *why)
{
    struct store_turn turn = {.prompt = -1};
    struct err err = ERR_INIT;

    WELL(store_newest_turn(store, "10", &turn, &err));
    CHECK_INT(turn.prompt, prompt);
    CHECK_INT(turn.over, over);
    CHECK_INT(turn.state, state);
    CHECK_INT(turn.stopped, stopped);
    CHECK_STR(turn.why, why);
    store_turn_free(&turn);
}

TEST(the_newest_turn_is_the_one_that_had_one)
{
    static const struct {
        const char *reason;
        enum store_state state;
        const char *why;
        bool stopped;
    } ends[] = {{"end_turn", MESSAGE_DONE, NULL, false},
                {"failed", MESSAGE_FAILED, "it broke", false},
                {STORE_STOPPED, MESSAGE_INTERRUPTED, "by stop", true},
                {"cancelled", MESSAGE_INTERRUPTED, NULL, false}};
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    _cleanup_store_ struct store *other = opened(&place, "11");
    struct err err = ERR_INIT;
    int64_t query = query_of(store);

    check_newest(store, 0, false, MESSAGE_OPEN, false, NULL);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        int64_t number = add(store, query, ROLE_USER, MESSAGE_DONE, "x", 0);
        check_newest(store, number, false, MESSAGE_DONE, false, NULL);
        (void)add(store, query, ROLE_NOTE, MESSAGE_DONE, "a note in it", number);
        WELL(
            store_end_turn(store, query, number, ends[i].reason, ends[i].state, ends[i].why, &err));
        check_newest(store, number, true, ends[i].state, ends[i].stopped, ends[i].why);
        (void)add(store, query, ROLE_USER, MESSAGE_OPEN, "waits", 0); /* it had no turn */
        (void)turn(other, query_of(other), "another agent's", "y");
        check_newest(store, number, true, ends[i].state, ends[i].stopped, ends[i].why);
    }
}
