/* A talk is made with what the previous host of the agent has left, and ends with its last writes.
 */
#include "host/talk/parts.h"

#include "host/talk/budget.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/sleep.h"
#include "host/talk/turns.h"
#include "host/talk/usage.h"
#include "host/unwritten.h"

static void opened(struct host *host, bool again)
{
    usage_open(host);
    budget_look(host, again); /* else the history has it already */
}

void parts_open(struct host *host)
{
    static const struct memory_hooks hooks = {.read = queue_read, .opened = opened};
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    talk->memory.hooks = &hooks;
    talk->turn.cancel_until = talk->sleep.since = -1;
    sleep_open(host);
    if (memory_need(host, &err) == -1) {
        unwritten_note(host, &err);
        memory_say(host, false, "its conversation cannot be opened: %s", err.text);
    }
    limit_open(host);
    turns_open(host);
}

bool parts_keep_again(struct host *host)
{
    static unwritten_try *const tries[] = {memory_open_again, memory_flush, queue_add_first,
                                           limit_keep_again, sleep_mark_again};
    bool all = true;

    for (size_t i = 0; i < ARRAY_LEN(tries); i++)
        all = tries[i](host) && all;
    return all;
}

void parts_close(struct host *host)
{
    struct talk *talk = host->talk;

    for (size_t i = 0; i < talk->queue.count; i++)
        queue_free_prompt(&talk->queue.prompts[i]);
    free(talk->queue.prompts);
    memory_close(host);
    sleep_free(&talk->sleep);
    limit_free(&talk->limit);
    turns_free(&talk->turns);
    free(talk->told_note);
    host->talk = NULL;
}
