/* What the agent says and does, what clients are told of it, and what it asks. */
#include "talk.h"

#include "base/time.h"
#include "host/talk/said.h"
#include "protocol/host.h"

enum {
    SAID = 1U << ROLE_AGENT | 1U << ROLE_THOUGHT | 1U << ROLE_TOOL | 1U << ROLE_PLAN |
           1U << ROLE_PERMISSION | 1U << ROLE_NOTE
};

static void say(struct host *host, enum store_role role, const char *text)
{
    said_text(host, role, text, strlen(text));
}

TEST(texts_grow_until_something_else_is_said)
{
    A_WORLD;

    say(host, ROLE_AGENT, "a");
    say(host, ROLE_AGENT, "bc");
    CHECK_STORED(SAID, "agent open abc\n");
    say(host, ROLE_THOUGHT, "hm");
    CHECK_STORED(SAID, "agent done abc\nthought open hm\n");
    say(host, ROLE_AGENT, "d");
    CHECK_STORED(SAID, "agent done abc\nthought done hm\nagent open d\n");
    said_close_text(host);
    said_close_text(host);
    CHECK_STORED(SAID, "agent done abc\nthought done hm\nagent done d\n");
    say(host, ROLE_AGENT, "e"); /* another message */
    say(host, ROLE_AGENT, ""); /* nothing */
    CHECK_STORED(SAID, "agent done abc\nthought done hm\nagent done d\nagent open e\n");
    CHECK_TOLD("{\"event\":\"text\",\"message\":\"1\",\"at\":0,\"bytes\":1} a\n"
               "{\"event\":\"text\",\"message\":\"1\",\"at\":1,\"bytes\":2} bc\n"
               "{\"event\":\"thought\",\"message\":\"2\",\"at\":0,\"bytes\":2} hm\n"
               "{\"event\":\"text\",\"message\":\"3\",\"at\":0,\"bytes\":1} d\n"
               "{\"event\":\"text\",\"message\":\"4\",\"at\":0,\"bytes\":1} e\n");
}

TEST(a_text_that_is_too_long_goes_on_in_another_message)
{
    enum { PIECE = STORE_TEXT_MAX / 2 };
    A_WORLD;
    _cleanup_free_ char *text = mem_alloc(PIECE + 1);
    const struct store_filter all = {.roles = SAID};
    int64_t count = 0;

    memset(text, 'x', PIECE);
    text[PIECE] = '\0';
    said_text(host, ROLE_AGENT, text, PIECE);
    said_text(host, ROLE_AGENT, text, PIECE); /* it just fits */
    MUST(store_count(talk->memory.store, &all, &count, &err));
    CHECK_INT(count, 1);
    CHECK_INT(talk->turn.answer_len, STORE_TEXT_MAX);
    said_text(host, ROLE_AGENT, "y", 1);
    MUST(store_count(talk->memory.store, &all, &count, &err));
    CHECK_INT(count, 2);
    CHECK_INT(talk->turn.answer_len, 1);
    CHECK(!talk->turn.unkept);
}

static void tell_tool(struct host *host, const char *id, const char *status, const char *content)
{
    struct tool_call *tool = said_know_tool(&host->talk->turn.tools, id);

    free(tool->status);
    tool->status = mem_dup(status);
    free(tool->title);
    tool->title = mem_printf("do %s", id);
    said_tell_tool(host, tool, content);
}

