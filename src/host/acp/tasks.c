/*
 * What the agent has going on beside its turn: subagents, each with a session of its own that the
 * agent has announced, and tasks. The history shows each piece of such work as a tool call.
 */
#include "host/acp/agent_side.h"

#include "host/acp/conversation.h"
#include "host/acp/turn_side.h"
#include "host/talk/permission.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"

enum {
    TASKS_MAX = 64, /* that are known; what rests makes room */
    ID_MAX = 256, /* bytes of an id */
    NAME_WORDS = 120, /* bytes of a name */
    WORDS_MAX = 32 * 1024, /* bytes of what a subagent was told, and of what it has said */
};

static bool is_on(const struct agent_task *task)
{
    return task->state == ACP_TASK_RUNS || task->state == ACP_TASK_UNKNOWN;
}

static void free_task(struct agent_task *task)
{
    said_free_tool(&task->line);
    said_free_tools(&task->tools);
    free(task->id);
    free(task->name);
    str_free(&task->told);
    str_free(&task->said);
    str_free(&task->reply);
}

static struct agent_task *find(const struct agent_tasks *tasks, const char *id, bool subagent)
{
    for (size_t i = 0; id != NULL && i < tasks->count; i++)
        if (tasks->tasks[i].subagent == subagent && strcmp(tasks->tasks[i].id, id) == 0)
            return &tasks->tasks[i];
    return NULL;
}

const struct agent_task *tasks_subagent(const struct host *host, const char *session)
{
    return find(&host->conversation->tasks, session, true);
}

struct tool_table *tasks_tools(const struct host *host, const char *session)
{
    struct agent_task *task = find(&host->conversation->tasks, session, true);

    return task != NULL ? &task->tools : NULL;
}

/* Makes room by forgetting one that rests. */
static bool make_room(struct agent_tasks *tasks)
{
    size_t i = 0;

    if (tasks->count < TASKS_MAX)
        return true;
    while (i < tasks->count && is_on(&tasks->tasks[i]))
        i++;
    if (i == tasks->count)
        return false;
    free_task(&tasks->tasks[i]);
    memmove(&tasks->tasks[i], &tasks->tasks[i + 1], (--tasks->count - i) * sizeof *tasks->tasks);
    return true;
}

/* Returns the one with this id, which may be new; NULL: there are too many. */
static struct agent_task *know(struct agent_tasks *tasks, const char *id, bool subagent)
{
    struct agent_task *task = find(tasks, id, subagent);

    if (task != NULL || strlen(id) > ID_MAX || !make_room(tasks))
        return task;
    tasks->tasks = mem_grow(tasks->tasks, tasks->count + 1, sizeof *tasks->tasks);
    task = &tasks->tasks[tasks->count++];
    *task = (struct agent_task){
        .id = mem_dup(id), .name = mem_dup(""), .subagent = subagent, .state = ACP_TASK_DONE};
    return task;
}

static void set_words(struct str *to, const char *text)
{
    str_free(to);
    str_addn(to, text, str_fit(text, WORDS_MAX));
}

/* ---- its line in the history */

static const char *line_status(enum acp_task state)
{
    return state == ACP_TASK_RUNS      ? "in_progress"
           : state == ACP_TASK_DONE    ? "completed"
           : state == ACP_TASK_UNKNOWN ? "pending"
                                       : "failed";
}

static void replace(char **to, char *text)
{
    free(*to);
    *to = text;
}

static void show(struct host *host, struct agent_task *task)
{
    const char *what = task->subagent ? "subagent" : "task";
    const char *name = task->name[0] != '\0' ? task->name : task->id;

    if (task->line.id == NULL)
        return;
    replace(&task->line.title, mem_printf("%s: %s", what, name));
    replace(&task->line.status, mem_dup(line_status(task->state)));
    replace(&task->line.text, mem_printf("%s%s%s", str_text(&task->told),
                                         task->told.len > 0 && task->said.len > 0 ? "\n\n" : "",
                                         str_text(&task->said)));
    said_close_text(host);
    tool_tell(host, &task->line);
}

/* Begins a line for work that begins. The same subagent may work again later. */
static void begin_line(struct agent_task *task)
{
    said_free_tool(&task->line);
    task->line = (struct tool_call){
        .id = mem_printf("%s#%d", task->id, ++task->runs),
        .title = mem_dup(""),
        .kind = mem_dup("other"),
        .status = mem_dup(""),
        .text = mem_dup(""),
    };
}

/* Ends the tool calls that a subagent has left open. */
static void end_tools(struct host *host, struct agent_task *task)
{
    for (size_t i = 0; i < task->tools.count; i++) {
        struct tool_call *tool = &task->tools.call[i];
        if (said_tool_is_over(tool))
            continue;
        replace(&tool->status, mem_dup("failed"));
        sleep_tool_told(host, tool);
        tool_tell(host, tool);
    }
}

/* Ends work: what it has asked a person is asked no longer. */
static void end_work(struct host *host, struct agent_task *task, enum acp_task state)
{
    task->state = state;
    if (task->subagent)
        permission_drop_of(host, task->id);
    if (state != ACP_TASK_DONE)
        end_tools(host, task);
    said_free_tools(&task->tools);
    show(host, task);
    str_free(&task->told);
    str_free(&task->said);
    str_free(&task->reply);
}

