/*
 * A turn is stored as begun, with SYNC_FULL, before its prompt is sent: after a kill it counts as
 * cut off, and nothing is asked twice. All turns end in turn_end(), which stores the end and then
 * tells it, except those that turn_put_back() has begin again.
 */

#include "host/talk/turn.h"

#include "base/time.h"
#include "host/talk/budget.h"
#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/permission.h"
#include "host/talk/query.h"
#include "host/talk/queue.h"
#include "host/talk/quota.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"
#include "host/talk/turns.h"
#include "host/talk/usage.h"
#include "host/unwritten.h"
#include "protocol/host.h"

/* ---- what holds it back */

/* Each reason is a row. A row that lets the turn pass may have taken something for it, such as the
 * place of the one that tries first; if a later row holds the turn back, it gives that up again. */
static bool disk_holds(struct host *host)
{
    return host->disk.paused;
}

static bool budget_is_reached(struct host *host)
{
    return host->talk->spending.paused[0] != '\0';
}

static const struct gate {
    bool (*holds)(struct host *host);
    void (*gives_up)(struct host *host); /* NULL: it takes nothing */
    /* For a turn that begins now, whose prompt is the first in the queue, or for one that would. */
    bool begins, would;
} gates[] = {
    {disk_holds, NULL, true, true},
    {unwritten_holds, NULL, true, true},
    {budget_is_reached, NULL, false, true},
    {quota_holds, NULL, true, false},
    {limit_holds, limit_gives_up, true, true},
    {turns_hold, turns_give_up, true, true},
    {budget_holds, NULL, true, false}, /* the last one: it records that the turn begins */
};

/* Stores the next prompt as one that waits, unless it is: another agent has changed what holds
 * since it was to begin at once. */
static void put_off(struct host *host)
{
    struct prompt *next = &host->talk->queue.prompts[0];

    if (!next->begun)
        return;
    next->begun = false;
    memory_update(host, next->number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
}

static void give_up(struct host *host)
{
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        if (gates[i].gives_up != NULL)
            gates[i].gives_up(host);
}

/* Returns true if something holds back the first turn of the queue, which begins at once otherwise.
 * With `begins` false the queue is empty: it is about a prompt that comes now. */
static bool is_held(struct host *host, bool begins)
{
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        if (!(begins ? gates[i].begins : gates[i].would) || !gates[i].holds(host))
            continue;
        give_up(host);
        if (begins)
            put_off(host);
        return true;
    }
    return false;
}

/* Returns true if the agent takes prompts. One that ends takes nothing more: its prompts are for
 * the next process. */
static bool takes_prompts(const struct host *host)
{
    return !host->talk->turn.on && host->talk->ops->is_ready(host);
}

bool turn_begins_at_once(struct host *host)
{
    return takes_prompts(host) && host->talk->queue.count == 0 && !is_held(host, false);
}

/* ---- its beginning */

static void turn_free(struct turn *turn)
{
    queue_free_prompt(&turn->prompt);
    said_free_tools(&turn->tools);
    free(turn->plan_text);
    for (size_t i = 0; i < turn->steered_count; i++)
        queue_free_prompt(&turn->steered[i]);
    free(turn->steered);
    *turn = (struct turn){.cancel_until = -1};
}

/* Stores that the turn of the first prompt begins, before it is sent, so that neither a kill nor a
 * loss of power asks it twice. Returns false if that is not possible now. */
