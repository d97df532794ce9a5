/* What an ACP agent has going on beside its turn: host/acp/tasks.c. */
#include "talk.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"

static const struct acp_ops acp_ops = {.answer = NULL};

static void begin(struct world *world)
{
    world->conversation.link.acp = acp_new(&acp_ops, &world->host);
    world->conversation.link.phase.now = PHASE_READY;
    world->conversation.link.cwd = mem_dup("/work");
}

static void end(struct world *world)
{
    tasks_forget(&world->host);
    acp_free(world->conversation.link.acp);
    free(world->conversation.link.cwd);
}

static void update(struct world *world, const struct acp_update *update)
{
    tasks_handle(&world->host, update, true);
}

static void work(struct world *world, enum acp_update_kind kind, const char *id, const char *name,
                 enum acp_task task)
{
    update(world, &(struct acp_update){.kind = kind, .id = id, .title = name, .task = task});
}

static void add_permission(struct host *host, const char *ticket, const char *subagent)
{
    struct asked_permission permission = {.ticket = mem_dup(ticket),
                                          .title = mem_dup("May I?"),
                                          .kind = mem_dup("execute"),
                                          .details = mem_dup(""),
                                          .tool_id = mem_dup("t"),
                                          .subagent = mem_dup(subagent)};

    (void)permission_add(host, &permission);
}

/* The tickets of the permissions that are asked. */
static void has_asked(const struct world *world, const char *want)
{
    _cleanup_str_ struct str to = STR_INIT;

    for (size_t i = 0; i < world->talk.permissions.count; i++)
        str_add(&to, world->talk.permissions.open[i].ticket);
    CHECK_STR(str_text(&to), want);
}

/* What goes on, with and without what the agent does not know. */
static void goes_on(const struct world *world, const char *sure, const char *with_unknown)
{
    _cleanup_str_ struct str to = STR_INIT;

    CHECK_INT(tasks_add_note(&world->conversation, false, &to), sure[0] != '\0');
    CHECK_STR(str_text(&to), sure);
    CHECK_INT(tasks_go_on(&world->conversation), sure[0] != '\0');
    str_clear(&to);
    CHECK_INT(tasks_add_note(&world->conversation, true, &to), with_unknown[0] != '\0');
    CHECK_STR(str_text(&to), with_unknown);
}

TEST(work_goes_on_until_it_is_told_to_be_over)
{
    static const enum acp_task ends[] = {ACP_TASK_DONE, ACP_TASK_FAILED, ACP_TASK_CANCELLED};
    A_WORLD;

    begin(&world);
    goes_on(&world, "", "");
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_SAME); /* announced: it rests */
        goes_on(&world, "", "");
        work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_UNKNOWN); /* nor does it work now */
        goes_on(&world, "", "");
        work(&world, ACP_SUBAGENT, "s1", "", ACP_TASK_RUNS);
        goes_on(&world, "its subagent 's1' works", "its subagent 's1' works");
        work(&world, ACP_TASK, "t1", "build", ACP_TASK_RUNS);
        work(&world, ACP_TASK, "t2", "test", ACP_TASK_RUNS);
        goes_on(&world, "its subagent 's1' works, and 2 more",
                "its subagent 's1' works, and 2 more");
        work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_UNKNOWN);
        goes_on(&world, "its task 'build' works, and 1 more",
                "its subagent 's1' works, and 2 more");
        work(&world, ACP_TASK, "t1", NULL, ends[i]);
        work(&world, ACP_TASK, "t2", NULL, ends[i]);
        goes_on(&world, "", "its subagent 's1' works");
        work(&world, ACP_SUBAGENT, "s1", NULL, ends[i]);
        goes_on(&world, "", "");
    }
    end(&world);
}

/* What a subagent has asked is asked no longer once it has ended, or is to end; that of others is.
 */
