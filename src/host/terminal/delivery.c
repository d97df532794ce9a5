/*
 * delivery_run() types one message after the other: its text, a pause until the program has read
 * that, and Enter. It begins only when no keys of a person wait, the program asks nothing, and the
 * line is free. Then keys wait, unless the terminal takes nothing for a while. What holds after a
 * kill is said at "on disk" below.
 */

#include "host/backend.h"
#include "host/terminal/terminal.h"

#include "memory/store.h"
#include "model/message.h"
#include "os/pty.h"

#include <malloc.h>

enum {
    LINE_MAX_BYTES = 4095, /* bytes of a line that a terminal in canonical mode takes */
    SETTLE_FIRST_MS = 5, /* until the kernel has passed on what was typed */
    SETTLE_STEP_MS = 10,
    SETTLE_MAX_MS = 1000,
    SHOWN_MAX = PANE_BUFFER / 4, /* bytes of words; each may be shown as four */
    STUCK_MS = 500, /* a message that has not moved for so long lets a person's keys pass */
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
    store_close(delivery->store);
    str_free(&delivery->out);
    *delivery = (struct delivery){.count = 0};
}

static const char *sender_of(const struct message *message)
{
    return strcmp(message->from, "-") != 0 ? message->from : NULL;
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
        .enter = input->enter,
        .note = input->note,
        .answers = person && host->backend->state(host) == AGENT_WAITING,
        .number = input->number,
        .cut_off = input->begun,
    };
    (void)snprintf(message->from, sizeof message->from, "%s",
                   input->sender != NULL ? input->sender : "-");
    delivery->bytes += input->len;
    return true;
}

/* ---- on disk
 *
 * A message that is typed at once is never on disk. A message that waits is written before the host
 * accepts it, marked before its typing begins and removed after its Enter. A message that the next
 * host finds marked may have arrived, so the host reports it and does not type it again. */

static int open_store(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (delivery->store != NULL)
        return 0;
    return store_open(host->dir, host->session.id, host->agent->id, true, &delivery->store, err);
}

static int add_to_store(struct host *host, struct message *message, bool begun, struct err *err)
{
    const struct store_input input = {
        .agent = host->agent->id,
        .sender = sender_of(message),
        .enter = message->enter,
        .begun = begun,
        .note = message->note,
        .text = message->text,
        .len = message->len,
    };

    return open_store(host, err) == -1
               ? -1
               : store_input_add(host->terminal->delivery.store, &input, &message->number, err);
}

/* Sets a damaged database aside, as for conversations. Returns true if the caller has to try again
 * with a new one; then all messages are written to it. */
static bool renew_store(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;
    _cleanup_free_ char *words = NULL;

    if (err->code != MAS_DAMAGED)
        return false;
    store_close(delivery->store);
    delivery->store = NULL;
    if (host_set_store_aside(host, &words, err) == -1)
        return false;
    *err = (struct err)ERR_INIT;
    for (size_t i = 0; i < delivery->count; i++)
        delivery->queue[i].number = 0;
    return true;
}

static int keep_all(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;

    for (size_t i = 0; i < delivery->count; i++)
        if (delivery->queue[i].number == 0 &&
            add_to_store(host, &delivery->queue[i], i == 0 && delivery->phase != DELIVERY_NONE,
                         err) == -1)
            return -1;
    return 0;
}

/* Writes what is not on disk yet. */
static int keep(struct host *host, struct err *err)
{
    int rc = keep_all(host, err);

    return rc == -1 && renew_store(host, err) ? keep_all(host, err) : rc;
}

