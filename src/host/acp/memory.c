#include "host/acp/conversation.h"

#include "base/str.h"

static int open_store(struct host *host, struct err *err)
{
    struct conversation_memory *memory = &host->conversation->memory;
    struct store *store = NULL;

    if (store_open(host->dir, host->session.id, host->agent->id, true, &store, err) == -1)
        return -1;
    if (store_enter(store, CHOICE_CURRENT, NULL, &memory->place, err) == -1) {
        store_close(store);
        return -1;
    }
    memory->store = store;
    if (queue_read(host, err) == 0)
        return 0;
    memory->store = NULL;
    store_place_free(&memory->place);
    store_close(store);
    return -1;
}

/* Renames a damaged database. */
static int set_aside(struct host *host, struct err *err)
{
    _cleanup_free_ char *name = NULL;

    if (store_set_aside(host->dir, &name, err) == -1)
        return -1;
    _cleanup_free_ char *words =
        mem_printf("%s was damaged and is kept as %s; a new one was begun", STORE_FILE, name);
    host_log(host, words);
    event_say(host, false, "%s", words);
    return 0;
}

/* Opens the store. *ret_aside: a damaged one was set aside before. */
static int need_store(struct host *host, bool *ret_aside, struct err *err)
{
    if (host->conversation->memory.store != NULL || open_store(host, err) == 0)
        return 0;
    *ret_aside = err->code == MAS_DAMAGED && set_aside(host, err) == 0;
    return *ret_aside ? open_store(host, err) : -1;
}

int memory_need(struct host *host, struct err *err)
{
    bool aside = false;
    return need_store(host, &aside, err);
}

/* The conversation of a new store is that of the agent's session, which still knows what was said.
 * `said`: the clients know that the old one was set aside. */
static void begin_anew(struct host *host, bool said)
{
    struct err err = ERR_INIT;

    if (host->conversation->link.session != NULL &&
        resume_keep_session(host, STORE_FILE " was set aside", &err) == -1)
        host_log(host, err.text);
    if (!said) /* another host of the team, or doctor, has set it aside */
        event_say(host, false, STORE_FILE " was set aside; a new one was begun");
}

/* Closes the store, and forgets the numbers and places that only it knows. */
static void forget_store(struct conversation *conversation)
{
    struct conversation_memory *memory = &conversation->memory;
    struct turn *turn = &conversation->turn;

    store_close(memory->store);
    memory->store = NULL;
    store_place_free(&memory->place);
    memory->place = (struct store_place){.query = 0};
    turn->answer = turn->thought = turn->plan = 0;
    for (size_t i = 0; i < turn->tool_count; i++)
        turn->tools[i].number = 0;
    for (size_t i = 0; i < conversation->queue.count; i++)
        conversation->queue.prompts[i].conversation[0] = '\0';
}

void memory_failed(struct host *host, const struct err *err)
{
    struct conversation *conversation = host->conversation;
    bool said = conversation->turn.unkept;
    bool aside = false;
    struct err again = ERR_INIT;

    conversation->turn.unkept = true;
    if (!said)
        host_log(host, err->text);
    if (err->code == MAS_DAMAGED) {
        forget_store(conversation);
        if (need_store(host, &aside, &again) == 0) {
            begin_anew(host, aside);
            return;
        }
    }
    if (!said)
        event_say(host, false, "what is said now cannot be kept: %s", err->text);
}

bool memory_kept(struct host *host, int rc, const struct err *err)
{
    if (rc == -1)
        memory_failed(host, err);
    return rc == 0;
}

bool memory_renew(struct host *host, struct err *err)
{
    if (err->code != MAS_DAMAGED || host->conversation->memory.store == NULL)
        return false;
    memory_failed(host, err);
    if (host->conversation->memory.store == NULL)
        return false;
    *err = (struct err)ERR_INIT;
    return true;
}
