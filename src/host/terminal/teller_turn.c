/*
 * A prompt of the queue is stored as begun, then typed, and its turn begins when the program tells
 * of a turn with this text. Until it is told it stays the first of the queue, as `given`. An end of
 * the program before its Enter lets it wait again; a kill of the host leaves it as cut off, as
 * nobody knows whether the program has it.
 *
 * A prompt, or a message, that is cancelled when it was typed, and before its turn is told, is
 * stopped when that begins. Until then nothing else is typed.
 *
 * A clear is over for mas at once. The program follows: by the line that its preset has for that,
 * else by a start anew; and what it still tells of its old session is not heard.
 */

#include "base/time.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "host/talk/turns.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "protocol/host.h"

enum {
    GIVEN_MS = 15000, /* so long behind its Enter a prompt is waited for, while the program rests */
    CLEAR_MS = 15000, /* likewise for a new session; and before that for a program that rests */
    STOP_AGAIN_MS = 2000, /* so long after them they are pressed again, while it works on */
    AGAIN_MS = 5000, /* so long behind its Enter it is pressed again, if no turn is told */
    STOPPED_MS = 1000, /* so long after the keys that stop a turn its screen is believed */
};

static struct prompt *given(const struct host *host)
{
    const struct prompt_queue *queue = &host->talk->queue;

    return queue->count > 0 && queue->prompts[0].given ? &queue->prompts[0] : NULL;
}

bool teller_gives(const struct host *host)
{
    return given(host) != NULL;
}

/* Returns true if nothing is typed now, and keys would go to the program's line. */
static bool takes_keys(const struct host *host)
{
    const struct terminal *terminal = host->terminal;

    return host->child.phase == CHILD_RUNS && terminal->watcher.ready && !host->disk.paused &&
           terminal->delivery.count == 0 && !terminal->early.on &&
           pane_is_empty(&host->pane.keys) && press_is_over(host) &&
           !watcher_asks(&terminal->watcher);
}

/* Returns true if something can be typed now, with its Enter. */
static bool is_free(const struct host *host)
{
    return takes_keys(host) && host->terminal->aside.len == 0 &&
           host->backend->state(host) == AGENT_IDLE;
}

bool teller_is_ready(const struct host *host)
{
    return !host->terminal->teller->clears && !host->talk->turn.on && is_free(host) &&
           line_held(host, time_monotonic_ms()) == 0;
}

bool teller_holds(const struct host *host)
{
    return host->terminal->teller != NULL && host->talk->queue.count > 0 && !host->talk->turn.on &&
           !teller_gives(host) && is_free(host) && line_held(host, time_monotonic_ms()) != 0;
}

/* Types a text of which the delivery keeps nothing on disk. */
static void type(struct host *host, const struct prompt *prompt)
{
    struct delivery *delivery = &host->terminal->delivery;
    const struct store_input input = {
        .text = prompt->text,
        .len = prompt->len,
        .data = prompt->data,
        .enter = true,
        .sender = strcmp(prompt->from, "-") != 0 ? prompt->from : NULL,
    };

    if (!delivery_add(host, &input))
        return;
    delivery->queue[delivery->count - 1].prompt = prompt->number;
    (void)delivery_run(host, time_monotonic_ms());
}

void teller_give(struct host *host)
{
    struct prompt *prompt = &host->talk->queue.prompts[0];
    const char *why = delivery_refusal(host, prompt->text, prompt->len);

    if (why != NULL) {
        struct prompt refused = queue_remove(host->talk, 0);
        _cleanup_free_ char *words = mem_printf("the prompt %s", why);
        turns_ended(host);
        queue_drop(host, &refused, false, HOST_END_FAILED, words);
        return;
    }
    prompt->begun = prompt->given = true;
    type(host, prompt);
}