TEST(a_tool_call_is_one_message_that_changes)
{
    A_WORLD;

    tell_tool(host, "a", "pending", "");
    tell_tool(host, "b", "in_progress", "some");
    tell_tool(host, "a", "completed", "all");
    tell_tool(host, "b", "failed", "");
    tell_tool(host, "c", "cancelled", "");
    CHECK_STORED(SAID, "tool done do a\nall\ntool done do b\ntool open do c\n");
    CHECK_TOLD(
        "{\"event\":\"tool\",\"message\":\"1\",\"id\":\"a\",\"title\":\"do a\",\"kind\":\"other\","
        "\"status\":\"pending\"} \n"
        "{\"event\":\"tool\",\"message\":\"2\",\"id\":\"b\",\"title\":\"do b\",\"kind\":\"other\","
        "\"status\":\"in_progress\",\"bytes\":4} some\n"
        "{\"event\":\"tool\",\"message\":\"1\",\"id\":\"a\",\"title\":\"do a\",\"kind\":\"other\","
        "\"status\":\"completed\",\"bytes\":3} all\n"
        "{\"event\":\"tool\",\"message\":\"2\",\"id\":\"b\",\"title\":\"do b\",\"kind\":\"other\","
        "\"status\":\"failed\"} \n"
        "{\"event\":\"tool\",\"message\":\"3\",\"id\":\"c\",\"title\":\"do c\",\"kind\":\"other\","
        "\"status\":\"cancelled\"} \n");
}

TEST(the_oldest_tool_call_makes_room)
{
    enum { MOST = 512 };
    struct tool_table tools = {.count = 0};
    char id[16];

    for (int i = 0; i < MOST; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        CHECK_STR(said_know_tool(&tools, id)->id, id);
    }
    CHECK_INT(tools.count, MOST);
    said_know_tool(&tools, "0")->number = 7; /* all are known */
    CHECK_INT(said_know_tool(&tools, "0")->number, 7);
    CHECK_INT(tools.count, MOST);
    CHECK_INT(said_know_tool(&tools, "new")->number, 0);
    CHECK_INT(tools.count, MOST);
    CHECK_STR(tools.call[0].id, "1");
    CHECK_STR(tools.call[MOST - 1].id, "new");
    CHECK_INT(said_know_tool(&tools, "0")->number, 0); /* it is forgotten */
    CHECK_STR(tools.call[0].id, "2");
    said_free_tools(&tools);
    CHECK_INT(tools.count, 0);
}

TEST(long_content_of_a_tool_is_told_in_part_and_stored_in_part)
{
    enum { TOLD = 1 << 20, STORED = STORE_TEXT_MAX / 2 };
    A_WORLD;
    _cleanup_free_ char *text = mem_alloc(STORED + 4);

    memset(text, 'x', STORED + 3);
    text[TOLD] = '\0';
    tell_tool(host, "a", "pending", text);
    _cleanup_free_ char *whole = told(&world, 0);
    CHECK(strstr(whole, "\"more\"") == NULL && strstr(whole, "\"bytes\":1048576}") != NULL);
    text[TOLD] = 'x';
    text[TOLD + 1] = '\0';
    tell_tool(host, "a", "pending", text);
    _cleanup_free_ char *part = told(&world, 0);
    CHECK(strstr(part, "\"more\":1,\"bytes\":1048576}") != NULL);
    text[TOLD + 1] = 'x';
    text[STORED] = '\0';
    tell_tool(host, "a", "pending", text);
    _cleanup_free_ char *all = stored(&world, SAID);
    CHECK(strstr(all, "left out") == NULL && strlen(all) > STORED);
    text[STORED] = 'x';
    tell_tool(host, "a", "pending", text);
    _cleanup_free_ char *cut = stored(&world, SAID);
    CHECK(strstr(cut, "\n(3 bytes are left out)\n") != NULL);
    CHECK_INT(strlen(cut), strlen(all) + strlen("\n(3 bytes are left out)"));
}

TEST(a_plan_replaces_the_one_before)
{
    A_WORLD;

    say(host, ROLE_AGENT, "so");
    said_plan(host, "1. a", "[{\"content\":\"a\"}]", 0);
    said_plan(host, "1. b", "[{\"content\":\"b\"}]", 3);
    CHECK_STR(talk->turn.plan_text, "1. b");
    CHECK_STORED(SAID, "agent done so\nplan done 1. b\n");
    _cleanup_free_ char *events = told(&world, 0);
    CHECK(strstr(events,
                 "{\"event\":\"plan\",\"message\":\"2\",\"entries\":[{\"content\":\"a\"}]} ") !=
          NULL);
    CHECK(strstr(events, "{\"event\":\"plan\",\"message\":\"2\",\"entries\":[{\"content\":\"b\"}],"
                         "\"more\":3} ") != NULL);
}

