#include "host/parts.h"

#include "base/pty.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 4095, /* what a terminal in canonical mode takes as a line */
    SETTLE_FIRST_MS = 5, /* the kernel hands typed bytes on a moment later */
    SETTLE_STEP_MS = 10,
    SETTLE_MAX_MS = 1000,
    STUCK_MS = 500, /* keys of a person go first when a message has not moved for so long */
};

static const char paste_begin[] = "\033[200~";
static const char paste_end[] = "\033[201~";

static void message_free(struct message *message)
{
    free(message->text);
}

void delivery_free(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++)
        message_free(&delivery->queue[i]);
    free(delivery->queue);
    str_free(&delivery->out);
    *delivery = (struct delivery){.count = 0};
}

static void log_outcome(const struct host *host, const struct message *message, const char *outcome)
{
    host_log_message(host, message->from, message->len, outcome);
}

bool delivery_add(struct host *host, const char *text, size_t len, bool enter, const char *from)
{
    struct delivery *delivery = &host->delivery;

    if (delivery->count == DELIVERY_COUNT_MAX || delivery->bytes + len > DELIVERY_BYTES_MAX)
        return false;
    delivery->queue = mem_room(delivery->queue, delivery->count, sizeof *delivery->queue);
    struct message *message = &delivery->queue[delivery->count++];
    *message = (struct message){.text = mem_dupn(text, len), .len = len, .enter = enter};
    (void)snprintf(message->from, sizeof message->from, "%s", from);
    message->answers = strcmp(from, "-") == 0 && host_state(host) == AGENT_WAITING;
    delivery->bytes += len;
    return true;
}

static void drop_first(struct delivery *delivery)
{
    delivery->bytes -= delivery->queue[0].len;
    message_free(&delivery->queue[0]);
    delivery->count--;
    memmove(delivery->queue, delivery->queue + 1, delivery->count * sizeof *delivery->queue);
    delivery->phase = DELIVERY_NONE;
    str_free(&delivery->out); /* it may have been large */
    delivery->sent = 0;
    delivery->blocked = false;
}

void delivery_interrupt(struct host *host)
{
    host->delivery.phase = DELIVERY_NONE;
    host->delivery.blocked = false;
}

void delivery_fail(struct host *host, const char *why)
{
    _cleanup_free_ char *outcome = mem_printf("failed: %s", why);

    while (host->delivery.count > 0) {
        log_outcome(host, &host->delivery.queue[0], outcome);
        drop_first(&host->delivery);
    }
}

const char *delivery_refusal(const struct host *host, const char *text, size_t len)
{
    if (host->terminal.master == -1 || !pty_is_canonical(host->terminal.master))
        return NULL;
    for (const char *line = text; line < text + len;) {
        const char *end = memchr(line, '\n', (size_t)(text + len - line));
        if ((size_t)((end != NULL ? end : text + len) - line) > LINE_MAX_BYTES)
            return "has a line of more than 4095 bytes, and the agent's terminal reads whole "
                   "lines";
        if (end == NULL)
            break;
        line = end + 1;
    }
    return NULL;
}

/* Puts the first message into the form in which it is typed: where the program asked for it, what
 * is more than a line is one paste, so that no line of it is taken for the whole. */
static void begin(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->delivery;
    const struct message *message = &delivery->queue[0];
    const char *why = delivery_refusal(host, message->text, message->len);

    if (why != NULL) {
        _cleanup_free_ char *outcome = mem_printf("failed: it %s", why);
        log_outcome(host, message, outcome);
        drop_first(delivery);
        return;
    }
    bool paste = host->watcher.pastes && (memchr(message->text, '\n', message->len) != NULL ||
                                          memchr(message->text, '\t', message->len) != NULL);
    str_clear(&delivery->out);
    str_add(&delivery->out, paste ? paste_begin : "");
    str_addn(&delivery->out, message->text, message->len);
    str_add(&delivery->out, paste ? paste_end : "");
    delivery->sent = 0;
    delivery->progress = now;
    delivery->phase = DELIVERY_TEXT;
    watcher_task(&host->watcher, now);
}

static void write_text(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->delivery;

    while (delivery->sent < delivery->out.len) {
        size_t n = terminal_type(&host->terminal, delivery->out.data + delivery->sent,
                                 delivery->out.len - delivery->sent);
        if (n == 0) {
            delivery->blocked = true;
            return;
        }
        delivery->sent += n;
        delivery->progress = now;
    }
    delivery->blocked = false;
    int pause = SETTLE_FIRST_MS > host->preset->enter_ms ? SETTLE_FIRST_MS : host->preset->enter_ms;
    delivery->settle_from = now + pause;
    delivery->settle_until = delivery->settle_from + SETTLE_MAX_MS;
    /* a terminal that reads lines knows Enter however it comes, and counts only whole lines */
    bool settles = !pty_is_canonical(host->terminal.master) || host->preset->enter_ms > 0;
    delivery->phase = settles ? DELIVERY_SETTLE : DELIVERY_ENTER;
}

static void press_enter(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->delivery;

    if (delivery->queue[0].enter && terminal_type(&host->terminal, "\r", 1) == 0) {
        delivery->blocked = true;
        return;
    }
    watcher_task(&host->watcher, now);
    host->child.delivered = true;
    log_outcome(host, &delivery->queue[0], "delivered");
    drop_first(delivery);
}

int64_t delivery_run(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->delivery;

    while (delivery->count > 0 && host->child.phase == CHILD_RUNS && host->watcher.ready) {
        switch (delivery->phase) {
        case DELIVERY_NONE:
            if (!terminal_is_empty(&host->terminal.to_agent))
                return -1; /* a person's keys before it */
            if (!delivery->queue[0].answers && watcher_asks(&host->watcher))
                return -1; /* its Enter would approve what nobody has looked at */
            begin(host, now);
            break;
        case DELIVERY_TEXT:
            write_text(host, now);
            if (delivery->blocked)
                return now + STUCK_MS;
            break;
        case DELIVERY_SETTLE:
            if (now < delivery->settle_from)
                return delivery->settle_from;
            if (delivery->queue[0].enter && now < delivery->settle_until &&
                pty_unread(host->terminal.slave) > 0)
                return now + SETTLE_STEP_MS;
            delivery->phase = DELIVERY_ENTER;
            break;
        case DELIVERY_ENTER:
        default:
            press_enter(host, now);
            if (delivery->blocked)
                return now + STUCK_MS;
            break;
        }
    }
    return -1;
}

bool delivery_holds_keys(const struct host *host, int64_t now)
{
    const struct delivery *delivery = &host->delivery;
    return delivery->phase != DELIVERY_NONE &&
           !(delivery->blocked && now - delivery->progress >= STUCK_MS);
}
