/* Prompts that wait. */
#include "talk.h"

#include "protocol/host.h"

enum { USER = 1U << ROLE_USER };

/* The numbers in the queue, in their order. */
static const char *numbers(const struct talk *talk, char buf[64])
{
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < talk->queue.count; i++)
        len += (size_t)snprintf(buf + len, 64 - len, "%d ", (int)talk->queue.prompts[i].number);
    return buf;
}

TEST(it_has_an_order)
{
    A_WORLD;
    char buf[64];
    char tags[] = "a:b";
    char *list[] = {tags, NULL};

    CHECK_INT(queue_first_number(talk), INT64_MAX);
    for (int i = 11; i < 15; i++)
        queue_push(host, i, "text", 4, i == 12 ? "other" : "-", NULL, i == 12 ? list : NULL);
    CHECK_STR(numbers(talk, buf), "11 12 13 14 ");
    CHECK_INT(queue_first_number(talk), 11);
    for (int i = 11; i < 15; i++)
        CHECK_INT(queue_find(talk, i), i - 11);
    CHECK_INT(queue_find(talk, 15), 4);
    struct prompt prompt = queue_remove(talk, 1);
    CHECK_STR(prompt.from, "other");
    REQUIRE(prompt.tags != NULL);
    CHECK_STR(prompt.tags[0], "a:b");
    CHECK(prompt.tags[1] == NULL && prompt.tags[0] != tags);
    CHECK_STR(numbers(talk, buf), "11 13 14 ");
    queue_push_first(host, &prompt);
    CHECK_STR(numbers(talk, buf), "12 11 13 14 ");
    for (size_t i = 4; i-- > 0;) { /* the last, ..., the first */
        prompt = queue_remove(talk, i);
        queue_free_prompt(&prompt);
    }
    CHECK_INT(talk->queue.count, 0);
}

TEST(what_is_accepted_is_stored_as_it_waits)
{
    A_WORLD;
    static const struct {
        const char *from;
        bool begins, steers;
        const char *state;
        bool begun;
    } table[] = {
        {"-", true, false, "done", true}, /* at once: the queue is empty */
        {"w2", true, false, "open from w2", false}, /* others wait */
        {"-", false, false, "open", false},
        {"-", false, true, "done", false},
    };
    _cleanup_str_ struct str want = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct new_prompt prompt = {.text = "abcd",
                                          .len = 3,
                                          .from = table[i].from,
                                          .begins = table[i].begins,
                                          .steers = table[i].steers};
        int64_t number = 0;
        MUST(queue_add(host, &prompt, &number, &err));
        const struct prompt *added = &talk->queue.prompts[i];
        CHECK_INT(added->number, number);
        CHECK_INT(added->begun, table[i].begun);
        CHECK_STR(added->from, table[i].from);
        CHECK_STR(added->text, "abc");
        CHECK(added->asked_ms > 0);
        str_addf(&want, "user %s abc\n", table[i].state);
    }
    CHECK_STORED(0, str_text(&want));
}

