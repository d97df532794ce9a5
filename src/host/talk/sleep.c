/*
 * An agent that is idle for long enough is ended if none of obstacles[] keeps it awake, and is
 * started again with its next prompt. What goes on behind a turn can only be guessed: tool calls
 * that have no end, and processes that have come after the first turn of the session. The mark in
 * run/ is written before the end and removed at a start, so that the next host knows, too.
 */

#include "host/talk/sleep.h"

#include "host/talk/memory.h"
#include "host/talk/said.h"
#include "host/unwritten.h"
#include "os/file.h"
#include "store/workspace.h"

#include <malloc.h>

enum {
    CALLS_MAX = 64, /* tool calls that are kept */
    TITLE_SHOWN = 60, /* bytes of the title of one */
    AGAIN_MS = 60000, /* between two attempts to put an agent to sleep that is kept awake */
};

/* ---- the mark */

static char *mark_name(const struct host *host)
{
    return mem_printf("%s" WORKSPACE_HOST_ASLEEP, host->agent->id);
}

void sleep_open(struct host *host)
{
    _cleanup_free_ char *name = mark_name(host);

    host->talk->sleep.marked = faccessat(host->run, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    host->child.sleeps = host->talk->sleep.marked;
}

void sleep_forget(const struct host *host)
{
    _cleanup_free_ char *name = mark_name(host);

    (void)unlinkat(host->run, name, 0); /* left, it keeps the next host's agent asleep */
}

static void drop_calls(struct agent_sleep *sleep)
{
    for (size_t i = 0; i < sleep->call_count; i++) {
        free(sleep->calls[i].id);
        free(sleep->calls[i].title);
    }
    free(sleep->calls);
    sleep->calls = NULL;
    sleep->call_count = 0;
    sleep->lost = false;
}

void sleep_free(struct agent_sleep *sleep)
{
    drop_calls(sleep);
    free(sleep->own);
    free(sleep->strange);
    sleep->own = sleep->strange = NULL;
    sleep->own_count = sleep->strange_count = 0;
    sleep->knows_own = false;
}

/* ---- its processes */

static bool is_in(const struct proc_id *ids, size_t count, const struct proc_id *id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i].pid == id->pid && ids[i].start == id->start)
            return true;
    return false;
}

/* Returns true for `mas mcp`, which serves the team's tools and does nothing by itself. */
static bool is_tools(pid_t pid)
{
    _cleanup_free_ char *verb = proc_argument(pid, 1);

    return verb != NULL && strcmp(verb, "mcp") == 0 && proc_runs_same_program(pid);
}

/* Lists the agent's processes except those in `but`. */
static size_t list_others(const struct host *host, const struct proc_id *but, size_t but_count,
                          struct proc_id **ret)
{
    size_t kept = 0;
    size_t count = proc_descendants_of(host->child.supervisor.pid, ret);

    for (size_t i = 0; i < count; i++)
        if ((*ret)[i].pid != host->child.pid && !is_in(but, but_count, &(*ret)[i]))
            (*ret)[kept++] = (*ret)[i];
    return kept;
}

void sleep_turn_begins(struct host *host)
{
    struct agent_sleep *sleep = &host->talk->sleep;

    if (sleep->knows_own)
        return;
    free(sleep->own);
    sleep->own_count = list_others(host, sleep->strange, sleep->strange_count, &sleep->own);
    sleep->knows_own = true;
}

void sleep_session_left(struct host *host)
{
    struct agent_sleep *sleep = &host->talk->sleep;

    drop_calls(sleep);
    if (!sleep->knows_own)
        return;
    free(sleep->strange);
    sleep->strange_count = list_others(host, sleep->own, sleep->own_count, &sleep->strange);
    sleep->knows_own = false;
}

/* Finds a process of the agent that may be at work. */
static bool find_process(const struct host *host, struct str *why)
{
    const struct agent_sleep *sleep = &host->talk->sleep;
    struct proc_id *ids = NULL;
    char name[PROC_NAME_TEXT];
    /* before the first turn of a session all are its own, but those from the session before */
    size_t count = sleep->knows_own ? list_others(host, sleep->own, sleep->own_count, &ids) : 0;
    size_t i = 0;

    while (i < count && is_tools(ids[i].pid))
        i++;
    if (i < count)
        str_addf(why, "process %ld (%s) of it runs, which it has started in a turn",
                 (long)ids[i].pid, proc_name(ids[i].pid, name));
    free(ids);
    for (size_t k = 0; i == count && !sleep->knows_own && k < sleep->strange_count; k++) {
        const struct proc_id *id = &sleep->strange[k];
        if (!proc_is_alive(id) || is_tools(id->pid))
            continue;
        str_addf(why, "process %ld (%s) of it runs, which it has started in a turn", (long)id->pid,
                 proc_name(id->pid, name));
        return true;
    }
    return i < count;
}

/* ---- its tool calls */

static void keep_call(struct agent_sleep *sleep, const struct tool_call *tool)
{
    for (size_t i = 0; i < sleep->call_count; i++)
        if (strcmp(sleep->calls[i].id, tool->id) == 0)
            return;
    if (sleep->call_count >= CALLS_MAX) {
        sleep->lost = true;
        return;
    }
    sleep->calls = mem_grow(sleep->calls, sleep->call_count + 1, sizeof *sleep->calls);
    sleep->calls[sleep->call_count++] = (struct open_call){
        .id = mem_dup(tool->id), .title = mem_dupn(tool->title, str_fit(tool->title, TITLE_SHOWN))};
}

