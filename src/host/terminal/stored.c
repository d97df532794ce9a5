/*
 * Messages that wait, on disk. A message that is typed at once is never there. One that waits is
 * written before the host accepts it, marked before its typing begins and removed after its Enter.
 * A message that the next host finds marked may have arrived, so the host reports it and does not
 * type it again.
 */

#include "host/backend.h"
#include "host/terminal/terminal.h"

#include "host/talk/memory.h"
#include "host/talk/parts.h"
#include "host/unwritten.h"
#include "memory/store.h"

enum { SHOWN_MAX = PANE_BUFFER / 4 }; /* bytes of words; each may be shown as four */

const char *message_sender(const struct message *message)
{
    return strcmp(message->from, "-") != 0 ? message->from : NULL;
}

static int open_store(struct host *host, struct err *err)
{
    struct delivery *delivery = &host->terminal->delivery;

    if (delivery->store != NULL)
        return 0;
    /* of an agent that tells, the talk's store has ended what a kill left; a turn may be on */
    const char *writer = host->talk == NULL ? host->agent->id : NULL;
    return store_open(host->dir, host->session.id, writer, true, &delivery->store, err);
}

static int add_to_store(struct host *host, struct message *message, bool begun, struct err *err)
{
    const struct store_input input = {
        .agent = host->agent->id,
        .sender = message_sender(message),
        .enter = message->enter,
        .begun = begun,
        .note = message->note,
        .text = message->text,
        .len = message->len,
        .data = message->data,
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
        if (delivery->queue[i].number == 0 && delivery->queue[i].prompt == 0 &&
            add_to_store(host, &delivery->queue[i], i == 0 && delivery->phase != DELIVERY_NONE,
                         err) == -1)
            return -1;
    return 0;
}

int stored_keep(struct host *host, struct err *err)
{
    int rc = keep_all(host, err);

    return rc == -1 && renew_store(host, err) ? keep_all(host, err) : rc;
}

void stored_close(struct delivery *delivery)
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
        stored_close(delivery);
}

static int write_begun(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_input_begin(store, write->number, write->n[0] != 0, err);
}

void stored_mark(struct host *host, bool begun)
{
    const struct unwritten_write write = {
        .run = write_begun, .number = host->terminal->delivery.queue[0].number, .n = {begun}};

    if (write.number != 0)
        write_store(host, &write);
}

bool stored_is_unmarked(struct host *host)
{
    return host->terminal->delivery.queue[0].number != 0 && unwritten_holds(host);
}

static int write_drop(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_input_drop(store, write->number, err);
}

void stored_forget(struct host *host, int64_t number)
{
    const struct unwritten_write write = {.run = write_drop, .number = number};

    if (number != 0)
        write_store(host, &write);
}

bool stored_flush(struct host *host)
{
    struct delivery *delivery = &host->terminal->delivery;
    struct err err = ERR_INIT;

    if (host->talk != NULL || !unwritten_holds(host)) /* parts_keep_again() has tried */
        return !unwritten_holds(host);
    if (open_store(host, &err) == 0 && unwritten_flush(host, delivery->store, &err) == -1) {
        host_log(host, err.text);
        unwritten_drop(host); /* a damaged store is set aside with the next message */
    }
    return !unwritten_holds(host);
}

static bool talk_again(struct host *host)
{
    return host->talk == NULL || parts_keep_again(host);
}

static bool keep_again(struct host *host)
{
    struct err err = ERR_INIT;

    return stored_keep(host, &err) == 0;
}

int64_t stored_tick(struct host *host, int64_t now)
{
    static unwritten_try *const tries[] = {talk_again, stored_flush, keep_again};
    struct delivery *delivery = &host->terminal->delivery;
    bool waited = host->unwritten.why[0] != '\0';
    int64_t next = unwritten_tick(host, tries, ARRAY_LEN(tries), now);

    if (waited && delivery->count == 0)
        stored_close(delivery);
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
    if (host->talk == NULL)
        write_store(host, &note);
    else
        memory_say(host, true, "%s", str_text(&words));
    host_log_message(host, from != NULL ? from : "-", len, "shown");
}