TEST(a_prompt_follows_the_one_before_it)
{
    A_WORLD;
    struct new_prompt prompt = {.text = "x", .len = 1, .from = "-"};
    int64_t number = 0;

    MUST(queue_add(host, &prompt, &number, &err)); /* here */
    CHECK_STR(talk->queue.prompts[0].conversation, "");
    CHECK_INT(talk->queue.prompts[0].query, talk->memory.place.query);
    CHECK(!queue_is_elsewhere(talk, &talk->queue.prompts[0]));
    prompt.choice = CHOICE_NEW;
    MUST(queue_add(host, &prompt, &number, &err));
    prompt.choice = CHOICE_CURRENT;
    MUST(queue_add(host, &prompt, &number, &err));
    const struct prompt *made = &talk->queue.prompts[1], *next = &talk->queue.prompts[2];
    CHECK(queue_is_elsewhere(talk, made) && queue_is_elsewhere(talk, next));
    CHECK_STR(next->conversation, made->conversation);
    CHECK_INT(next->query, made->query);
    CHECK(made->query != talk->memory.place.query);
    prompt.choice = CHOICE_NAMED;
    prompt.id = talk->memory.place.conversation;
    MUST(queue_add(host, &prompt, &number, &err));
    CHECK(!queue_is_elsewhere(talk, &talk->queue.prompts[3]));
    CHECK_INT(talk->queue.prompts[3].query, talk->memory.place.query);
    prompt.id = "ffffffff";
    CHECK_INT(queue_add(host, &prompt, &number, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_INT(talk->queue.count, 4);
}

TEST(it_has_room_for_so_many_bytes)
{
    enum { HALF = 8 << 20 };
    A_WORLD;
    _cleanup_free_ char *text = mem_alloc(HALF + 1);
    struct new_prompt prompt = {.text = text, .len = HALF - 1, .from = "-"};
    int64_t number = 0;

    memset(text, 'x', HALF);
    MUST(queue_add(host, &prompt, &number, &err));
    prompt.len = HALF;
    MUST(queue_add(host, &prompt, &number, &err));
    prompt.len = 2;
    CHECK_INT(queue_add(host, &prompt, &number, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    prompt.len = 1;
    err = (struct err)ERR_INIT;
    MUST(queue_add(host, &prompt, &number, &err));
    CHECK_INT(talk->queue.count, 3);
}

TEST(the_next_host_reads_what_waits)
{
    A_WORLD;
    char tags[] = "k:v";
    char *list[] = {tags, NULL};
    char buf[64];
    const struct new_prompt prompts[] = {
        {.text = "one", .len = 3, .from = "-"},
        {.text = "two", .len = 3, .from = "w2", .tags = list, .choice = CHOICE_NEW},
        {.text = "three", .len = 5, .from = "-"},
        {.text = "taken", .len = 5, .from = "-", .steers = true}, /* it does not wait */
    };
    int64_t number[ARRAY_LEN(prompts)];

    for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
        MUST(queue_add(host, &prompts[i], &number[i], &err));
    int64_t query = talk->queue.prompts[1].query;
    world_close(&world);
    world_open(&world);
    CHECK_INT(talk->queue.count, 3);
    CHECK_STR(numbers(talk, buf), "1 2 3 ");
    const struct prompt *read = talk->queue.prompts;
    CHECK_STR(read[1].text, "two");
    CHECK_INT(read[1].len, 3);
    CHECK_STR(read[1].from, "w2");
    CHECK_STR(read[0].from, "-");
    CHECK_INT(read[1].query, query);
    CHECK_STR(read[2].conversation, read[1].conversation);
    CHECK(queue_is_elsewhere(talk, &read[1]) && !queue_is_elsewhere(talk, &read[0]));
    CHECK(read[0].asked_ms > 0);
    REQUIRE(read[1].tags != NULL && read[1].tags[0] != NULL);
    CHECK_STR(read[1].tags[0], "k:v");
    CHECK(read[1].tags[1] == NULL);
    for (size_t i = 0; i < 3; i++)
        CHECK(!read[i].begun && !read[i].told);
    MUST(queue_read(host, &err)); /* once */
    CHECK_INT(talk->queue.count, 3);
}

TEST(the_first_message_of_the_team_is_asked_once)
{
    static char words[] = "begin";
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    world.agent.prompt = words;
    world_open(&world);
    struct talk *talk = &world.talk;

    queue_open(&world.host);
    CHECK_INT(talk->queue.count, 1);
    CHECK_STORED(USER, "user open begin\n");
    CHECK(queue_add_first(&world.host)); /* it is in it */
    CHECK_INT(talk->queue.count, 1);
    world_close(&world);
    world_open(&world);
    queue_open(&world.host); /* it waited, and is none that was lost */
    CHECK_INT(talk->queue.count, 1);
    CHECK_STORED(USER, "user open begin\n");
    queue_fail(&world.host, "cancelled", NULL);
    world_close(&world);
    world_open(&world);
    queue_open(&world.host); /* nor is one that has an end */
    CHECK_INT(talk->queue.count, 0);
    /* the host is told to deliver it */
    world.host.prompts = true;
    queue_open(&world.host);
    CHECK_INT(talk->queue.count, 1);
    CHECK_STORED(USER, "user interrupted cancelled begin\nuser open begin\n");
}

TEST(an_end_without_a_turn_is_stored_and_told)
{
    static const struct {
        const char *reason, *error, *state;
        enum turn_outcome turn;
    } table[] = {
        {"cancelled", NULL, "interrupted cancelled", TURN_NONE},
        {HOST_END_STOPPED, NULL, "interrupted stopped", TURN_NONE},
        {HOST_END_FAILED, "no program", "failed failed", TURN_FAILED},
        {"end_turn", NULL, "done end_turn", TURN_NONE},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        struct client *asker = &host->server.clients[1], *steers = &host->server.clients[2],
                      *stays = &host->server.clients[3], *other = &host->server.clients[4];
        (void)queue_text(&world, "first");
        int64_t number = queue_text(&world, "second");
        *asker = (struct client){.conn = CONN_INIT, .kind = CLIENT_ASKS, .prompt = number};
        *steers = (struct client){.conn = CONN_INIT, .kind = CLIENT_STEERS, .prompt = number};
        *stays = *steers;
        stays->stays = true;
        *other = (struct client){.conn = CONN_INIT, .kind = CLIENT_STEERS, .prompt = number - 1};
        host->server.count = 5;
        CHECK_TOLD("{\"event\":\"queued\",\"prompt\":\"1\",\"from\":null,\"bytes\":5} first\n"
                   "{\"event\":\"queued\",\"prompt\":\"2\",\"from\":null,\"bytes\":6} second\n");
        struct prompt prompt = queue_remove(talk, 1);
        queue_drop(host, &prompt, false, table[i].reason, table[i].error);
        CHECK(prompt.text == NULL);
        CHECK_INT(asker->kind, CLIENT_LEAVES);
        CHECK_INT(steers->kind, CLIENT_LEAVES);
        CHECK_INT(stays->kind, CLIENT_WATCHES);
        CHECK(stays->dirty && !steers->dirty);
        CHECK_INT(other->kind, CLIENT_STEERS);
        CHECK_INT(conn_unsent(&other->conn), 0);
        CHECK_INT(host->attention.turn, table[i].turn);
        CHECK_STR(host->attention.why, table[i].error != NULL ? table[i].error : "");
        _cleanup_free_ char *end = mem_printf(
            "{\"event\":\"end\",\"prompt\":\"2\",\"stopReason\":\"%s\"%s} \n", table[i].reason,
            table[i].error != NULL ? ",\"code\":0,\"error\":\"no program\"" : "");
        CHECK_TOLD(end);
        _cleanup_free_ char *asked = told(&world, 1), *steered = told(&world, 2);
        CHECK_STR(asked, end);
        _cleanup_free_ char *outcome =
            mem_printf("{\"ok\":true,\"agent\":\"w1\",\"outcome\":\"queued\",\"why\":\"%s\"} \n",
                       table[i].reason);
        CHECK_STR(steered, outcome);
        _cleanup_free_ char *rows = mem_printf("user open first\nuser %s second\n", table[i].state);
        CHECK_STORED(USER, rows);
    }
}

TEST(all_of_it_ends_or_is_kept)
{
    A_WORLD;

    for (int i = 0; i < 3; i++)
        (void)queue_text(&world, "x");
    queue_keep(host, "the agent was stopped");
    _cleanup_free_ char *kept = told(&world, 0);
    for (int i = 1; i <= 3; i++) {
        _cleanup_free_ char *end = mem_printf(
            "{\"event\":\"end\",\"prompt\":\"%d\",\"stopReason\":\"stopped\",\"code\":0,"
            "\"error\":\"the agent was stopped before its turn began; " HOST_WAITS "\"} \n",
            i);
        CHECK(strstr(kept, end) != NULL);
    }
    CHECK_INT(talk->queue.count, 3);
    CHECK_STORED(USER, "user open x\nuser open x\nuser open x\n");
    (void)queue_text(&world, "y");
    queue_keep(host, "again"); /* each is told once */
    _cleanup_free_ char *again = told(&world, 0);
    CHECK(strstr(again, "\"prompt\":\"4\"") != NULL);
    CHECK(strstr(again, "\"prompt\":\"3\"") == NULL);
    queue_fail(host, HOST_END_CLEARED, NULL); /* the clear has stored their ends */
    CHECK_INT(talk->queue.count, 0);
    CHECK_STORED(USER, "user open x\nuser open x\nuser open x\nuser open y\n");
    (void)queue_text(&world, "z");
    (void)queue_text(&world, "z");
    queue_fail(host, HOST_END_FAILED, "why");
    CHECK_STORED(USER, "user open x\nuser open x\nuser open x\nuser open y\n"
                       "user failed failed z\nuser failed failed z\n");
}