TEST(questions_end_with_the_subagent)
{
    A_WORLD;

    for (int cancels = 0; cancels < 2; cancels++) {
        begin(&world);
        static const char *const ids[] = {"s1", "s2", "s3"};
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            work(&world, ACP_SUBAGENT, ids[i], NULL, ACP_TASK_RUNS);
        world.conversation.tasks.tasks[1].stoppable = true;
        add_permission(host, "a", NULL);
        add_permission(host, "b", "s1");
        add_permission(host, "c", "s2");
        add_permission(host, "d", "s2");
        add_permission(host, "e", "s3");
        if (cancels == 1)
            CHECK(tasks_cancel(host)); /* only what can be stopped is */
        else
            work(&world, ACP_SUBAGENT, "s2", NULL, ACP_TASK_DONE);
        has_asked(&world, "abe");
        world.conversation.tasks.tasks[1].state = ACP_TASK_DONE;
        CHECK(!tasks_cancel(host)); /* what can be stopped rests */
        has_asked(&world, "abe");
        work(&world, ACP_TASK, "s1", NULL, ACP_TASK_RUNS); /* a task with the id of a subagent */
        work(&world, ACP_TASK, "s1", NULL, ACP_TASK_DONE);
        has_asked(&world, "abe");
        end(&world);
        has_asked(&world, "a");
        permission_drop_all(host);
    }
}

TEST(its_line_tells_what_it_is_to_do_and_says)
{
    A_WORLD;

    begin(&world);
    CHECK(tasks_subagent(host, "s1") == NULL && tasks_subagent(host, NULL) == NULL);
    CHECK(tasks_tools(host, "s1") == NULL);
    work(&world, ACP_SUBAGENT, "s1", "Finder", ACP_TASK_SAME);
    CHECK_TOLD("");
    CHECK(tasks_subagent(host, "s1") != NULL && tasks_tools(host, "s1") != NULL);
    work(&world, ACP_TASK, "t1", "Finder", ACP_TASK_SAME);
    CHECK(tasks_subagent(host, "t1") == NULL && tasks_tools(host, "t1") == NULL);
    update(&world,
           &(struct acp_update){.kind = ACP_MESSAGE, .id = "x", .title = "s1", .text = "find it"});
    work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_RUNS);
    struct agent_task *task = &world.conversation.tasks.tasks[0];
    CHECK_STR(task->line.id, "s1#1");
    CHECK_STR(task->line.title, "subagent: Finder");
    CHECK_STR(task->line.status, "in_progress");
    CHECK_STR(task->line.text, "find it");
    CHECK(tasks_update(
        host, &(struct acp_update){.kind = ACP_TEXT, .session = "s1", .text = "here "}, true));
    CHECK(tasks_update(
        host, &(struct acp_update){.kind = ACP_TEXT, .session = "s1", .text = "it is"}, true));
    CHECK(tasks_update(host, &(struct acp_update){.kind = ACP_TEXT, .session = "s1", .text = "!"},
                       false));
    CHECK(!tasks_update(host, &(struct acp_update){.kind = ACP_TEXT, .session = "s2", .text = "!"},
                        true));
    CHECK_STR(str_text(&task->said), "here it is");
    update(&world, &(struct acp_update){
                       .kind = ACP_MESSAGE, .id = "s1", .title = "x", .text = "an answer"});
    CHECK_STR(str_text(&task->reply), "an answer");
    CHECK_STR(task->line.text, "find it\n\nhere it is");
    tasks_handle(
        host, &(struct acp_update){.kind = ACP_SUBAGENT, .id = "s1", .task = ACP_TASK_DONE}, false);
    CHECK_INT(task->state, ACP_TASK_RUNS); /* told of earlier times */
    work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_FAILED);
    CHECK_STR(task->line.status, "failed");
    work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_RUNS); /* it works again */
    CHECK_STR(task->line.id, "s1#2");
    CHECK_STR(task->line.text, "");
    work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_UNKNOWN);
    CHECK_STR(task->line.status, "pending");
    work(&world, ACP_SUBAGENT, "s1", NULL, ACP_TASK_DONE);
    CHECK_STR(task->line.status, "completed");
    _cleanup_free_ char *title = tasks_title(host, "s1", "Read");
    _cleanup_free_ char *plain = tasks_title(host, "s2", "Read");
    _cleanup_free_ char *empty = tasks_title(host, "s1", "");
    CHECK_STR(title, "Finder: Read");
    CHECK_STR(plain, "Read");
    CHECK_STR(empty, "");
    update(&world, &(struct acp_update){
                       .kind = ACP_TASK, .id = "t1", .task = ACP_TASK_RUNS, .text = "make"});
    update(&world, &(struct acp_update){
                       .kind = ACP_TASK, .id = "t1", .task = ACP_TASK_DONE, .text = "made"});
    task = &world.conversation.tasks.tasks[1];
    CHECK_STR(task->line.text, "make\n\nmade");
    CHECK_STR(task->line.title, "task: Finder");
    end(&world);
}