void sleep_tool_told(struct host *host, const struct tool_call *tool)
{
    struct agent_sleep *sleep = &host->talk->sleep;

    if (!said_tool_is_over(tool)) {
        if (!host->talk->turn.on)
            keep_call(sleep, tool);
        return;
    }
    for (size_t i = 0; i < sleep->call_count; i++) {
        if (strcmp(sleep->calls[i].id, tool->id) != 0)
            continue;
        free(sleep->calls[i].id);
        free(sleep->calls[i].title);
        sleep->calls[i] = sleep->calls[--sleep->call_count];
        return;
    }
}

/* A tool call that a turn leaves open is a task in the background, as far as anybody can tell. */
void sleep_turn_ended(struct host *host)
{
    struct talk *talk = host->talk;

    for (size_t i = 0; i < talk->turn.tools.count; i++)
        if (!said_tool_is_over(&talk->turn.tools.call[i]))
            keep_call(&talk->sleep, &talk->turn.tools.call[i]);
}

static bool find_call(const struct host *host, struct str *why)
{
    const struct agent_sleep *sleep = &host->talk->sleep;

    if (sleep->lost)
        str_add(why, "tool calls of it have not ended");
    else if (sleep->call_count > 0) {
        str_add(why, "its tool call '");
        str_add_visible(why, sleep->calls[0].title, strlen(sleep->calls[0].title));
        str_add(why, "' has not ended");
    }
    return sleep->lost || sleep->call_count > 0;
}

/* ---- what keeps it awake */

static bool does_not_run(const struct host *host, struct str *why)
{
    if (host->child.phase == CHILD_RUNS && !host->leaving)
        return false;
    str_add(why, host->child.phase == CHILD_ENDS ? "it is ending" : "it does not run");
    return true;
}

static bool has_permission(const struct host *host, struct str *why)
{
    if (host->talk->permissions.count == 0)
        return false;
    str_add(why, "it waits for a permission");
    return true;
}

static bool is_working(const struct host *host, struct str *why)
{
    if (!host->talk->turn.on)
        return false;
    str_add(why, "it is working");
    return true;
}

static bool has_queue(const struct host *host, struct str *why)
{
    if (host->talk->queue.count == 0)
        return false;
    str_add(why, "prompts wait for it");
    return true;
}

/* What only this kind of agent has. */
static bool has_own(const struct host *host, struct str *why)
{
    return host->talk->ops->is_kept_awake(host, why);
}

bool sleep_is_kept_awake(struct host *host, struct str *why)
{
    static bool (*const obstacles[])(const struct host *host, struct str *why) = {
        does_not_run, has_permission, is_working, has_queue, has_own, find_call, find_process,
    };

    for (size_t i = 0; i < ARRAY_LEN(obstacles); i++)
        if (obstacles[i](host, why))
            return true;
    return false;
}

/* ---- asleep and awake */

static void mark(struct host *host)
{
    struct agent_sleep *sleep = &host->talk->sleep;
    _cleanup_free_ char *name = mark_name(host);
    struct err err = ERR_INIT;

    sleep->unwritten = file_replace(host->run, name, "", 0, 0600, &err) == -1;
    if (sleep->unwritten)
        unwritten_note(host, &err);
}

bool sleep_mark_again(struct host *host)
{
    if (host->talk->sleep.unwritten)
        mark(host);
    return !host->talk->sleep.unwritten;
}

void sleep_begin(struct host *host)
{
    /* marked first: a kill after this leaves an agent that is asleep, however far its end came */
    mark(host);
    host->talk->sleep.marked = true;
    host_log(host, "asleep");
    memory_say(host, true, "%s", SLEEP_WORDS);
    child_sleep(host);
}

void sleep_process_starts(struct host *host)
{
    struct agent_sleep *sleep = &host->talk->sleep;

    if (!sleep->marked)
        return;
    sleep->marked = false;
    sleep->woken = true;
    sleep->unwritten = false;
    sleep_forget(host);
    host_log(host, "awake");
    memory_say(host, true, "the agent wakes");
}

void sleep_process_ended(struct host *host)
{
    struct agent_sleep *sleep = &host->talk->sleep;

    sleep_free(sleep);
    sleep->since = -1;
    sleep->again = 0;
    if (sleep->marked)
        (void)malloc_trim(0); /* it may sleep for days */
}

void sleep_keys(struct host *host)
{
    host->talk->sleep.since = -1;
}

int64_t sleep_tick(struct host *host, int64_t now)
{
    const struct talk *talk = host->talk;
    struct agent_sleep *sleep = &host->talk->sleep;
    _cleanup_str_ struct str why = STR_INIT;

    if (talk->turn.on || talk->queue.count > 0 || talk->permissions.count > 0 ||
        !talk->ops->is_at_rest(host)) {
        sleep->since = -1;
        sleep->again = 0;
        return -1;
    }
    if (sleep->since == -1)
        sleep->since = now;
    if (host->hibernate_ms == 0)
        return -1;
    int64_t due = sleep->since + host->hibernate_ms;
    if (due < sleep->again)
        due = sleep->again;
    if (now < due)
        return due;
    if (!sleep_is_kept_awake(host, &why)) {
        sleep_begin(host);
        return -1;
    }
    sleep->again = now + (host->hibernate_ms < AGAIN_MS ? host->hibernate_ms : AGAIN_MS);
    return sleep->again;
}
