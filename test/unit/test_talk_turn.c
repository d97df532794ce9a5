/* The prompt at work: what holds it back, its begin and its end. */
#include "talk.h"

#include "base/time.h"
#include "host/talk/limit.h"
#include "host/talk/query.h"
#include "host/talk/said.h"
#include "host/talk/turn.h"
#include "host/unwritten.h"
#include "protocol/host.h"

enum { USER = 1U << ROLE_USER };

static int write_never(struct store *store, struct unwritten_write *write, struct err *err)
{
    (void)store, (void)write;
    return err_set(err, MAS_FAILED, "no room");
}

/* Each of what may hold a turn back. */
static void hold_by_disk(struct host *host, bool on)
{
    host->disk.paused = on;
}

static void hold_by_writes(struct host *host, bool on)
{
    const struct unwritten_write write = {.run = write_never, .text = {"x"}, .len = 1};
    struct err err = ERR_INIT;

    if (on)
        (void)unwritten_write(host, host->talk->memory.store, &write, &err);
    else
        unwritten_drop(host);
}

static void hold_by_budget(struct host *host, bool on)
{
    (void)snprintf(host->talk->spending.paused, BUDGET_WORDS, "%s", on ? "too much" : "");
}

static void hold_by_limit(struct host *host, bool on)
{
    struct agent_limit *limit = &host->talk->limit;

    limit->on = on;
    limit->look_at = on ? time_monotonic_ms() + 60000 : 0;
}

static void hold_by_slots(struct host *host, bool on)
{
    struct agent_turns *turns = &host->talk->turns;

    turns->pool[TURNS_SESSION].most = on ? 1 : 0;
    turns->waits = on;
    turns->look_at = on ? time_monotonic_ms() + 60000 : 0;
}

TEST(whatever_holds_it_back_it_waits_in_the_store)
{
    static void (*const holds[])(struct host * host, bool on) = {
        hold_by_disk, hold_by_writes, hold_by_budget, hold_by_limit, hold_by_slots};

    for (size_t i = 0; i < ARRAY_LEN(holds); i++) {
        A_WORLD;
        CHECK(turn_begins_at_once(host));
        const struct new_prompt prompt = {.text = "x", .len = 1, .from = "-", .begins = true};
        int64_t number = 0;
        MUST(queue_add(host, &prompt, &number, &err));
        CHECK_STORED(USER, "user done x\n");
        holds[i](host, true);
        turn_run(host);
        CHECK(!talk->turn.on);
        CHECK_INT(talk->queue.count, 1);
        CHECK_CALLS("");
        holds[i](host, false);
        (void)memory_flush(host);
        if (holds[i] != hold_by_writes) /* there even that could not be written */
            CHECK_STORED(USER, "user open x\n");
        struct prompt gone = queue_remove(talk, 0);
        queue_free_prompt(&gone);
        holds[i](host, true);
        CHECK(!turn_begins_at_once(host));
        holds[i](host, false);
        CHECK(turn_begins_at_once(host));
    }
}

TEST(only_an_idle_agent_that_is_ready_gets_the_first_one)
{
    A_WORLD;

    turn_run(host); /* nothing waits */
    CHECK(!talk->turn.on);
    world.ready = false;
    CHECK(!turn_begins_at_once(host));
    (void)queue_text(&world, "one");
    turn_run(host);
    CHECK(!talk->turn.on);
    world.ready = true;
    CHECK(!turn_begins_at_once(host)); /* another one waits */
    (void)queue_text(&world, "two");
    talk->queue.prompts[0].steer = 7; /* the agent may have taken it already */
    turn_run(host);
    CHECK(!talk->turn.on);
    talk->queue.prompts[0].steer = 0;
    CHECK_TOLD("{\"event\":\"queued\",\"prompt\":\"1\",\"from\":null,\"bytes\":3} one\n"
               "{\"event\":\"queued\",\"prompt\":\"2\",\"from\":null,\"bytes\":3} two\n");
    turn_run(host);
    CHECK(talk->turn.on);
    CHECK_INT(talk->turn.cancel_until, -1);
    CHECK_CALLS("send(one)");
    CHECK_TOLD(
        "{\"event\":\"prompt\",\"prompt\":\"1\",\"from\":null,\"tags\":[],\"bytes\":3} one\n");
    CHECK_STORED(USER, "user done one\nuser open two\n"); /* a kill now asks nothing twice */
    turn_run(host);
    CHECK_CALLS("");
    CHECK(!turn_begins_at_once(host));
    CHECK_INT(turn_next_prompt(talk), 1);
}

