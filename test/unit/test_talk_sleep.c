/* What keeps an agent awake, and when it falls asleep. */
#include "talk.h"

#include "host/talk/said.h"
#include "host/talk/sleep.h"

enum { NOTE = 1U << ROLE_NOTE, AFTER = 10000 };

static struct tool_call *tool_of(struct tool_table *tools, const char *id, const char *status)
{
    struct tool_call *tool = said_know_tool(tools, id);

    free(tool->status);
    tool->status = mem_dup(status);
    free(tool->title);
    tool->title = mem_printf("do %s", id);
    return tool;
}

/* Why it is kept awake; "": it is not. */
static char *awake(struct world *world)
{
    struct str why = STR_INIT;
    bool is = sleep_is_kept_awake(&world->host, &why);
    char *ret = mem_dup(str_text(&why));

    CHECK_INT(is, ret[0] != '\0');
    str_free(&why);
    return ret;
}

#define CHECK_AWAKE(text_)                                                                         \
    do {                                                                                           \
        _cleanup_free_ char *why_ = awake(&world);                                                 \
        CHECK_STR(why_, (text_));                                                                  \
    } while (0)

TEST(whatever_keeps_it_awake_is_said)
{
    A_WORLD;
    struct tool_table tools = {.count = 0};

    CHECK_AWAKE("");
    world.awake = "its own reason";
    CHECK_AWAKE("its own reason");
    (void)queue_text(&world, "x");
    CHECK_AWAKE("prompts wait for it");
    talk->turn.on = true;
    CHECK_AWAKE("it is working");
    talk->permissions.count = 1;
    CHECK_AWAKE("it waits for a permission");
    host->child.phase = CHILD_ENDS;
    CHECK_AWAKE("it is ending");
    host->child.phase = CHILD_NONE;
    CHECK_AWAKE("it does not run");
    host->child.phase = CHILD_RUNS;
    host->leaving = true;
    CHECK_AWAKE("it does not run");
    host->leaving = false;
    talk->permissions.count = 0;
    talk->turn.on = false;
    queue_fail(host, "cancelled", NULL);
    world.awake = NULL;
    CHECK_AWAKE("");
    sleep_tool_told(host, tool_of(&tools, "\033[1m", "pending"));
    CHECK_AWAKE("its tool call 'do \\x1b[1m' has not ended");
    said_free_tools(&tools);
}

TEST(tool_calls_behind_a_turn_keep_it_awake_until_their_ends)
{
    static const char *const ids[] = {"a", "b", "c"};
    static const char *const ends[] = {"completed", "failed"};

    for (size_t first = 0; first < ARRAY_LEN(ids); first++) {
        A_WORLD;
        struct tool_table tools = {.count = 0};
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            for (int again = 0; again < 2; again++)
                sleep_tool_told(host, tool_of(&tools, ids[i], "in_progress"));
        CHECK_INT(talk->sleep.call_count, 3);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
            const char *id = ids[(first + i) % 3];
            sleep_tool_told(host, tool_of(&tools, id, ends[i % 2]));
            sleep_tool_told(host, tool_of(&tools, id, ends[i % 2]));
            CHECK_INT(talk->sleep.call_count, 2 - i);
            for (size_t k = 0; k < talk->sleep.call_count; k++)
                CHECK(strcmp(talk->sleep.calls[k].id, id) != 0);
        }
        CHECK_AWAKE("");
        /* in a turn they belong to it, and count when it ends */
        talk->turn.on = true;
        sleep_tool_told(host, tool_of(&tools, "d", "pending"));
        CHECK_INT(talk->sleep.call_count, 0);
        (void)tool_of(&talk->turn.tools, "e", "completed");
        (void)tool_of(&talk->turn.tools, "f", "pending");
        (void)tool_of(&talk->turn.tools, "g", "failed");
        (void)tool_of(&talk->turn.tools, "h", "cancelled");
        sleep_turn_ended(host);
        talk->turn.on = false;
        REQUIRE(talk->sleep.call_count == 2);
        CHECK_STR(talk->sleep.calls[0].id, "f");
        CHECK_STR(talk->sleep.calls[1].id, "h");
        sleep_session_left(host); /* another session has other ones */
        CHECK_INT(talk->sleep.call_count, 0);
        said_free_tools(&tools);
    }
}

