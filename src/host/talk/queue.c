/*
 * A prompt is in the store before its sender hears that it was accepted: open if it waits, done if
 * its turn begins at once or the agent may take it in the middle of one. A host that begins queues
 * the open ones. turn.c takes prompts out in their order; one that ends without a turn has its end
 * stored and told. When a host ends, they stay in the store, and those who wait for them are told
 * so.
 */

#include "host/talk/queue.h"

#include "base/time.h"
#include "host/server.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/unwritten.h"
#include "protocol/host.h"

enum { BYTES_MAX = 16 << 20 }; /* of prompts that wait */

void queue_free_prompt(struct prompt *prompt)
{
    free(prompt->text);
    free(prompt->data);
    strv_free(prompt->tags);
    *prompt = (struct prompt){.number = 0};
}

/* ---- its order */

void queue_push(struct host *host, int64_t number, const char *text, size_t len, const char *from,
                const char *data, char *const *tags)
{
    struct prompt_queue *queue = &host->talk->queue;

    queue->prompts = mem_room(queue->prompts, queue->count, sizeof *queue->prompts);
    struct prompt *prompt = &queue->prompts[queue->count++];
    *prompt = (struct prompt){.number = number,
                              .text = mem_dupn(text, len),
                              .len = len,
                              .data = mem_dup(data),
                              .asked_ms = time_epoch_ms()};
    (void)snprintf(prompt->from, sizeof prompt->from, "%s", from);
    for (char *const *tag = tags; tag != NULL && *tag != NULL; tag++)
        strv_push(&prompt->tags, *tag);
}

void queue_push_first(struct host *host, const struct prompt *prompt)
{
    struct prompt_queue *queue = &host->talk->queue;
    size_t at = 0;

    queue->prompts = mem_room(queue->prompts, queue->count, sizeof *queue->prompts);
    while (at < queue->count && queue->prompts[at].given)
        at++;
    memmove(queue->prompts + at + 1, queue->prompts + at,
            (queue->count - at) * sizeof *queue->prompts);
    queue->prompts[at] = *prompt;
    queue->count++;
}

struct prompt queue_remove(struct talk *talk, size_t index)
{
    struct prompt_queue *queue = &talk->queue;
    struct prompt removed = queue->prompts[index];

    queue->count--;
    memmove(queue->prompts + index, queue->prompts + index + 1,
            (queue->count - index) * sizeof *queue->prompts);
    return removed;
}

size_t queue_find(const struct talk *talk, int64_t number)
{
    const struct prompt_queue *queue = &talk->queue;
    size_t i = 0;

    while (i < queue->count && queue->prompts[i].number != number)
        i++;
    return i;
}

int64_t queue_first_number(const struct talk *talk)
{
    const struct prompt_queue *queue = &talk->queue;
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < queue->count; i++) /* a person's may be in front of an earlier one */
        first = queue->prompts[i].number < first ? queue->prompts[i].number : first;
    return first;
}

bool queue_is_elsewhere(const struct talk *talk, const struct prompt *prompt)
{
    return prompt->conversation[0] != '\0' &&
           strcmp(prompt->conversation, talk->memory.place.conversation) != 0;
}

/* ---- prompts that waited when the previous host ended */

static bool push_waiting(const struct store_item *item, void *arg)
{
    struct host *host = arg;
    struct prompt_queue *queue = &host->talk->queue;
    _cleanup_strv_ char **tags = store_own_tags(item->tags);
    const char *from = item->sender != NULL ? item->sender : "-";

    queue_push(host, item->number, item->text, item->len, from, item->data, tags);
    struct prompt *prompt = &queue->prompts[queue->count - 1];
    prompt->query = item->query;
    prompt->asked_ms = item->time_ms;
    memcpy(prompt->conversation, item->conversation, sizeof prompt->conversation);
    return true;
}

int queue_read(struct host *host, struct err *err)
{
    struct prompt_queue *queue = &host->talk->queue;
    const struct store_filter filter = {
        .agent = host->agent->id, .waiting = true, .limit = HOST_QUEUE_MAX};

    if (queue->read)
        return 0;
    size_t before = queue->count;
    if (store_read(host->talk->memory.store, &filter, push_waiting, host, err) == -1) {
        while (queue->count > before)
            queue_free_prompt(&queue->prompts[--queue->count]);
        return -1;
    }
    queue->read = true;
    if (queue->count == 0)
        return 0;
    _cleanup_free_ char *words =
        mem_printf("%zu waiting prompt%s %s sent now", queue->count, queue->count == 1 ? "" : "s",
                   queue->count == 1 ? "is" : "are");
    host_log(host, words);
    memory_say(host, false, "%s", words);
    return 0;
}

/* ---- new prompts */

/* Finds where a new prompt is stored: in the conversation that it chooses, else in that of the last
 * prompt that waits. Fills in query and conversation of *ret. */
static int find_place(struct talk *talk, const struct new_prompt *prompt, struct prompt *ret,
                      struct err *err)
{
    const struct prompt_queue *queue = &talk->queue;
    const struct prompt *last = queue->count > 0 ? &queue->prompts[queue->count - 1] : NULL;
    struct store_place place = {.query = 0};

    *ret = (struct prompt){.query = talk->memory.place.query};
    if (prompt->choice != CHOICE_CURRENT) {
        if (store_prepare(talk->memory.store, prompt->choice, prompt->id, &place, err) == -1)
            return -1;
        ret->query = place.query;
        memcpy(ret->conversation, place.conversation, sizeof ret->conversation);
        store_place_free(&place);
    } else if (last != NULL && last->conversation[0] != '\0') {
        ret->query = last->query;
        memcpy(ret->conversation, last->conversation, sizeof ret->conversation);
    }
    return 0;
}