static bool store_begin(struct host *host)
{
    int64_t number = host->talk->queue.prompts[0].number;

    if (host->talk->queue.prompts[0].begun)
        return true;
    memory_update(host, number, NULL, 0, NULL, MESSAGE_DONE, SYNC_FULL);
    if (!unwritten_holds(host))
        return true;
    memory_update(host, number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    return false;
}

/* Begins the turn of the prompt at this index, which is in the store as begun. */
static void begin_stored(struct host *host, size_t index)
{
    struct talk *talk = host->talk;
    struct turn *turn = &talk->turn;

    turn_free(turn);
    turn->on = true;
    turn->prompt = queue_remove(talk, index);
    limit_turn_begins(host);
    if (!turn->prompt.told)
        event_tell_prompt(host, &turn->prompt, false);
    sleep_turn_begins(host);
}

static void begin_turn(struct host *host)
{
    said_close_text(host); /* what the agent said by itself */
    if (!store_begin(host))
        return;
    if (host->talk->ops->give != NULL) {
        host->talk->ops->give(host);
        return;
    }
    begin_stored(host, 0);
    host->talk->ops->send(host);
}

void turn_begin_told(struct host *host, size_t index)
{
    const struct prompt *prompt = &host->talk->queue.prompts[index];
    int64_t number = prompt->number;

    said_close_text(host);
    if (!prompt->begun) /* others wait before it */
        memory_update(host, number, NULL, 0, NULL, MESSAGE_DONE, SYNC_FULL);
    begin_stored(host, index);
    (void)usage_begin(host, number, &(struct usage_turns){.team = 0});
    if (host->talk->turn.prompt.unwanted)
        (void)turn_cancel(host);
}

void turn_run(struct host *host)
{
    struct talk *talk = host->talk;

    while (takes_prompts(host) && talk->queue.count > 0) {
        const struct prompt *next = &talk->queue.prompts[0];
        struct err err = ERR_INIT;
        if (next->steer != 0)
            return; /* the agent may have taken it already */
        if (!queue_is_elsewhere(talk, next)) {
            if (!is_held(host, true))
                begin_turn(host);
            return;
        }
        if (query_enter(host, next->conversation, &err) == 0)
            continue; /* the host gets a session for it first */
        struct prompt prompt = queue_remove(talk, 0);
        queue_drop(host, &prompt, false, HOST_END_FAILED, err.text);
    }
}

/* The agent has taken a prompt: it belongs to the turn. */
void turn_take(struct host *host, size_t index)
{
    struct talk *talk = host->talk;
    struct turn *turn = &talk->turn;
    struct prompt prompt = queue_remove(talk, index);

    prompt.steer = 0;
    event_tell_prompt(host, &prompt, true);
    queue_tell_outcome(host, prompt.number, "steered", NULL);
    if (!turn->on) { /* it has just ended, and the agent's words came after its end */
        queue_drop(host, &prompt, false, "end_turn", NULL);
        return;
    }
    turn->heard = true;
    memory_join_turn(host, prompt.number, turn->prompt.number);
    turn->steered = mem_room(turn->steered, turn->steered_count, sizeof *turn->steered);
    turn->steered[turn->steered_count++] = prompt;
}

/* ---- its end */

static void put_back_steered(struct host *host)
{
    struct turn *turn = &host->talk->turn;

    while (turn->steered_count > 0) {
        struct prompt prompt = turn->steered[--turn->steered_count];
        prompt.told = true;
        queue_push_first(host, &prompt);
        memory_join_turn(host, prompt.number, 0);
        memory_update(host, prompt.number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    }
}

void turn_put_back(struct host *host)
{
    struct turn *turn = &host->talk->turn;

    permission_drop_of(host, NULL);
    put_back_steered(host);
    turn->prompt.begun = false;
    turn->prompt.told = true;
    queue_push_first(host, &turn->prompt);
    /* it waits again, also for the next host */
    memory_update(host, turn->prompt.number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    turn->prompt = (struct prompt){.number = 0};
    turn_free(turn);
    turns_ended(host);
}

void turn_refused(struct host *host, const struct limit_refusal *told)
{
    struct turn *turn = &host->talk->turn;

    limit_refused(host, told); /* durable before anybody is told */
    said_close_text(host);
    for (size_t i = 0; i < turn->tools.count; i++)
        if (!said_tool_is_over(&turn->tools.call[i]) && turn->tools.call[i].number != 0)
            memory_update(host, turn->tools.call[i].number, NULL, 0, NULL, MESSAGE_INTERRUPTED,
                          SYNC_CHUNK);
    usage_end(host, turn->prompt.number);
    turn_put_back(host);
    limit_tell(host, told);
}

static enum turn_outcome outcome_of(const char *stop_reason)
{
    return strcmp(stop_reason, HOST_END_FAILED) == 0    ? TURN_FAILED
           : strcmp(stop_reason, HOST_END_STOPPED) == 0 ? TURN_STOPPED
                                                        : TURN_DONE;
}

/* Notes that the agent knows the history, because the turn has ended well. */
static void note_success(struct host *host)
{
    struct talk *talk = host->talk;

    talk->memory.place.injected = true;
    talk->memory.place.is_new = false;
    host->child.delivered = true;
}

static void end_steered(struct host *host, const char *stop_reason)
{
    struct turn *turn = &host->talk->turn;

    for (size_t i = 0; i < turn->steered_count; i++)
        queue_drop(host, &turn->steered[i], false, stop_reason, NULL);
    turn->steered_count = 0;
}

void turn_end(struct host *host, const char *stop_reason, int64_t code, const char *error)
{
    struct turn *turn = &host->talk->turn;
    bool succeeded = memory_end_state(stop_reason) == MESSAGE_DONE;

    if (!turn->on)
        return;
    permission_drop_of(host, NULL); /* its subagents may work on */
    if (succeeded)
        host->talk->ops->succeeds(host);
    usage_end(host, turn->prompt.number);
    memory_end_prompt(host, turn->prompt.number, stop_reason, error);
    limit_turn_ended(host, succeeded);
    turns_ended(host);
    if (succeeded) {
        note_success(host);
        sleep_turn_ended(host);
    }
    host_log_message(host, turn->prompt.from, turn->prompt.len, stop_reason);
    attention_turn_ended(host, outcome_of(stop_reason), error);
    event_tell_end(host, turn->prompt.number, stop_reason, code, error);
    end_steered(host, stop_reason);
    turn_free(turn);
    budget_turn_ended(host);
}

/* ---- cancel */

bool turn_cancel(struct host *host)
{
    struct talk *talk = host->talk;
    struct turn *turn = &talk->turn;

    if (!turn->on && talk->queue.count > 0) /* the agent starts, and no turn has begun */
        return turn_cancel_prompt(host, talk->queue.prompts[0].number);
    if (!turn->on)
        return talk->ops->cancel(host);
    if (turn->cancelled)
        return true;
    turn->cancelled = true;
    turn->cancel_until = time_monotonic_ms() + TURN_CANCEL_MS;
    permission_drop_all(host);
    return talk->ops->cancel(host);
}

bool turn_cancel_prompt(struct host *host, int64_t number)
{
    struct talk *talk = host->talk;

    if (talk->turn.on && talk->turn.prompt.number == number)
        return turn_cancel(host);
    size_t index = queue_find(talk, number);
    if (index == talk->queue.count)
        return false;
    if (talk->queue.prompts[index].given && !talk->ops->take_back(host, number)) {
        talk->queue.prompts[index].unwanted = true;
        return true;
    }
    struct prompt prompt = queue_remove(talk, index);
    queue_drop(host, &prompt, false, "cancelled", NULL);
    return true;
}
