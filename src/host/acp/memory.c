#include "host/acp/conversation.h"

#include "base/str.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"

/* Finds out how the newest turn ended, if this host has seen none, and tells of one that was cut
 * off. */
static int restore_turn(struct host *host, struct err *err)
{
    struct store *store = host->conversation->memory.store;
    struct store_turn turn = {.prompt = 0};
    bool cut = store_cut_turns(store) > 0;

    if (host->attention.turn != TURN_NONE)
        return 0;
    if (store_newest_turn(store, host->agent->id, &turn, err) == -1)
        return -1;
    enum turn_outcome outcome = turn.state == MESSAGE_FAILED ? TURN_FAILED : TURN_STOPPED;
    if (turn.over && (turn.state == MESSAGE_FAILED || turn.stopped))
        attention_restore(host, outcome, turn.why, turn.time_ms, cut);
    if (cut)
        event_say(host, false, "its turn was stopped: %s; to ask again: mas ask %s %s --again",
                  turn.why != NULL ? turn.why : "",
                  session_label(&host->root, host->session.id).text, host->agent->id);
    store_turn_free(&turn);
    return 0;
}

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
    if (restore_turn(host, err) == 0 && queue_read(host, err) == 0)
        return 0;
    memory->store = NULL;
    store_place_free(&memory->place);
    store_close(store);
    return -1;
}

/* Opens the store. Sets a damaged one aside before; *ret_said: the clients know that. */
static int need_store(struct host *host, bool *ret_said, struct err *err)
{
    _cleanup_free_ char *words = NULL;

    *ret_said = false;
    if (host->conversation->memory.store != NULL || open_store(host, err) == 0)
        return 0;
    if (err->code != MAS_DAMAGED || host_set_store_aside(host, &words, err) == -1)
        return -1;
    *ret_said = words != NULL;
    if (words != NULL)
        event_say(host, false, "%s", words);
    return open_store(host, err);
}

int memory_need(struct host *host, struct err *err)
{
    bool was_open = host->conversation->memory.store != NULL;
    bool said;

    if (need_store(host, &said, err) == -1)
        return -1;
    if (!was_open) {
        usage_open(host);
        budget_open(host);
    }
    return 0;
}

/* Makes the agent's session, which still knows what was said, that of the new store's conversation.
 * `said`: the clients know that the old store was set aside. */
static void begin_anew(struct host *host, bool said)
{
    struct err err = ERR_INIT;

    if (host->conversation->link.session != NULL &&
        resume_keep_session(host, STORE_FILE " was set aside", &err) == -1)
        host_log(host, err.text);
    if (!said) /* another host of the team, or doctor, has set it aside */
        event_say(host, false, STORE_FILE " was set aside; mas has created a new one");
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
    for (size_t i = 0; i < turn->tools.count; i++)
        turn->tools.call[i].number = 0;
    tasks_forget_numbers(&conversation->tasks);
    for (size_t i = 0; i < conversation->queue.count; i++)
        conversation->queue.prompts[i].conversation[0] = '\0';
}

void memory_failed(struct host *host, const struct err *err)
{
    struct conversation *conversation = host->conversation;
    bool said = conversation->turn.unkept;
    bool set_aside_said;
    struct err again = ERR_INIT;

    conversation->turn.unkept = true;
    if (!said)
        host_log(host, err->text);
    if (err->code == MAS_DAMAGED) {
        forget_store(conversation);
        if (need_store(host, &set_aside_said, &again) == 0) {
            begin_anew(host, set_aside_said);
            return;
        }
    }
    if (!said)
        event_say(host, false, "new messages cannot be stored: %s", err->text);
}

bool memory_kept(struct host *host, int rc, const struct err *err)
{
    if (rc == -1)
        memory_failed(host, err);
    return rc == 0;
}

int64_t memory_add(struct host *host, const struct store_message *message)
{
    const struct conversation_memory *memory = &host->conversation->memory;
    struct err err = ERR_INIT;
    int64_t number = 0;

    if (memory->store == NULL ||
        !memory_kept(
            host, store_add(memory->store, memory->place.query, message, SYNC_CHUNK, &number, &err),
            &err))
        return 0;
    return number;
}

void memory_update(struct host *host, int64_t number, const char *text, size_t len,
                   const char *data, enum store_state state, enum store_sync sync)
{
    struct store *store = host->conversation->memory.store;
    struct err err = ERR_INIT;

    if (store != NULL)
        (void)memory_kept(host, store_update(store, number, text, len, data, state, sync, &err),
                          &err);
}

void memory_join_turn(struct host *host, int64_t number, int64_t turn)
{
    struct store *store = host->conversation->memory.store;
    struct err err = ERR_INIT;

    if (store != NULL)
        (void)memory_kept(host, store_join_turn(store, number, turn, &err), &err);
}

void memory_end_prompt(struct host *host, int64_t prompt, const char *stop_reason, const char *why)
{
    const struct conversation_memory *memory = &host->conversation->memory;
    enum store_state state = turn_end_state(stop_reason);
    struct err err = ERR_INIT;

    if (memory->store != NULL)
        (void)memory_kept(host,
                          store_end_turn(memory->store, memory->place.query, prompt, stop_reason,
                                         state, why, &err),
                          &err);
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
