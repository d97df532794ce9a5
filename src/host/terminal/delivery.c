/*
 * delivery_run() types one message after the other: its text, a pause until the program has read
 * that, and Enter. It begins only when no keys of a person wait, the program asks nothing, and the
 * line is free. Then keys wait, unless the terminal takes nothing for a while. What holds after a
 * kill is said in stored.c.
 */

#include "host/backend.h"
#include "host/picture.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "host/unwritten.h"
#include "memory/store.h"
#include "model/message.h"
#include "model/picture.h"
#include "os/pty.h"

#include <malloc.h>

enum {
    LINE_MAX_BYTES = 4095, /* bytes of a line that a terminal in canonical mode takes */
    PICTURE_MS = 500, /* a program that has read the file named to it shows nothing for so long */
    SETTLE_FIRST_MS = 5, /* until the kernel has passed on what was typed */
    SETTLE_STEP_MS = 10,
    SETTLE_MAX_MS = 1000,
    SHOW_MAX_MS = 3000, /* until a program has shown what was typed, which a busy one does late */
    SHOWN_BYTES = 8, /* of the end of a text by which it is known on the screen */
    STUCK_MS = 500, /* a message that has not moved for so long lets a person's keys pass */
};

static const char paste_begin[] = "\033[200~";
static const char paste_end[] = "\033[201~";

static void message_free(struct message *message)
{
    free(message->text);
    free(message->data);
}

void delivery_free(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++)
        message_free(&delivery->queue[i]);
    free(delivery->queue);
    store_close(delivery->store);
    str_free(&delivery->out);
    *delivery = (struct delivery){.count = 0};
}

static void log_outcome(const struct host *host, const struct message *message, const char *outcome)
{
    host_log_message(host, message->from, message->len, outcome);
}

bool delivery_add(struct host *host, const struct store_input *input)
{
    struct delivery *delivery = &host->terminal->delivery;
    bool person = input->sender == NULL && !input->note;

    if (delivery->count == DELIVERY_COUNT_MAX || delivery->bytes + input->len > DELIVERY_BYTES_MAX)
        return false;
    delivery->queue = mem_room(delivery->queue, delivery->count, sizeof *delivery->queue);
    struct message *message = &delivery->queue[delivery->count++];
    *message = (struct message){
        .text = mem_dupn(input->text, input->len),
        .len = input->len,
        .data = mem_dup(input->data),
        .enter = input->enter,
        .note = input->note,
        .answers = person && host->backend->state(host) == AGENT_WAITING && !teller_answers(host),
        .number = input->number,
        .cut_off = input->begun,
    };
    (void)snprintf(message->from, sizeof message->from, "%s",
                   input->sender != NULL ? input->sender : "-");
    delivery->bytes += input->len;
    return true;
}

void delivery_put_back(struct host *host, const struct prompt *prompt)
{
    struct delivery *delivery = &host->terminal->delivery;
    const struct store_input input = {
        .sender = strcmp(prompt->from, "-") != 0 ? prompt->from : NULL,
        .enter = true,
        .text = prompt->text,
        .len = prompt->len,
        .data = prompt->data,
    };
    size_t begun = delivery->phase != DELIVERY_NONE ? 1 : 0;
    struct err err = ERR_INIT;

    if (!delivery_add(host, &input)) {
        host_log_message(host, prompt->from, prompt->len, "failed: too many messages wait");
        return;
    }
    struct message message = delivery->queue[delivery->count - 1];
    message.answers = false;
    memmove(&delivery->queue[begun + 1], &delivery->queue[begun],
            (delivery->count - 1 - begun) * sizeof message);
    delivery->queue[begun] = message;
    if (stored_keep(host, &err) == -1)
        unwritten_note(host, &err);
}

/* ---- on disk */

int delivery_keep(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (stored_keep(host, err) == 0)
        return 0;
    /* a message that is half typed cannot be removed */
    size_t begun = delivery->phase != DELIVERY_NONE ? 1 : 0;
    bool removes = delivery->count > begun;
    if (removes) {
        struct message *last = &delivery->queue[--delivery->count];
        delivery->bytes -= last->len;
        message_free(last);
    }
    for (size_t i = 0; i < delivery->count; i++)
        if (delivery->queue[i].number == 0)
            unwritten_note(host, err);
    return removes ? -1 : 0;
}