/* ---- events */

TEST(an_event_goes_to_those_who_listen_or_wait_for_its_prompt)
{
    A_WORLD;
    static const struct {
        enum client_kind kind;
        int64_t prompt;
        bool gets[3]; /* of an event of no prompt, of 5, of 6 */
    } table[] = {
        {CLIENT_LISTENS, 0, {true, true, true}},   {CLIENT_ASKS, 5, {false, true, false}},
        {CLIENT_ASKS, 0, {false, false, false}},   {CLIENT_WATCHES, 5, {false, false, false}},
        {CLIENT_STEERS, 5, {false, false, false}}, {CLIENT_LISTENS, 5, {true, true, true}},
    };
    static const int64_t prompts[] = {0, 5, 6};

    host->server.count = ARRAY_LEN(table);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        host->server.clients[i] =
            (struct client){.conn = CONN_INIT, .kind = table[i].kind, .prompt = table[i].prompt};
    for (size_t k = 0; k < ARRAY_LEN(prompts); k++) {
        struct client_event event;
        event_open(&event, "e");
        event_tell(host, &event, NULL, 0, prompts[k]);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
            CHECK_INT(conn_unsent(&host->server.clients[i].conn) > 0, table[i].gets[k]);
            conn_discard(&host->server.clients[i].conn);
        }
    }
}

TEST(an_event_fits_a_frame)
{
    A_WORLD;
    static const size_t lens[] = {FRAME_HEAD_MAX - 20, FRAME_HEAD_MAX + 1};
    _cleanup_free_ char *text = mem_alloc(2 * FRAME_BODY_MAX + 2);

    memset(text, 'x', 2 * FRAME_BODY_MAX + 1);
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        struct client_event event;
        event_open(&event, "e");
        text[lens[i] - 20] = '\0';
        json_put(&event.out, "t", text);
        text[lens[i] - 20] = 'x';
        event_tell(host, &event, "body", 4, 0);
        _cleanup_free_ char *got = told(&world, 0);
        if (i == 0)
            CHECK(str_starts(got, "{\"event\":\"e\"") && str_ends(got, " body\n"));
        else
            CHECK_STR(got, "{\"event\":\"note\",\"message\":null,\"bytes\":55} "
                           "a message is too long to show; see it with: mas history\n");
    }
    struct client_event event;
    event_open(&event, "e");
    event_tell(host, &event, text, FRAME_BODY_MAX + 1, 0); /* cut */
    _cleanup_free_ char *cut = told(&world, 0);
    CHECK_INT(strlen(cut), strlen("{\"event\":\"e\",\"bytes\":4194304} \n") + FRAME_BODY_MAX);
    event_tell_text(host, "text", -3, 10, text, 2 * FRAME_BODY_MAX + 1); /* in pieces */
    _cleanup_free_ char *pieces = told(&world, 0);
    const char *at = pieces;
    for (int i = 0; i < 3 && at != NULL; i++) {
        _cleanup_free_ char *head =
            mem_printf("{\"event\":\"text\",\"message\":null,\"at\":%d,\"bytes\":%d} ",
                       10 + i * FRAME_BODY_MAX, i < 2 ? FRAME_BODY_MAX : 1);
        at = strstr(at, head);
        CHECK(at != NULL);
    }
}

TEST(ids_name_messages)
{
    A_WORLD;
    static const struct {
        const char *id;
        int64_t number;
    } table[] = {
        {"12", 12},
        {ID(0) ":12", 12},
        {ID(1) ":12", 0},
        {ID(0) "12", 0},
        {"-12", -12},
        {"", 0},
        {"x", 0},
        {"12x", 0},
        {ID(0) ":", 0},
        {ID(0) ":-3", -3},
        {"9223372036854775807", INT64_MAX},
        {"--1", 0},
        {"9223372036854775808", 0},
    };
    char buf[EVENT_ID_MAX];

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        CHECK_INT(event_number(host, table[i].id), table[i].number);
    CHECK_STR(event_id(host, INT64_MAX, buf), ID(0) ":9223372036854775807");
    CHECK_STR(event_id(host, -7, buf), ID(0) ":-7");
}