static void enter_state(struct host *host, struct agent_task *task, enum acp_task state)
{
    if (state == ACP_TASK_SAME || state == task->state)
        return;
    if (state == ACP_TASK_RUNS) {
        if (!is_on(task))
            begin_line(task);
        task->state = state;
        show(host, task);
    } else if (state == ACP_TASK_UNKNOWN) {
        if (!is_on(task)) /* nobody has said that it works */
            return;
        task->state = state;
        show(host, task);
    } else if (is_on(task)) {
        end_work(host, task, state);
    }
}

/* ---- what the agent tells */

static void handle_work(struct host *host, const struct acp_update *update, bool live)
{
    bool subagent = update->kind == ACP_SUBAGENT;
    struct agent_task *task = know(&host->conversation->tasks, update->id, subagent);

    if (task == NULL)
        return;
    if (update->title != NULL)
        replace(&task->name, mem_dupn(update->title, str_fit(update->title, NAME_WORDS)));
    if (json_get(update->json, "capabilities") != NULL)
        task->stoppable = update->stoppable;
    if (!live)
        return;
    bool ends = update->task == ACP_TASK_DONE || update->task == ACP_TASK_FAILED ||
                update->task == ACP_TASK_CANCELLED;
    if (update->text != NULL && (!subagent || update->task == ACP_TASK_FAILED))
        set_words(ends ? &task->said : &task->told, update->text);
    enter_state(host, task, update->task);
}

/* Keeps what a subagent is told, or answers. */
static void handle_message(struct host *host, const struct acp_update *update)
{
    struct agent_tasks *tasks = &host->conversation->tasks;
    struct agent_task *from = find(tasks, update->id, true);
    struct agent_task *to = find(tasks, update->title, true);
    struct agent_task *task = from != NULL ? from : to;

    if (task == NULL || update->text == NULL)
        return;
    set_words(task == from ? &task->reply : &task->told, update->text);
    show(host, task);
}

void tasks_handle(struct host *host, const struct acp_update *update, bool live)
{
    if (update->kind != ACP_MESSAGE)
        handle_work(host, update, live);
    else if (live)
        handle_message(host, update);
}

char *tasks_title(const struct host *host, const char *session, const char *title)
{
    const struct agent_task *task = tasks_subagent(host, session);

    if (task == NULL || title == NULL || title[0] == '\0')
        return mem_dup(title);
    return mem_printf("%s: %s", task->name[0] != '\0' ? task->name : "subagent", title);
}

/* Handles what a subagent does in its own session: its tool calls are shown, and what it says last
 * is its answer. */
static void handle_own(struct host *host, struct agent_task *task, const struct acp_update *update)
{
    if (update->kind == ACP_TOOL) {
        struct acp_update told = *update;
        _cleanup_free_ char *title = tasks_title(host, task->id, update->title);

        str_free(&task->said); /* what it says next is another message */
        told.title = title;
        tool_handle(host, task->id, &task->tools, &told);
    } else if (update->kind == ACP_TEXT && task->said.len < WORDS_MAX) {
        str_addn(&task->said, update->text, str_fit(update->text, WORDS_MAX - task->said.len));
    }
}

bool tasks_update(struct host *host, const struct acp_update *update, bool live)
{
    struct agent_task *task = find(&host->conversation->tasks, update->session, true);

    if (task == NULL)
        return false;
    if (update->kind == ACP_SUBAGENT || update->kind == ACP_TASK)
        tasks_handle(host, update, live);
    else if (live)
        handle_own(host, task, update);
    return true;
}

/* ---- what goes on */

bool tasks_go_on(const struct conversation *conversation)
{
    const struct agent_tasks *tasks = &conversation->tasks;

    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->tasks[i].state == ACP_TASK_RUNS)
            return true;
    return false;
}

bool tasks_add_note(const struct conversation *conversation, bool unknown, struct str *to)
{
    const struct agent_tasks *tasks = &conversation->tasks;
    const struct agent_task *first = NULL;
    size_t more = 0;

    for (size_t i = 0; i < tasks->count; i++) {
        const struct agent_task *task = &tasks->tasks[i];
        if (task->state != ACP_TASK_RUNS && (!unknown || task->state != ACP_TASK_UNKNOWN))
            continue;
        if (first == NULL)
            first = task;
        else
            more++;
    }
    if (first == NULL)
        return false;
    str_add(to, first->subagent ? "its subagent '" : "its task '");
    const char *name = first->name[0] != '\0' ? first->name : first->id;
    str_add_visible(to, name, strlen(name));
    str_add(to, "' works");
    if (more > 0)
        str_addf(to, ", and %zu more", more);
    return true;
}

bool tasks_cancel(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_tasks *tasks = &conversation->tasks;
    bool any = false;

    for (size_t i = 0; i < tasks->count; i++) {
        const struct agent_task *task = &tasks->tasks[i];
        if (!task->stoppable || task->state != ACP_TASK_RUNS)
            continue;
        permission_drop_of(host, task->id);
        acp_cancel(conversation->link.acp, task->id);
        any = true;
    }
    return any;
}

void tasks_forget(struct host *host)
{
    struct agent_tasks *tasks = &host->conversation->tasks;

    for (size_t i = 0; i < tasks->count; i++) {
        struct agent_task *task = &tasks->tasks[i];
        if (is_on(task))
            end_work(host, task, ACP_TASK_CANCELLED);
        if (task->subagent)
            work_leave(host, task->id);
        free_task(task);
    }
    free(tasks->tasks);
    tasks->tasks = NULL;
    tasks->count = 0;
}

void tasks_forget_numbers(struct agent_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        struct agent_task *task = &tasks->tasks[i];
        task->line.number = 0;
        for (size_t k = 0; k < task->tools.count; k++)
            task->tools.call[k].number = 0;
    }
}
