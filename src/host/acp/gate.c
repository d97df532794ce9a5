/*
 * What may hold back the next turn: the one place that decides whether a prompt goes to the agent
 * now. Each reason is a row. A row that lets the turn pass may have taken something for it, such as
 * the place of the one that tries first; if a later row holds the turn back, it gives that up
 * again.
 */
#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"

static bool is_stopped(struct host *host)
{
    return host->disk.paused;
}

static bool is_paused(struct host *host)
{
    return host->conversation->spending.paused[0] != '\0';
}

static const struct gate {
    bool (*holds)(struct host *host);
    void (*gives_up)(struct host *host); /* NULL: it takes nothing */
    /* For a turn that begins now, whose prompt is the first in the queue, or for one that would. */
    bool begins, would;
} gates[] = {
    {is_stopped, NULL, true, true},
    {unwritten_holds, NULL, true, true},
    {is_paused, NULL, false, true},
    {limit_holds, limit_gives_up, true, true},
    {turns_hold, turns_give_up, true, true},
    {budget_holds, NULL, true, false}, /* the last one: it records that the turn begins */
};

/* Stores the next prompt as one that waits, unless it is: another agent has changed what holds
 * since it was to begin at once. */
static void put_off(struct host *host)
{
    struct prompt *next = &host->conversation->queue.prompts[0];

    if (!next->begun)
        return;
    next->begun = false;
    memory_update(host, next->number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
}

bool gate_holds(struct host *host, bool begins)
{
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        if (!(begins ? gates[i].begins : gates[i].would) || !gates[i].holds(host))
            continue;
        gate_give_up(host);
        if (begins)
            put_off(host);
        return true;
    }
    return false;
}

void gate_give_up(struct host *host)
{
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        if (gates[i].gives_up != NULL)
            gates[i].gives_up(host);
}