TEST(a_prompt_of_another_conversation_has_it_entered_first)
{
    A_WORLD;
    static const char gone[] = "00000000-0000-4000-8000-000000000000";
    const struct new_prompt prompt = {.text = "two", .len = 3, .from = "-", .choice = CHOICE_NEW};
    int64_t number = 0;

    (void)queue_text(&world, "one");
    (void)snprintf(talk->queue.prompts[0].conversation, 37, "%s", gone);
    MUST(queue_add(host, &prompt, &number, &err));
    turn_run(host); /* the first one ends, and the second begins */
    CHECK_CALLS("leave(0)send(two)");
    CHECK_STORED(USER, "user failed failed one\nuser done two\n");
    CHECK_INT(host->attention.turn, TURN_FAILED);
    CHECK(strstr(host->attention.why, "cannot find conversation") != NULL);
    CHECK_STR(talk->memory.place.conversation, talk->turn.prompt.conversation);
    CHECK_INT(talk->memory.place.query, talk->turn.prompt.query);
}

/* Nothing is changed while something is at work or waits. */
TEST(a_conversation_is_changed_only_at_rest)
{
    A_WORLD;
    char first[37];

    (void)snprintf(first, sizeof first, "%s", talk->memory.place.conversation);
    (void)queue_text(&world, "one");
    CHECK_INT(query_change(host, CHOICE_NEW, NULL, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    turn_run(host);
    err = (struct err)ERR_INIT;
    CHECK_INT(query_change(host, CHOICE_NEW, NULL, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    err = (struct err)ERR_INIT;
    MUST(query_change(host, CHOICE_NAMED, first, &err)); /* it is there */
    turn_end(host, "end_turn", 0, NULL);
    str_clear(&world.calls);
    free(told(&world, 0));
    MUST(query_change(host, CHOICE_NAMED, first, &err));
    CHECK_CALLS("");
    CHECK_TOLD("");
    MUST(query_change(host, CHOICE_NEW, NULL, &err));
    CHECK_CALLS("leave(0)");
    CHECK(strcmp(talk->memory.place.conversation, first) != 0);
    _cleanup_free_ char *events = told(&world, 0);
    CHECK(str_starts(events, "{\"event\":\"conversation\",\"conversation\":\""));
    CHECK(strstr(events, "\n{\"event\":\"query\",\"conversation\":\"") != NULL);
    CHECK(strstr(events, "\"reason\":\"conversation\"") != NULL);
    MUST(query_change(host, CHOICE_NAMED, first, &err));
    CHECK_STR(talk->memory.place.conversation, first);
    CHECK_INT(query_change(host, CHOICE_NAMED, "ffffffff", &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_STR(talk->memory.place.conversation, first);
}

TEST(each_end_is_stored_and_told)
{
    static const struct {
        const char *reason, *error, *stored, *calls;
        enum turn_outcome turn;
        bool well;
    } table[] = {
        {"end_turn", NULL, "done end_turn", "succeeds()", TURN_DONE, true},
        {"refusal", NULL, "done refusal", "succeeds()", TURN_DONE, true},
        {"cancelled", NULL, "interrupted cancelled", "", TURN_DONE, false},
        {HOST_END_STOPPED, "by stop", "interrupted stopped", "", TURN_STOPPED, false},
        {HOST_END_FAILED, "it broke", "failed failed", "", TURN_FAILED, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        turn_end(host, table[i].reason, 0, NULL); /* none is on */
        CHECK_TOLD("");
        int64_t number = queue_text(&world, "x");
        turn_run(host);
        REQUIRE(talk->turn.on);
        talk->memory.place.injected = false;
        host->server.clients[1] =
            (struct client){.conn = CONN_INIT, .kind = CLIENT_ASKS, .prompt = number};
        host->server.count = 2;
        str_clear(&world.calls);
        free(told(&world, 0));
        turn_end(host, table[i].reason, -5, table[i].error);
        CHECK(!talk->turn.on);
        CHECK_CALLS(table[i].calls);
        _cleanup_free_ char *rows = mem_printf("user %s x\n", table[i].stored);
        CHECK_STORED(USER, rows);
        _cleanup_free_ char *error =
            table[i].error != NULL ? mem_printf(",\"code\":-5,\"error\":\"%s\"", table[i].error)
                                   : mem_dup("");
        _cleanup_free_ char *end =
            mem_printf("{\"event\":\"end\",\"prompt\":\"1\",\"stopReason\":\"%s\"%s} \n",
                       table[i].reason, error);
        CHECK_TOLD(end);
        _cleanup_free_ char *asked = told(&world, 1);
        CHECK_STR(asked, end);
        CHECK_INT(host->server.clients[1].kind, CLIENT_LEAVES);
        CHECK_INT(host->attention.turn, table[i].turn);
        CHECK_INT(talk->memory.place.injected, table[i].well);
        CHECK_INT(host->child.delivered, table[i].well);
        (void)queue_text(&world, "y"); /* and the next one can begin */
        turn_run(host);
        CHECK_CALLS("send(y)");
    }
}

TEST(what_it_takes_in_the_middle_ends_with_it)
{
    A_WORLD;

    for (const char *const *text = (const char *const[]){"one", "two", "three", "four", NULL};
         *text != NULL; text++)
        (void)queue_text(&world, *text);
    free(told(&world, 0));
    turn_run(host);
    talk->queue.prompts[1].steer = 9;
    turn_take(host, 1);
    turn_take(host, 0);
    CHECK(talk->turn.heard);
    CHECK_INT(talk->queue.count, 1);
    REQUIRE(talk->turn.steered_count == 2);
    CHECK_INT(talk->turn.steered[0].number, 3);
    CHECK_INT(talk->turn.steered[0].steer, 0);
    CHECK_TOLD("{\"event\":\"prompt\",\"prompt\":\"1\",\"from\":null,\"tags\":[],\"bytes\":3} one\n"
               "{\"event\":\"prompt\",\"prompt\":\"3\",\"from\":null,\"tags\":[],\"steered\":true,"
               "\"bytes\":5} three\n"
               "{\"event\":\"prompt\",\"prompt\":\"2\",\"from\":null,\"tags\":[],\"steered\":true,"
               "\"bytes\":3} two\n");
    turn_end(host, "end_turn", 0, NULL);
    CHECK_STORED(USER, "user done end_turn one\nuser done end_turn two\n"
                       "user done end_turn three\nuser open four\n");
    _cleanup_free_ char *ends = told(&world, 0);
    for (int i = 1; i <= 3; i++) {
        _cleanup_free_ char *end = mem_printf("\"end\",\"prompt\":\"%d\"", i);
        CHECK(strstr(ends, end) != NULL);
    }
    /* its words may come after the end */
    turn_take(host, 0);
    CHECK_INT(talk->turn.steered_count, 0);
    CHECK_STORED(USER, "user done end_turn one\nuser done end_turn two\n"
                       "user done end_turn three\nuser done end_turn four\n");
}

TEST(what_is_put_back_is_asked_again_in_its_order)
{
    A_WORLD;

    for (const char *const *text = (const char *const[]){"one", "two", "three", "four", NULL};
         *text != NULL; text++)
        (void)queue_text(&world, *text);
    turn_run(host);
    turn_take(host, 0);
    turn_take(host, 0);
    turn_put_back(host);
    CHECK(!talk->turn.on);
    REQUIRE(talk->queue.count == 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(talk->queue.prompts[i].number, i + 1);
        CHECK_INT(talk->queue.prompts[i].told, i < 3);
        CHECK(!talk->queue.prompts[i].begun);
    }
    CHECK_STORED(USER, "user open one\nuser open two\nuser open three\nuser open four\n");
    free(told(&world, 0));
    turn_run(host);
    CHECK_TOLD(""); /* its begin is known */
    CHECK_STORED(USER, "user done one\nuser open two\nuser open three\nuser open four\n");
    /* the next host finds them all */
    turn_put_back(host);
    world_close(&world);
    world_open(&world);
    CHECK_INT(talk->queue.count, 4);
}

static struct asked_permission permission_of(const char *ticket, const char *subagent)
{
    return (struct asked_permission){.ticket = mem_dup(ticket),
                                     .title = mem_dup("may I"),
                                     .kind = mem_dup("execute"),
                                     .details = mem_dup(""),
                                     .tool_id = mem_dup("t"),
                                     .subagent = subagent != NULL ? mem_dup(subagent) : NULL};
}

static void ask(struct host *host, const char *ticket, const char *subagent)
{
    struct asked_permission permission = permission_of(ticket, subagent);

    (void)permission_add(host, &permission);
}

TEST(a_cancel_is_asked_of_the_agent_once)
{
    A_WORLD;

    CHECK(!turn_cancel(host)); /* nothing to do */
    CHECK_CALLS("cancel()");
    int64_t one = queue_text(&world, "one");
    int64_t two = queue_text(&world, "two");
    int64_t three = queue_text(&world, "three");
    turn_run(host);
    str_clear(&world.calls);
    CHECK(turn_cancel_prompt(host, two)); /* one that waits */
    CHECK(!turn_cancel_prompt(host, two));
    CHECK_CALLS("");
    CHECK(talk->turn.on && !talk->turn.cancelled);
    CHECK_STORED(USER, "user done one\nuser interrupted cancelled two\nuser open three\n");
    ask(host, "a", NULL);
    ask(host, "b", "sub");
    int64_t now = time_monotonic_ms();
    CHECK(turn_cancel_prompt(host, one));
    CHECK(talk->turn.on && talk->turn.cancelled);
    CHECK(talk->turn.cancel_until >= now + TURN_CANCEL_MS);
    CHECK_CALLS("refuse(a)refuse(b)cancel()");
    CHECK_INT(talk->permissions.count, 0);
    CHECK(turn_cancel(host));
    CHECK_CALLS("");
    turn_end(host, "cancelled", 0, NULL);
    world.ready = false; /* the agent starts: the first that waits is meant */
    CHECK(turn_cancel(host));
    CHECK_INT(queue_find(talk, three), talk->queue.count);
    CHECK_STORED(USER, "user interrupted cancelled one\nuser interrupted cancelled two\n"
                       "user interrupted cancelled three\n");
}

TEST(its_end_takes_back_what_it_asks_but_not_what_subagents_ask)
{
    A_WORLD;

    (void)queue_text(&world, "one");
    turn_run(host);
    str_clear(&world.calls);
    ask(host, "a", NULL);
    ask(host, "b", "sub");
    ask(host, "c", NULL);
    ask(host, "d", "other");
    turn_end(host, "end_turn", 0, NULL);
    CHECK_CALLS("refuse(c)refuse(a)succeeds()");
    REQUIRE(talk->permissions.count == 2);
    CHECK_STR(talk->permissions.open[0].ticket, "b");
    CHECK_STR(talk->permissions.open[1].ticket, "d");
    str_clear(&world.calls);
    permission_drop_of(host, "third");
    CHECK_CALLS("");
    permission_drop_of(host, "other");
    CHECK_CALLS("refuse(d)");
    CHECK_STR(talk->permissions.open[0].ticket, "b");
}

TEST(a_refusal_of_the_provider_puts_it_back_and_ends_what_is_open)
{
    A_WORLD;
    const struct limit_refusal refusal = {.until_ms = time_epoch_ms() + 3600000, .why = "so much"};
    static const char *const states[] = {"pending", "completed", "in_progress", "failed"};

    (void)queue_text(&world, "one");
    turn_run(host);
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        struct tool_call *tool = said_know_tool(&talk->turn.tools, states[i]);
        free(tool->status);
        tool->status = mem_dup(states[i]);
        free(tool->title);
        tool->title = mem_dup(states[i]);
        said_tell_tool(host, tool, "");
    }
    said_text(host, ROLE_AGENT, "refused", 7);
    turn_refused(host, &refusal);
    CHECK(!talk->turn.on);
    CHECK_INT(talk->queue.count, 1);
    CHECK(limit_is_on(talk));
    CHECK_STORED(USER | 1U << ROLE_TOOL | 1U << ROLE_AGENT,
                 "user open one\ntool interrupted pending\ntool done completed\n"
                 "tool interrupted in_progress\ntool done failed\nagent done refused\n");
    str_clear(&world.calls);
    turn_run(host); /* not before that time */
    CHECK_CALLS("");
    CHECK(!turn_begins_at_once(host));
    /* the next host knows it, too */
    world_close(&world);
    world_open(&world);
    CHECK_INT(talk->queue.count, 1);
    CHECK_INT(talk->limit.prompt, 1);
    CHECK_INT(talk->limit.attempts, 1);
    CHECK_INT(talk->limit.until_ms, refusal.until_ms);
    turn_run(host);
    CHECK_CALLS("");
    CHECK(limit_is_on(talk));
    limit_skip(host); /* a person wants it now */
    turn_run(host);
    CHECK_CALLS("send(one)");
    CHECK(talk->limit.sent);
    /* one that was sent again and cut off is none that is sent again */
    world_close(&world);
    world_open(&world);
    CHECK_INT(talk->limit.prompt, 0);
    CHECK_INT(talk->queue.count, 0);
}