/* Stores it, or, if a program has it already and the disk is full, notes that it has to be. */
static int store_prompt(struct host *host, int64_t query, const struct store_message *message,
                        bool told, int64_t *ret, struct err *err)
{
    bool waits = told && unwritten_holds(host);

    if (!waits && store_add(host->talk->memory.store, query, message, SYNC_FULL, ret, err) == 0)
        return 0;
    if (!waits && (!told || err->code == MAS_DAMAGED))
        return -1;
    *ret = memory_add(host, message);
    return *ret != 0 ? 0 : -1;
}

static int add_once(struct host *host, const struct new_prompt *prompt, int64_t *ret,
                    struct err *err)
{
    struct talk *talk = host->talk;
    struct prompt_queue *queue = &talk->queue;
    struct prompt where;
    size_t bytes = prompt->len;

    for (size_t i = 0; i < queue->count; i++)
        bytes += queue->prompts[i].len;
    if (queue->count >= HOST_QUEUE_MAX || (queue->count > 0 && bytes > BYTES_MAX))
        return err_set(err, MAS_CONFLICT, "too many prompts wait for it");
    if (memory_need(host, err) == -1 || find_place(talk, prompt, &where, err) == -1)
        return -1;
    bool at_once = prompt->begins && queue->count == 0;
    const struct store_message message = {
        .role = ROLE_USER,
        .state = at_once || prompt->steers ? MESSAGE_DONE : MESSAGE_OPEN,
        .text = prompt->text,
        .len = prompt->len,
        .sender = strcmp(prompt->from, "-") != 0 ? prompt->from : NULL,
        .tags = prompt->tags,
        .data = prompt->data,
    };
    if (store_prompt(host, where.query, &message, prompt->told, ret, err) == -1)
        return -1;
    queue_push(host, *ret, prompt->text, prompt->len, prompt->from, prompt->data, prompt->tags);
    struct prompt *added = &queue->prompts[queue->count - 1];
    added->begun = at_once;
    added->query = where.query;
    memcpy(added->conversation, where.conversation, sizeof added->conversation);
    if (!at_once)
        event_tell_queued(host, added);
    return 0;
}

int queue_add(struct host *host, const struct new_prompt *prompt, int64_t *ret, struct err *err)
{
    int rc = add_once(host, prompt, ret, err);

    return rc == -1 && memory_renew(host, err) ? add_once(host, prompt, ret, err) : rc;
}

/* ---- the first message of the team */

/* Returns true if the agent has never been asked anything, so that its first message was lost: its
 * host could not store it, and was killed. */
static bool lacks_first(const struct host *host)
{
    const struct store_filter asked = {.agent = host->agent->id, .roles = 1U << ROLE_USER};
    struct store *store = host->talk->memory.store;
    _cleanup_free_ char *loss = store_loss(host->dir);
    struct err err = ERR_INIT;
    int64_t count = 0;

    return host->agent->prompt[0] != '\0' && host->memory[0] == '\0' && loss == NULL &&
           store != NULL && store_count(store, &asked, &count, &err) == 0 && count == 0;
}

bool queue_add_first(struct host *host)
{
    struct prompt_queue *queue = &host->talk->queue;
    struct err err = ERR_INIT;
    int64_t number = 0;
    const struct new_prompt prompt = {
        .text = host->agent->prompt, .len = strlen(host->agent->prompt), .from = "-"};

    if (!queue->lacks_first)
        return true;
    queue->lacks_first = queue_add(host, &prompt, &number, &err) == -1;
    if (queue->lacks_first)
        unwritten_note(host, &err);
    return !queue->lacks_first;
}

void queue_open(struct host *host)
{
    host->talk->queue.lacks_first = host->prompts || lacks_first(host);
    (void)queue_add_first(host);
}

/* ---- the end without a turn */

void queue_tell_outcome(struct host *host, int64_t number, const char *outcome, const char *why)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->kind == CLIENT_STEERS && client->prompt == number)
            server_answer_outcome(host, client, outcome, why, client->stays);
    }
}

void queue_drop(struct host *host, struct prompt *prompt, bool kept, const char *stop_reason,
                const char *error)
{
    bool failed = strcmp(stop_reason, HOST_END_FAILED) == 0;

    if (!kept)
        memory_end_prompt(host, prompt->number, stop_reason, error);
    if (failed)
        attention_turn_ended(host, TURN_FAILED, error);
    queue_tell_outcome(host, prompt->number, "queued", stop_reason);
    _cleanup_free_ char *outcome =
        error != NULL ? mem_printf("%s: %s", stop_reason, error) : mem_dup(stop_reason);
    host_log_message(host, prompt->from, prompt->len, outcome);
    event_tell_end(host, prompt->number, stop_reason, 0, error);
    queue_free_prompt(prompt);
}

void queue_fail(struct host *host, const char *stop_reason, const char *error)
{
    bool kept = strcmp(stop_reason, HOST_END_CLEARED) == 0;

    while (host->talk->queue.count > 0) {
        struct prompt prompt = queue_remove(host->talk, 0);
        queue_drop(host, &prompt, kept, stop_reason, error);
    }
}

void queue_keep(struct host *host, const char *why)
{
    struct prompt_queue *queue = &host->talk->queue;
    _cleanup_free_ char *words = mem_printf("%s before its turn began; " HOST_WAITS, why);

    for (size_t i = 0; i < queue->count; i++) {
        struct prompt *prompt = &queue->prompts[i];
        if (prompt->kept)
            continue;
        prompt->kept = true;
        host_log_message(host, prompt->from, prompt->len, "kept");
        event_tell_end(host, prompt->number, HOST_END_STOPPED, 0, words);
    }
}