/* Tool calls that a subagent has left open have failed with it, unless it is done. */
TEST(its_tools_end_with_it)
{
    static const struct {
        enum acp_task task;
        const char *status;
    } ends[] = {{ACP_TASK_FAILED, "failed"}, {ACP_TASK_CANCELLED, "failed"}};
    A_WORLD;

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        begin(&world);
        work(&world, ACP_SUBAGENT, "s1", "F", ACP_TASK_RUNS);
        static const char *const states[] = {"in_progress", "completed", "pending"};
        for (size_t k = 0; k < ARRAY_LEN(states); k++) {
            const char id[] = {(char)('a' + k), '\0'};
            CHECK(tasks_update(host,
                               &(struct acp_update){.kind = ACP_TOOL,
                                                    .session = "s1",
                                                    .id = id,
                                                    .title = "Read",
                                                    .tool_kind = "read",
                                                    .status = states[k]},
                               true));
        }
        CHECK_INT(tasks_tools(host, "s1")->count, 3);
        tasks_forget_numbers(&world.conversation.tasks);
        for (size_t k = 0; k < 3; k++)
            CHECK_INT(tasks_tools(host, "s1")->call[k].number, 0);
        free(told(&world, 0));
        work(&world, ACP_SUBAGENT, "s1", NULL, ends[i].task);
        _cleanup_free_ char *said = told(&world, 0);
        size_t failed = 0;
        for (const char *at = said; (at = strstr(at, "\"failed\"")) != NULL; at++)
            failed++;
        CHECK_INT(failed, 3); /* two tools, and its line */
        CHECK_INT(tasks_tools(host, "s1")->count, 0);
        end(&world);
    }
}

TEST(only_so_many_are_known)
{
    enum { MOST = 64, ID_LONGEST = 256, NAME_LONGEST = 120 };
    _cleanup_free_ char *id = mem_printf("%0*d", ID_LONGEST + 1, 0);
    _cleanup_free_ char *name = mem_printf("%0*d", NAME_LONGEST + 1, 0);
    A_WORLD;

    begin(&world);
    struct agent_tasks *tasks = &world.conversation.tasks;
    work(&world, ACP_TASK, id, NULL, ACP_TASK_RUNS);
    CHECK_INT(tasks->count, 0);
    id[ID_LONGEST] = '\0';
    work(&world, ACP_TASK, id, name, ACP_TASK_DONE);
    REQUIRE(tasks->count == 1);
    CHECK_INT(strlen(tasks->tasks[0].name), NAME_LONGEST);
    for (int i = 1; i < MOST; i++) {
        char word[16];
        (void)snprintf(word, sizeof word, "t%d", i);
        work(&world, ACP_TASK, word, NULL, i == 20 || i == 30 ? ACP_TASK_DONE : ACP_TASK_RUNS);
        CHECK_INT(tasks->count, i + 1);
    }
    work(&world, ACP_TASK, "u1", NULL, ACP_TASK_RUNS); /* what rests makes room, the oldest first */
    CHECK_STR(tasks->tasks[0].id, "t1");
    work(&world, ACP_TASK, "u2", NULL, ACP_TASK_RUNS);
    CHECK_STR(tasks->tasks[19].id, "t21");
    work(&world, ACP_TASK, "u3", NULL, ACP_TASK_RUNS);
    CHECK_STR(tasks->tasks[28].id, "t31");
    CHECK_INT(tasks->count, MOST);
    work(&world, ACP_TASK, "u4", NULL, ACP_TASK_RUNS); /* there is none that rests */
    CHECK_STR(tasks->tasks[MOST - 1].id, "u3");
    CHECK_INT(tasks->count, MOST);
    end(&world);
}