TEST(the_state_is_told_when_it_changes)
{
    A_WORLD;
    char note[] = "n";
    struct agent_status status = {.state = AGENT_IDLE};

    event_tell_state(host, &status);
    event_tell_state(host, &status);
    CHECK_TOLD("{\"event\":\"state\",\"state\":\"idle\",\"note\":\"\"} \n");
    status.note = note;
    status.until_ms = 5;
    status.retry_ms = 6;
    event_tell_state(host, &status);
    CHECK_TOLD("{\"event\":\"state\",\"state\":\"idle\",\"note\":\"n\",\"untilMs\":5,"
               "\"retryAtMs\":6} \n");
    status.state = AGENT_WORKING;
    event_tell_state(host, &status);
    event_tell_state(host, &status);
    _cleanup_free_ char *last = told(&world, 0);
    CHECK(strstr(last, "working") != NULL && strstr(strchr(last, '\n'), "working") == NULL);
}

/* Whoever reads nothing is dropped after a while, and the agent is not read until then. */
TEST(who_does_not_read_is_waited_for_and_then_dropped)
{
    static const struct {
        enum client_kind kind;
        int64_t limit;
    } table[] = {{CLIENT_LISTENS, 1000}, {CLIENT_ASKS, 60000}};
    enum { READ = 256 * 1024 };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        struct client *full = &host->server.clients[1];
        _cleanup_free_ char *text = mem_alloc(HOST_BACKLOG);
        host->server.clients[0].kind = CLIENT_WATCHES;
        *full = (struct client){.conn = CONN_INIT, .kind = table[i].kind, .prompt = 5};
        host->server.count = 2;
        memset(text, 'x', HOST_BACKLOG);
        struct client_event event;
        event_open(&event, "e");
        event_tell(host, &event, text, HOST_BACKLOG - 64, 5);
        CHECK(!event_has_full_listener(host));
        CHECK_INT(event_tick_listeners(host, 1000), -1);
        event_open(&event, "e");
        event_tell(host, &event, text, 100, 5);
        CHECK(event_has_full_listener(host));
        int64_t since = full->full_since, until = since + table[i].limit;
        CHECK_INT(event_tick_listeners(host, since), until);
        CHECK_INT(event_tick_listeners(host, until - 1), until);
        CHECK_INT(full->kind, table[i].kind);
        /* it reads on: the time begins anew */
        event_open(&event, "e");
        event_tell(host, &event, text, 2 * READ, 5);
        full->full_unread = conn_unsent(&full->conn) + READ - 1;
        CHECK_INT(event_tick_listeners(host, until - 1), until);
        full->full_unread = conn_unsent(&full->conn) + READ;
        CHECK_INT(event_tick_listeners(host, until - 1), until - 1 + table[i].limit);
        CHECK_INT(event_tick_listeners(host, until - 1 + table[i].limit), -1);
        CHECK_INT(full->kind, CLIENT_LEAVES);
        CHECK_INT(conn_unsent(&full->conn), 0);
        /* who has read is full no more */
        full->kind = table[i].kind;
        full->full_since = 1;
        full->full_unread = 1;
        CHECK(!event_has_full_listener(host));
        CHECK_INT(event_tick_listeners(host, 99999), -1);
        CHECK_INT(full->full_since, 0);
        CHECK_INT(full->kind, table[i].kind);
    }
}

/* ---- permissions */

static const struct word options[] = {
    {.id = (char *)(uintptr_t) "y",
     .name = (char *)(uintptr_t) "Yes",
     .description = NULL,
     .kind = (char *)(uintptr_t) "allow_once"},
    {.id = (char *)(uintptr_t) "Y",
     .name = (char *)(uintptr_t) "Always",
     .description = NULL,
     .kind = (char *)(uintptr_t) "allow_always"},
    {.id = (char *)(uintptr_t) "n",
     .name = (char *)(uintptr_t) "No",
     .description = NULL,
     .kind = (char *)(uintptr_t) "reject_once"},
    {.id = (char *)(uintptr_t) "N",
     .name = (char *)(uintptr_t) "Never",
     .description = NULL,
     .kind = (char *)(uintptr_t) "reject_always"},
};