int delivery_keep(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (keep(host, err) == 0)
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

/* An idle host keeps no database open. */
static void close_store(struct delivery *delivery)
{
    store_close(delivery->store);
    delivery->store = NULL;
}

/* Writes to memory.db, now or, if it takes nothing, later. */
static void write_store(struct host *host, const struct unwritten_write *write)
{
    struct delivery *delivery = &host->terminal->delivery;
    struct err err = ERR_INIT;

    (void)open_store(host, &err);
    (void)unwritten_write(host, delivery->store, write, &err);
    if (err.code != MAS_OK)
        host_log(host, err.text);
    if (delivery->count == 0)
        close_store(delivery);
}

static int write_begun(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_input_begin(store, write->number, write->n[0] != 0, err);
}

/* Marks the first message on disk as begun or not. */
static void note_begun(struct host *host, bool begun)
{
    const struct unwritten_write write = {
        .run = write_begun, .number = host->terminal->delivery.queue[0].number, .n = {begun}};

    if (write.number != 0)
        write_store(host, &write);
}

/* Returns true if the first message must not be typed, as it could not be marked: a kill would have
 * it typed twice. */
static bool is_unmarked(struct host *host)
{
    return host->terminal->delivery.queue[0].number != 0 && unwritten_holds(host);
}

static int write_drop(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_input_drop(store, write->number, err);
}

static void forget(struct host *host, int64_t number)
{
    const struct unwritten_write write = {.run = write_drop, .number = number};

    if (number != 0)
        write_store(host, &write);
}

/* ---- what could not be written */

static bool flush(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;
    struct err err = ERR_INIT;

    if (!unwritten_holds(host))
        return true;
    if (open_store(host, &err) == 0 && unwritten_flush(host, delivery->store, &err) == -1) {
        host_log(host, err.text);
        unwritten_drop(host); /* a damaged store is set aside with the next message */
    }
    return !unwritten_holds(host);
}

static bool keep_again(struct host *host)
{
    struct err err = ERR_INIT;

    return keep(host, &err) == 0;
}

void delivery_keep_first(struct host *host)
{
    struct err err = ERR_INIT;

    if (keep(host, &err) == -1) /* a kill loses it then, unless it is typed */
        unwritten_note(host, &err);
}

int64_t delivery_tick(struct host *host, int64_t now)
{
    static unwritten_try *const tries[] = {flush, keep_again};
    struct delivery *delivery = &host->terminal->delivery;
    bool waited = host->unwritten.why[0] != '\0';
    int64_t next = unwritten_tick(host, tries, ARRAY_LEN(tries), now);

    if (waited && delivery->count == 0)
        close_store(delivery);
    return next;
}

/* ---- what mas has written for a person to read */

/* Adds the words to the agent's history, as a note. */
static int write_note(struct store *store, struct unwritten_write *write, struct err *err)
{
    struct store_place place = {.query = 0};
    const struct store_message note = {.role = ROLE_NOTE,
                                       .state = MESSAGE_DONE,
                                       .text = write->text[0],
                                       .len = write->len,
                                       .sender = write->text[1]};

    if (store_enter(store, CHOICE_CURRENT, NULL, &place, err) == -1)
        return -1;
    int rc = store_add(store, place.query, &note, SYNC_FULL, &write->number, err);
    store_place_free(&place);
    return rc;
}

void terminal_show(struct host *host, const char *text, size_t len, const char *from)
{
    _cleanup_str_ struct str words = STR_INIT, logged = STR_INIT;

    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t shown = str_cut(text, len, SHOWN_MAX);
    str_addn(&words, text, shown);
    if (shown < len)
        str_addf(&words, "\n... and %zu more bytes, see: mas history %s %s", len - shown,
                 session_label(&host->root, host->session.id).text, host->agent->id);
    pane_add_words(&logged, str_text(&words));
    host->backend->say(host, str_text(&words));
    host_keep_log(host, logged.data, logged.len);
    const struct unwritten_write note = {.run = write_note, .text = {text, from}, .len = len};
    write_store(host, &note);
    host_log_message(host, from != NULL ? from : "-", len, "shown");
}

/* ---- at the beginning and the end */

static bool add_waiting(const struct store_input *input, void *arg)
{
    return delivery_add(arg, input);
}

/* Removes a message from the disk, and frees it. The caller takes it out of the queue. */
static void discard(struct host *host, struct message *message)
{
    forget(host, message->number);
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
            terminal_show(host, message->text, message->len, sender_of(message));
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

    (void)flush(host);
    unwritten_close(host);
    if (keep(host, &err) == -1) /* a message that lacks only its Enter is not there yet */
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
    delivery->held = false;
    str_free(&delivery->out); /* it may be large */
    delivery->sent = 0;
    delivery->blocked = false;
    if (delivery->count > 0)
        return;
    close_store(delivery);
    (void)malloc_trim(0); /* nor does it keep the memory of a large message */
}

void delivery_interrupt(struct host *host)
{
    if (host->terminal->delivery.phase != DELIVERY_NONE)
        note_begun(host, false);
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

/* Begins to type the first message. If the program has turned bracketed paste on, a message of
 * several lines is one paste, so that the program does not take a line of it for the whole. */
static void begin(struct host *host, int64_t now)
{
    struct delivery *delivery = &host->terminal->delivery;
    const struct message *message = &delivery->queue[0];
    const char *why = delivery_refusal(host, message->text, message->len);

    if (why != NULL) {
        _cleanup_free_ char *outcome = mem_printf("failed: it %s", why);
        log_outcome(host, message, outcome);
        drop_first(host);
        return;
    }
    note_begun(host, true);
    if (is_unmarked(host))
        return;
    bool paste =
        host->terminal->watcher.pastes && (memchr(message->text, '\n', message->len) != NULL ||
                                           memchr(message->text, '\t', message->len) != NULL);
    str_clear(&delivery->out);
    line_put_aside(host, &delivery->out);
    str_add(&delivery->out, paste ? paste_begin : "");
    str_addn(&delivery->out, message->text, message->len);
    str_add(&delivery->out, paste ? paste_end : "");
    delivery->sent = 0;
    delivery->progress = now;
    delivery->phase = DELIVERY_TEXT;
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
    int pause = SETTLE_FIRST_MS > host->preset->enter_ms ? SETTLE_FIRST_MS : host->preset->enter_ms;
    delivery->settle_from = now + pause;
    delivery->settle_until = delivery->settle_from + SETTLE_MAX_MS;
    /* in canonical mode Enter need not come by itself, and only whole lines count as unread */
    bool settles = !tty_is_canonical(&host->terminal->tty) || host->preset->enter_ms > 0;
    delivery->phase = settles ? DELIVERY_SETTLE : DELIVERY_ENTER;
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
            if (!delivery->queue[0].answers && watcher_asks(&host->terminal->watcher))
                return -1; /* its Enter would answer a question that nobody has seen */
            until = line_held_until(host, now);
            delivery->held = until != 0;
            if (delivery->held)
                return until != INT64_MAX ? until : -1;
            if (is_unmarked(host))
                return -1; /* delivery_tick() writes the mark */
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
                pty_unread(host->terminal->tty.slave) > 0)
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