TEST(too_many_tool_calls_keep_it_awake_for_good)
{
    enum { MOST = 64 };
    A_WORLD;
    struct tool_table tools = {.count = 0};
    char id[16];

    for (int i = 0; i <= MOST; i++) {
        CHECK(!talk->sleep.lost);
        (void)snprintf(id, sizeof id, "%d", i);
        sleep_tool_told(host, tool_of(&tools, id, "pending"));
        CHECK_INT(talk->sleep.call_count, i < MOST ? i + 1 : MOST);
    }
    CHECK(talk->sleep.lost);
    for (int i = 0; i <= MOST; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        sleep_tool_told(host, tool_of(&tools, id, "completed"));
    }
    CHECK_INT(talk->sleep.call_count, 0);
    CHECK_AWAKE("tool calls of it have not ended");
    sleep_process_ended(host); /* they ended with it */
    CHECK_AWAKE("");
    said_free_tools(&tools);
}

TEST(it_falls_asleep_after_so_long_at_rest)
{
    A_WORLD;
    struct stat st;

    CHECK_INT(sleep_tick(host, 1000), -1); /* it never does */
    CHECK_INT(talk->sleep.since, 1000);
    host->hibernate_ms = AFTER;
    CHECK_INT(sleep_tick(host, 2000), 1000 + AFTER);
    /* each of these is no rest */
    for (int i = 0; i < 4; i++) {
        world.rests = i != 0;
        talk->turn.on = i == 1;
        talk->permissions.count = i == 2;
        if (i == 3)
            (void)queue_text(&world, "x");
        talk->sleep.since = 1000;
        talk->sleep.again = 99;
        CHECK_INT(sleep_tick(host, 1000 + AFTER), -1);
        CHECK_INT(talk->sleep.since, -1);
        CHECK_INT(talk->sleep.again, 0);
    }
    queue_fail(host, "cancelled", NULL);
    CHECK_INT(sleep_tick(host, 50000), 50000 + AFTER);
    CHECK_INT(sleep_tick(host, 50000 + AFTER - 1), 50000 + AFTER);
    /* it is kept awake: it is tried again, but not all the time */
    world.awake = "a reason";
    CHECK_INT(sleep_tick(host, 50000 + AFTER), 50000 + 2 * AFTER);
    world.awake = NULL;
    CHECK_INT(sleep_tick(host, 50000 + 2 * AFTER - 1), 50000 + 2 * AFTER);
    host->hibernate_ms = 90000;
    world.awake = "a reason";
    CHECK_INT(sleep_tick(host, 150000), 150000 + 60000);
    world.awake = NULL;
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_ASLEEP, &st, 0), -1);
    CHECK_INT(sleep_tick(host, 150000 + 60000), -1);
    CHECK(talk->sleep.marked && host->child.sleeps);
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_ASLEEP, &st, 0), 0);
    CHECK_STORED(NOTE, "note done the agent sleeps; its next prompt or a key press wakes it\n");
}

TEST(the_mark_tells_the_next_host_until_it_wakes)
{
    A_WORLD;
    struct stat st;

    sleep_process_starts(host); /* it did not sleep */
    CHECK(!talk->sleep.woken);
    CHECK_STORED(NOTE, "");
    REQUIRE(place_put(host->run, "w1" WORKSPACE_HOST_ASLEEP, ""));
    world_close(&world);
    world_open(&world);
    CHECK(talk->sleep.marked && host->child.sleeps);
    sleep_process_starts(host);
    CHECK(!talk->sleep.marked && talk->sleep.woken);
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_ASLEEP, &st, 0), -1);
    CHECK_STORED(NOTE, "note done the agent wakes\n");
    world_close(&world);
    world_open(&world);
    CHECK(!talk->sleep.marked && !host->child.sleeps);
    /* one that cannot be written is tried again */
    fd_closep(&host->run);
    talk->sleep.unwritten = true;
    CHECK(!sleep_mark_again(host));
    host->run = path_open_dir(world.dir, WORKSPACE_RUN);
    CHECK(sleep_mark_again(host));
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_ASLEEP, &st, 0), 0);
    REQUIRE(unlinkat(host->run, "w1" WORKSPACE_HOST_ASLEEP, 0) == 0);
    CHECK(sleep_mark_again(host)); /* there is nothing to do */
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_ASLEEP, &st, 0), -1);
}