/* Asks with some of the options, from one to before another. */
static int64_t ask(struct host *host, const char *ticket, size_t from, size_t to)
{
    struct asked_permission permission = {.ticket = mem_dup(ticket),
                                          .title = mem_dup("may I"),
                                          .kind = mem_dup("execute"),
                                          .details = mem_dup("more of it"),
                                          .tool_id = mem_dup("t"),
                                          .options = word_copy(options + from, to - from),
                                          .count = to - from};

    size_t index = permission_add(host, &permission);
    return host->talk->permissions.open[index].number;
}

TEST(a_word_means_an_option)
{
    static const struct {
        const char *wanted, *as;
        size_t from, to;
        const char *option; /* NULL: an error */
        int code;
    } table[] = {
        {"allow", NULL, 0, 4, "y", 0},
        {"allow_always", NULL, 0, 4, "Y", 0},
        {"deny", NULL, 0, 4, "n", 0},
        {"deny_always", NULL, 0, 4, "N", 0},
        {"allow", NULL, 1, 4, "Y", 0}, /* the nearest one */
        {"allow_always", NULL, 0, 1, "y", 0},
        {"deny", NULL, 3, 4, "N", 0},
        {"deny_always", NULL, 0, 3, "n", 0},
        {"allow", NULL, 2, 4, NULL, MAS_NOT_FOUND},
        {"deny", NULL, 0, 2, NULL, MAS_NOT_FOUND},
        {"N", NULL, 0, 4, "N", 0}, /* an id */
        {"Y", "allow", 0, 4, "Y", 0},
        {"n", "deny", 0, 4, "n", 0},
        {"n", "allow", 0, 4, NULL, MAS_USAGE},
        {"y", "deny", 0, 4, NULL, MAS_USAGE},
        {"maybe", NULL, 0, 4, NULL, MAS_NOT_FOUND},
        {PLAN_CLEAR_OPTION, NULL, 0, 4, NULL, MAS_NOT_FOUND}, /* it is no plan */
        {"allow", NULL, 0, 0, NULL, MAS_NOT_FOUND},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        struct answered_permission done = {.title = NULL};
        const struct verdict verdict = {.wanted = table[i].wanted, .as = table[i].as, .by = "-"};
        int64_t number = ask(host, "k", table[i].from, table[i].to);
        int rc = permission_answer(host, &verdict, &done, &err);
        CHECK_INT(rc, table[i].option != NULL ? 0 : -1);
        CHECK_INT(err.code, table[i].code);
        CHECK_INT(talk->permissions.count, table[i].option == NULL);
        if (table[i].option == NULL)
            continue;
        _cleanup_free_ char *calls = mem_printf("permit(%s)", table[i].option);
        CHECK_CALLS(calls);
        CHECK_STR(done.option, table[i].option);
        CHECK_STR(done.title, "may I");
        CHECK_STR(done.details, "more of it");
        CHECK_INT(done.number, number);
        permission_free_answered(&done);
    }
}

TEST(a_plan_has_an_option_that_clears)
{
    static const struct {
        struct word word;
        bool allows, clears;
    } table[] = {
        {{(char *)(uintptr_t) "clear", (char *)(uintptr_t) "x", NULL, (char *)(uintptr_t) "clear"},
         true,
         true},
        {{(char *)(uintptr_t) "c", (char *)(uintptr_t) "Yes, CLEAR context", NULL,
          (char *)(uintptr_t) "allow_once"},
         true,
         true},
        {{(char *)(uintptr_t) "c", (char *)(uintptr_t) "clear nothing", NULL,
          (char *)(uintptr_t) "reject_once"},
         false,
         false},
        {{(char *)(uintptr_t) "c", (char *)(uintptr_t) "Yes", NULL, (char *)(uintptr_t) "allow"},
         true,
         false},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CHECK_INT(permission_allows(&table[i].word), table[i].allows);
        CHECK_INT(permission_option_clears(&table[i].word), table[i].clears);
    }
    A_WORLD;
    struct answered_permission done = {.title = NULL};
    const struct verdict verdict = {.wanted = PLAN_CLEAR_OPTION, .by = "-"};
    (void)ask(host, "k", 0, 4);
    talk->permissions.open[0].plan = true;
    free(talk->permissions.open[0].options[1].name);
    talk->permissions.open[0].options[1].name = mem_dup("Yes, and clear it");
    MUST(permission_answer(host, &verdict, &done, &err)); /* the agent's own, by another id */
    CHECK_STR(done.option, "Y");
    permission_free_answered(&done);
}