/* Takes a text back that was not typed yet. Returns false if there is none. */
static bool take_back(struct host *host, int64_t prompt)
{
    const struct delivery *delivery = &host->terminal->delivery;

    for (size_t i = 0; i < delivery->count; i++)
        if (delivery->queue[i].prompt == prompt) {
            delivery_remove(host, i);
            return true;
        }
    return false;
}

bool teller_take_back(struct host *host, int64_t number)
{
    const struct delivery *delivery = &host->terminal->delivery;

    if (delivery->count > 0 && delivery->queue[0].prompt == number &&
        delivery->phase != DELIVERY_NONE) /* it is being typed */
        return false;
    if (!take_back(host, number))
        return false;
    turns_ended(host);
    return true;
}

/* Drops a prompt of which no turn begins. */
static void drop_given(struct host *host, const char *how, const char *why)
{
    struct prompt lost = queue_remove(host->talk, 0);

    if (lost.unwanted)
        queue_drop(host, &lost, false, "cancelled", NULL);
    else
        queue_drop(host, &lost, false, how, why);
}

void teller_given_ended(struct host *host, const char *how)
{
    struct prompt *prompt = given(host);

    (void)take_back(host, TYPED_CLEAR);
    host->terminal->teller->clears = false;
    if (prompt == NULL)
        return;
    turns_ended(host);
    for (; prompt != NULL; prompt = given(host)) {
        if (take_back(host, prompt->number) && !prompt->unwanted) {
            prompt->begun = prompt->given = false;
            memory_update(host, prompt->number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
            return;
        }
        drop_given(host, HOST_END_STOPPED, how);
    }
}

/* Ends a prompt of which the program tells nothing. Returns when to call again. */
static int64_t tick_given(struct host *host, int64_t now)
{
    const struct prompt *prompt = given(host);
    const struct teller *teller = host->terminal->teller;
    int64_t since = prompt != NULL && prompt->later && teller->lines.moved > teller->enter_at
                        ? teller->lines.moved
                        : teller->enter_at;
    int64_t until = since + GIVEN_MS;

    if (prompt == NULL || host->terminal->delivery.count > 0 || host->talk->turn.on)
        return -1;
    if (now < until)
        return until;
    if (host->terminal->watcher.state != AGENT_IDLE)
        return now + STOPPED_MS;
    turns_ended(host);
    drop_given(host, HOST_END_FAILED, "the program has told of no turn with this prompt");
    return -1;
}

/* ---- an Enter that is lost */

/* Presses Enter again behind such a message while the program rests: when it is busy, one may be a
 * new line for it, or nothing; on an empty line it is nothing. If no turn is told then either, the
 * text is taken off the line before the next message. */
static int64_t tick_untold(struct host *host, int64_t now)
{
    struct teller *teller = host->terminal->teller;
    const struct terminal *terminal = host->terminal;
    const struct typed *typed = typed_untold(host);
    int64_t again = teller->enter_at + AGAIN_MS, end = teller->enter_at + GIVEN_MS;

    if (typed == NULL)
        return -1;
    if (now >= end) {
        teller->untold = false;
        line_may_have(host, typed->text);
        return -1;
    }
    if (teller->again || now < again)
        return teller->again ? end : again;
    if (takes_keys(host) && terminal->draft.state == DRAFT_NONE && now >= teller->unwanted_until &&
        terminal->watcher.state == AGENT_IDLE && (!teller->heard || teller->state == AGENT_IDLE)) {
        teller->again = true;
        press_keys(host, "Enter");
    }
    return now + STOPPED_MS;
}

/* ---- cancel */

/* Returns true if a message is being typed, or was typed of which no turn is told yet. */
static bool begins_soon(const struct host *host, int64_t now)
{
    const struct teller *teller = host->terminal->teller;
    const struct delivery *delivery = &host->terminal->delivery;

    return !host->talk->turn.on &&
           ((delivery->phase != DELIVERY_NONE && !delivery->queue[0].answers) ||
            (teller->typed_count > 0 && teller->typed[teller->typed_count - 1].message &&
             now < teller->enter_at + GIVEN_MS));
}

bool teller_cancel(struct host *host)
{
    struct teller *teller = host->terminal->teller;
    enum agent_state state = host->backend->state(host);
    int64_t now = time_monotonic_ms();

    if (host->child.phase != CHILD_RUNS || host->preset->told.stop[0] == '\0')
        return false;
    if (now < teller->unwanted_until)
        return true;
    if ((teller->state == AGENT_IDLE || !teller->heard) && begins_soon(host, now)) {
        teller->unwanted_until = now + GIVEN_MS;
        return true;
    }
    if (state != AGENT_WORKING && state != AGENT_WAITING && !teller->limited)
        return false;
    press_keys(host, host->preset->told.stop);
    line_comes_back(host);
    return true;
}

void teller_cut_off(struct host *host)
{
    if (!host->terminal->teller->follows)
        (void)teller_cancel(host);
}

int64_t teller_cancel_tick(struct host *host, int64_t now, bool *ret_stopped)
{
    struct turn *turn = &host->talk->turn;

    *ret_stopped = false;
    if (!turn->on || !turn->cancelled)
        return -1;
    const struct terminal *terminal = host->terminal;
    int64_t due = terminal->press.at + STOPPED_MS;
    *ret_stopped = press_is_over(host) && now >= due && terminal->watcher.state == AGENT_IDLE;
    if (*ret_stopped)
        return -1;
    int64_t again = terminal->press.at + STOP_AGAIN_MS;
    if (press_is_over(host) && now >= again && terminal->watcher.state == AGENT_WORKING)
        (void)teller_cancel(host); /* it had not begun, and took no keys for that */
    if (now < turn->cancel_until)
        return time_sooner(time_sooner(due > now ? due : -1, again > now ? again : -1),
                           turn->cancel_until);
    turn->cancelled = false; /* it can be tried again */
    turn->cancel_until = -1;
    memory_say(host, true, "the program goes on with the turn that it was told to stop");
    return -1;
}

/* ---- another query */

static void start_anew(struct host *host)
{
    host->terminal->teller->clears = false;
    if (host->child.phase == CHILD_RUNS)
        child_end(host, child_times(host), 0, true);
}

void teller_leave(struct host *host, int64_t turn, bool cleared)
{
    struct teller *teller = host->terminal->teller;

    (void)turn;
    if (teller->follows)
        return; /* it was the program that has left its session */
    free(host->talk->session);
    host->talk->session = NULL;
    if (host->child.phase != CHILD_RUNS)
        return;
    if (!cleared || host->preset->told.clear[0] == '\0') {
        start_anew(host);
        return;
    }
    teller->clears = true;
    teller->clear_typed = false;
    teller->clear_until = time_monotonic_ms() + CLEAR_MS;
}

/* Has the program clear its context. Returns when to call again. */
static int64_t tick_clear(struct host *host, int64_t now)
{
    struct teller *teller = host->terminal->teller;
    const char *line = host->preset->told.clear;

    if (!teller->clears)
        return -1;
    if (!teller->clear_typed && is_free(host) && line_held(host, now) == 0) {
        teller->clear_typed = true;
        teller->clear_until = now + CLEAR_MS;
        struct prompt typed = {
            .number = TYPED_CLEAR, .text = mem_dup(line), .len = strlen(line), .from = "-"};
        type(host, &typed);
        queue_free_prompt(&typed);
    }
    if (now < teller->clear_until)
        return teller->clear_until;
    memory_say(host, true, "the program has told of no new session behind '%s': it is started anew",
               line);
    start_anew(host);
    return -1;
}

int64_t teller_turn_tick(struct host *host, int64_t now)
{
    int64_t next = time_sooner(tick_untold(host, now),
                               time_sooner(tick_clear(host, now), tick_given(host, now)));
    int64_t held = line_held(host, now);

    turn_run(host);
    return host->talk->queue.count > 0 && held != 0 && held != INT64_MAX ? time_sooner(next, held)
                                                                         : next;
}