void delivery_keep_first(struct host *host)
{
    struct err err = ERR_INIT;

    if (stored_keep(host, &err) == -1) /* a kill loses it then, unless it is typed */
        unwritten_note(host, &err);
}

/* ---- at the beginning and the end */

static bool add_waiting(const struct store_input *input, void *arg)
{
    return delivery_add(arg, input);
}

/* Removes a message from the disk, and frees it. The caller takes it out of the queue. */
static void discard(struct host *host, struct message *message)
{
    stored_forget(host, message->number);
    host->terminal->delivery.bytes -= message->len;
    message_free(message);
}

/* Drops the messages that must not be typed: shows what mas has written, and logs the others.
 * Returns how many had been begun. */
static size_t sort_out(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;
    size_t kept = 0, cut_off = 0;

    for (size_t i = 0; i < delivery->count; i++) {
        struct message *message = &delivery->queue[i];
        const char *why = message->cut_off ? "it was being typed when its host ended"
                                           : message_check(message->text, message->len);
        if (why == NULL && message->note && preset_executes(host->preset)) {
            terminal_show(host, message->text, message->len, message_sender(message));
            discard(host, message);
            continue;
        }
        if (message->number == 0 || why == NULL) {
            delivery->queue[kept++] = *message;
            continue;
        }
        _cleanup_free_ char *outcome =
            mem_printf("failed: %s%s", message->cut_off ? "" : "it ", why);
        log_outcome(host, message, outcome);
        cut_off += message->cut_off;
        discard(host, message);
    }
    delivery->count = kept;
    return cut_off;
}