TEST(each_is_answered_by_its_number_and_removed_from_its_place)
{
    enum { COUNT = 3 };

    for (size_t which = 0; which < COUNT; which++) {
        A_WORLD;
        static const char *const tickets[COUNT] = {"a", "b", "c"};
        struct answered_permission done = {.title = NULL};
        int64_t numbers[COUNT];
        for (size_t i = 0; i < COUNT; i++)
            numbers[i] = ask(host, tickets[i], 0, 4);
        struct verdict verdict = {.number = 99, .wanted = "allow", .by = "w2"};
        CHECK_INT(permission_answer(host, &verdict, &done, &err), -1);
        CHECK_INT(err.code, MAS_NOT_FOUND);
        CHECK_TOLD("");
        verdict.number = numbers[which];
        err = (struct err)ERR_INIT;
        MUST(permission_answer(host, &verdict, &done, &err));
        CHECK_INT(done.number, numbers[which]);
        permission_free_answered(&done);
        REQUIRE(talk->permissions.count == COUNT - 1);
        for (size_t i = 0, k = 0; i < COUNT; i++)
            if (i != which)
                CHECK_STR(talk->permissions.open[k++].ticket, tickets[i]);
        _cleanup_free_ char *event =
            mem_printf("{\"event\":\"permitted\",\"permission\":\"%d\",\"option\":\"y\","
                       "\"name\":\"Yes\",\"by\":\"w2\"} \n",
                       (int)numbers[which]);
        CHECK_TOLD(event);
        permission_withdraw(host, tickets[(which + 1) % COUNT]);
        CHECK_INT(talk->permissions.count, 1);
        permission_withdraw(host, "unknown");
        CHECK_INT(talk->permissions.count, 1);
        CHECK_STR(talk->permissions.open[0].ticket, tickets[(which + 2) % COUNT]);
        str_clear(&world.calls);
        permission_drop_all(host);
        _cleanup_free_ char *refused = mem_printf("refuse(%s)", tickets[(which + 2) % COUNT]);
        CHECK_CALLS(refused);
        _cleanup_str_ struct str rows = STR_INIT;
        for (size_t i = 0; i < COUNT; i++)
            str_addf(&rows, "permission %s may I\nmore of it\n",
                     i == which ? "done" : "interrupted");
        CHECK_STORED(SAID, str_text(&rows));
    }
    A_WORLD;
    struct answered_permission done = {.title = NULL};
    const struct verdict verdict = {.wanted = "allow", .by = "-"};
    CHECK_INT(permission_answer(host, &verdict, &done, &err), -1); /* there is none */
    CHECK_INT(err.code, MAS_NOT_FOUND);
}