void delivery_read(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;
    _cleanup_store_ struct store *store = NULL;
    struct err err = ERR_INIT;

    if (faccessat(host->dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (store_open(host->dir, host->session.id, NULL, false, &store, &err) == -1 ||
        store_inputs(store, host->agent->id, add_waiting, host, &err) == -1) {
        if (err.code != MAS_NOT_FOUND)
            host_log(host, err.text);
        return;
    }
    size_t cut_off = sort_out(host);
    size_t waiting = 0;
    for (size_t i = 0; i < delivery->count; i++)
        waiting += delivery->queue[i].number != 0;
    _cleanup_free_ char *words = mem_printf("%zu waiting message%s %s delivered now", waiting,
                                            waiting == 1 ? "" : "s", waiting == 1 ? "is" : "are");
    if (waiting > 0)
        host_log(host, words);
    if (cut_off > 0)
        host->backend->say(
            host, "the previous host ended while it typed a message; mas does not type it again");
}

void delivery_leave(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;

    struct err err = ERR_INIT;

    (void)stored_flush(host);
    unwritten_close(host);
    if (stored_keep(host, &err) == -1) /* a message that lacks only its Enter is not there yet */
        host_log(host, err.text);
    for (size_t i = 0; i < delivery->count; i++)
        log_outcome(host, &delivery->queue[i],
                    delivery->queue[i].number != 0 ? "kept" : "failed: its host has ended");
}

/* ---- the queue */

static void drop_first(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;

    discard(host, &delivery->queue[0]);
    delivery->count--;
    memmove(delivery->queue, delivery->queue + 1, delivery->count * sizeof *delivery->queue);
    delivery->phase = DELIVERY_NONE;
    delivery->held = delivery->reads = false;
    str_free(&delivery->out); /* it may be large */
    delivery->sent = 0;
    delivery->blocked = false;
    if (delivery->count > 0)
        return;
    stored_close(delivery);
    (void)malloc_trim(0); /* nor does it keep the memory of a large message */
}

void delivery_remove(struct host *host, size_t index)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (index == 0) {
        drop_first(host);
        return;
    }
    discard(host, &delivery->queue[index]);
    delivery->count--;
    memmove(delivery->queue + index, delivery->queue + index + 1,
            (delivery->count - index) * sizeof *delivery->queue);
}

void delivery_interrupt(struct host *host)
{
    if (host->terminal->delivery.phase != DELIVERY_NONE)
        stored_mark(host, false);
    host->terminal->delivery.phase = DELIVERY_NONE;
    host->terminal->delivery.blocked = false;
    host->terminal->delivery.held = false;
    line_drop_aside(host);
}

void delivery_fail(struct host *host, const char *why)
{
    _cleanup_free_ char *outcome = mem_printf("failed: %s", why);

    while (host->terminal->delivery.count > 0) {
        log_outcome(host, &host->terminal->delivery.queue[0], outcome);
        drop_first(host);
    }
}

const char *delivery_refusal(const struct host *host, const char *text, size_t len)
{
    if (!tty_is_canonical(&host->terminal->tty))
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

/* Appends the text of the first message as it is typed. If the program has turned bracketed paste
 * on, one of several lines is one paste, so that the program does not take a line of it for the
 * whole. */
static void add_text(struct host *host, const struct message *message)
{
    struct str *out = &host->terminal->delivery.out;
    bool paste = host->terminal->watcher.pastes &&
                 (host->preset->pastes || memchr(message->text, '\n', message->len) != NULL ||
                  memchr(message->text, '\t', message->len) != NULL);

    str_add(out, paste ? paste_begin : "");
    str_addn(out, message->text, message->len);
    str_add(out, paste ? paste_end : "");
}

/* Appends what comes next of the first message: its pictures one by one, then its text. */
static void add_next(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;
    const struct message *message = &delivery->queue[0];
    struct pictures pictures;

    pictures_of(message->data, &pictures);
    for (; delivery->pictures < pictures.count; delivery->pictures++) {
        _cleanup_str_ struct str typed = STR_INIT;
        bool alone = picture_type_in(host, &pictures, delivery->pictures, &typed);
        bool paste = alone && host->terminal->watcher.pastes;
        str_addf(&delivery->out, "%s%s%s", paste ? paste_begin : "", str_text(&typed),
                 paste ? paste_end : " ");
        if (!paste)
            continue; /* it is a part of the text */
        delivery->pictures++;
        delivery->reads = true;
        return;
    }
    add_text(host, message);
}

/* Begins to type that, behind what is in `out` already. */
static void type_next(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;

    delivery->reads = false;
    add_next(host);
    delivery->sent = 0;
    delivery->progress = now;
    delivery->phase = DELIVERY_TEXT;
}

/* Returns why the first message cannot be typed, which the caller frees; NULL: it can. */
static char *prepare(struct host *host)
{
    const struct message *message = &host->terminal->delivery.queue[0];
    const char *why = delivery_refusal(host, message->text, message->len);
    struct pictures pictures;
    struct err err = ERR_INIT;

    if (why != NULL)
        return mem_printf("failed: it %s", why);
    pictures_of(message->data, &pictures);
    return pictures.count > 0 && picture_place(host, &pictures, &err) == -1
               ? mem_printf("failed: %s", err.text)
               : NULL;
}

/* Returns true if the program itself is at work, not only given something. */
static bool works(const struct host *host)
{
    const struct terminal *terminal = host->terminal;
    bool is_told = terminal->teller != NULL && terminal->teller->heard;

    return (is_told ? terminal->teller->state : terminal->watcher.state) == AGENT_WORKING;
}

/* Begins to type the first message. */
static void begin(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;
    _cleanup_free_ char *outcome = prepare(host);

    if (outcome != NULL) {
        log_outcome(host, &delivery->queue[0], outcome);
        drop_first(host);
        return;
    }
    stored_mark(host, true);
    if (stored_is_unmarked(host))
        return;
    str_clear(&delivery->out);
    line_put_aside(host, &delivery->out);
    delivery->pictures = 0;
    delivery->works = works(host);
    type_next(host, now);
    watcher_task(&host->terminal->watcher, now);
}

static void write_text(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;

    while (delivery->sent < delivery->out.len) {
        size_t n = tty_type(&host->terminal->tty, delivery->out.data + delivery->sent,
                            delivery->out.len - delivery->sent);
        if (n == 0) {
            delivery->blocked = true;
            return;
        }
        delivery->sent += n;
        delivery->progress = now;
    }
    delivery->blocked = false;
    if (delivery->reads) {
        delivery->settle_from = now + PICTURE_MS;
        delivery->settle_until = now + SHOW_MAX_MS;
        delivery->phase = DELIVERY_PICTURE;
        return;
    }
    int pause = SETTLE_FIRST_MS > host->preset->enter_ms ? SETTLE_FIRST_MS : host->preset->enter_ms;
    delivery->settle_from = now + pause;
    delivery->settle_until =
        delivery->settle_from + (host->preset->enter_ms > 0 ? SHOW_MAX_MS : SETTLE_MAX_MS);
    delivery->shown = 0;
    /* in canonical mode Enter need not come by itself, and only whole lines count as unread */
    bool settles = !tty_is_canonical(&host->terminal->tty) || host->preset->enter_ms > 0;
    delivery->phase = settles ? DELIVERY_SETTLE : DELIVERY_ENTER;
}

/* Returns true if the program has shown the text. One that was at work prints anyway: only the end
 * of the text tells then, which a long one may not show as it is. */
static bool has_shown(const struct host *host)
{
    const struct delivery *delivery = &host->terminal->delivery;
    const struct watcher *watcher = &host->terminal->watcher;
    const struct message *message = &delivery->queue[0];
    size_t end = message->len, from;

    if (!delivery->works || watcher->last_output <= delivery->progress)
        return watcher->last_output > delivery->progress;
    while (end > 0 && strchr(" \t\n", message->text[end - 1]) != NULL)
        end--;
    from = end;
    while (from > 0 && end - from < SHOWN_BYTES && message->text[from - 1] != '\n')
        from--;
    return memmem(watcher->text + watcher->answered, watcher->text_len - watcher->answered,
                  message->text + from, end - from) != NULL;
}

/* Returns true if the program still reads the text. One that takes an early Enter for a part of it,
 * or for nothing, has shown it for as long as its preset says. */
static bool is_reading(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;
    int pause = host->preset->enter_ms;

    if (!delivery->queue[0].enter || now >= delivery->settle_until)
        return false;
    if (pty_unread(host->terminal->tty.slave) > 0)
        return true;
    if (delivery->shown == 0 && has_shown(host))
        delivery->shown = now;
    return pause > 0 && (delivery->shown == 0 || now < delivery->shown + pause);
}

/* Returns true if the program may still read a picture: it has shown nothing of it, or is at it. */
static bool looks_at_picture(const struct host *host, int64_t now)
{
    const struct delivery *delivery = &host->terminal->delivery;
    int64_t last = host->terminal->watcher.last_output;

    return now < delivery->settle_until && (last <= delivery->progress || now < last + PICTURE_MS);
}

static void press_enter(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (delivery->queue[0].enter && tty_type(&host->terminal->tty, "\r", 1) == 0) {
        delivery->blocked = true;
        return;
    }
    watcher_task(&host->terminal->watcher, now);
    host->child.delivered = true;
    if (delivery->queue[0].enter && !delivery->queue[0].answers && !delivery->queue[0].note)
        teller_typed(host, delivery->queue[0].text, delivery->queue[0].len, delivery->queue[0].data,
                     delivery->queue[0].from);
    log_outcome(host, &delivery->queue[0], "delivered");
    drop_first(host);
}

int64_t delivery_run(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;
    int64_t until = 0;

    if (host->child.phase == CHILD_RUNS)
        line_give_back(host, now);
    while (delivery->count > 0 && host->child.phase == CHILD_RUNS &&
           host->terminal->watcher.ready) {
        switch (delivery->phase) {
        case DELIVERY_NONE:
            if (!pane_is_empty(&host->pane.keys))
                return -1; /* a person's keys go first */
            if (!delivery->queue[0].answers &&
                (watcher_asks(&host->terminal->watcher) || teller_asks(host)))
                return -1; /* its Enter would answer a question that nobody has seen */
            if (!delivery->queue[0].answers && teller_paused(host) != NULL)
                return -1;
            until = delivery->queue[0].answers ? 0 : teller_stops_until(host, now);
            if (until != 0)
                return until;
            until = line_held_until(host, now);
            delivery->held = until != 0;
            if (delivery->held)
                return until != INT64_MAX ? until : -1;
            if (stored_is_unmarked(host))
                return -1; /* stored_tick() writes the mark */
            until = delivery->queue[0].answers ? 0 : teller_limited_until(host);
            if (until != 0)
                return until;
            begin(host, now);
            break;
        case DELIVERY_TEXT:
            write_text(host, now);
            if (delivery->blocked)
                return now + STUCK_MS;
            break;
        case DELIVERY_PICTURE:
            if (now < delivery->settle_from || looks_at_picture(host, now))
                return now + SETTLE_STEP_MS;
            str_clear(&delivery->out);
            type_next(host, now);
            break;
        case DELIVERY_SETTLE:
            if (now < delivery->settle_from)
                return delivery->settle_from;
            if (is_reading(host, now))
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
    const struct delivery *delivery = &host->terminal->delivery;
    return delivery->phase != DELIVERY_NONE &&
           !(delivery->blocked && now - delivery->progress >= STUCK_MS);
}