TEST(who_comes_later_is_told_what_is_asked)
{
    A_WORLD;

    (void)ask(host, "a", 0, 1);
    (void)ask(host, "b", 2, 4);
    CHECK_TOLD("");
    permission_tell_open(host, &host->server.clients[0]);
    CHECK_TOLD("{\"event\":\"permission\",\"permission\":\"1\",\"message\":\"1\",\"id\":\"t\","
               "\"title\":\"may I\",\"kind\":\"execute\",\"plan\":false,\"options\":[{\"id\":\"y\","
               "\"name\":\"Yes\",\"kind\":\"allow_once\"}],\"bytes\":10} more of it\n"
               "{\"event\":\"permission\",\"permission\":\"2\",\"message\":\"2\",\"id\":\"t\","
               "\"title\":\"may I\",\"kind\":\"execute\",\"plan\":false,\"options\":[{\"id\":\"n\","
               "\"name\":\"No\",\"kind\":\"reject_once\"},{\"id\":\"N\",\"name\":\"Never\","
               "\"kind\":\"reject_always\"}],\"bytes\":10} more of it\n");
    CHECK_STR(talk->permissions.open[1].id, ID(0) ":2");
    free(talk->permissions.open[0].title);
    talk->permissions.open[0].title = mem_dup("may I now");
    permission_tell_again(host, &talk->permissions.open[0]); /* more was told of it */
    CHECK_INT(talk->permissions.open[0].number, 1);
    CHECK_STORED(SAID,
                 "permission open may I now\nmore of it\npermission open may I\nmore of it\n");
    _cleanup_free_ char *again = told(&world, 0);
    CHECK(strstr(again, "may I now") != NULL);
}

/* ---- the store */

TEST(ends_have_states)
{
    CHECK_INT(memory_end_state("end_turn"), MESSAGE_DONE);
    CHECK_INT(memory_end_state("max_tokens"), MESSAGE_DONE);
    CHECK_INT(memory_end_state("cancelled"), MESSAGE_INTERRUPTED);
    CHECK_INT(memory_end_state(HOST_END_STOPPED), MESSAGE_INTERRUPTED);
    CHECK_INT(memory_end_state(HOST_END_CLEARED), MESSAGE_INTERRUPTED);
    CHECK_INT(memory_end_state(HOST_END_FAILED), MESSAGE_FAILED);
}

TEST(what_mas_says_is_kept_if_it_is_to_be)
{
    A_WORLD;
    _cleanup_free_ char *words = mem_alloc(4001);

    memory_say(host, true, "kept %d", 1);
    memory_say(host, false, "told");
    CHECK_STORED(SAID, "note done kept 1\n");
    CHECK_TOLD("{\"event\":\"note\",\"message\":\"1\",\"at\":0,\"bytes\":6} kept 1\n"
               "{\"event\":\"note\",\"message\":null,\"at\":0,\"bytes\":4} told\n");
    for (size_t i = 0; i < 4000; i += 2)
        memcpy(words + i, "\303\244", 2);
    words[4000] = '\0';
    memory_say(host, true, "x%s", words); /* cut at a character */
    _cleanup_free_ char *rows = stored(&world, SAID);
    CHECK(str_is_utf8(rows, strlen(rows)));
    CHECK(strlen(rows) > 2000 && strlen(rows) < 2100);
}

/* A damaged store is set aside: the conversation goes on in a new one. */
TEST(a_damaged_store_makes_room_for_another)
{
    A_WORLD;

    (void)queue_text(&world, "waits");
    (void)snprintf(talk->queue.prompts[0].conversation, 37, "x");
    say(host, ROLE_AGENT, "said");
    tell_tool(host, "a", "pending", "");
    said_plan(host, "p", "[]", 0);
    (void)err_set(&err, MAS_DAMAGED, "it is damaged");
    (void)unlinkat(world.dir, WORKSPACE_MEMORY "-wal", 0);
    (void)unlinkat(world.dir, WORKSPACE_MEMORY "-shm", 0);
    REQUIRE(place_put(world.dir, WORKSPACE_MEMORY, "no database, but long enough to be looked at"));
    memory_failed(host, &err);
    CHECK(talk->memory.store != NULL);
    CHECK_INT(talk->turn.answer, 0);
    CHECK_INT(talk->turn.plan, 0);
    CHECK_INT(talk->turn.tools.call[0].number, 0);
    CHECK_STR(talk->queue.prompts[0].conversation, "");
    CHECK(strstr(str_text(&world.calls), "forget_numbers()") != NULL);
    CHECK(strstr(str_text(&world.calls), "keep_session(memory.db was set aside)") != NULL);
    CHECK(strstr(host->memory, "was damaged and is kept as") != NULL);
    CHECK(talk->turn.unkept);
    say(host, ROLE_AGENT, "more");
    CHECK_STORED(1U << ROLE_AGENT, "agent open more\n");
}
