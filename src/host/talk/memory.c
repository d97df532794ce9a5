/*
 * Messages are written through memory_write(), by which a write that fails, as on a full disk, is
 * kept and tried again in its order (host/unwritten.c). A damaged store is set aside: then the
 * numbers that it gave are forgotten, and the agent's session is recorded in a new one. A host
 * without a store works on, and tries again to open it.
 */

#include "host/talk/memory.h"

#include "base/time.h"
#include "host/talk/event.h"
#include "host/unwritten.h"
#include "protocol/host.h"

void memory_say(struct host *host, bool keep, const char *fmt, ...)
{
    struct talk *talk = host->talk;
    va_list args;
    char words[2048];
    int64_t number = 0;

    va_start(args, fmt);
    int len = vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    if (len >= (int)sizeof words)
        words[str_cut(words, (size_t)len, sizeof words - 2)] = '\0';
    if (keep && talk->memory.store != NULL) {
        struct store_message note = {
            .role = ROLE_NOTE,
            .state = MESSAGE_DONE,
            .text = words,
            .len = strlen(words),
            .trigger = turn_prompt(talk),
        };
        number = memory_add(host, &note);
    }
    event_tell_text(host, "note", number, 0, words, strlen(words));
}

void memory_tell_loss(struct host *host, bool once, struct str *to)
{
    struct store *store = host->talk->memory.store;
    struct err err = ERR_INIT;
    char when[TIME_TEXT];
    bool said = false;

    if (host->session.lost_after == 0)
        return;
    time_format(host->session.lost_after, when);
    _cleanup_free_ char *words = mem_printf(
        "this session was restored from its save of %s; what came after that is lost", when);
    if (store != NULL)
        (void)memory_kept(host, store_has_note(store, host->agent->id, words, &said, &err), &err);
    if (!said)
        memory_say(host, true, "%s", words);
    if (!said || !once)
        str_addf(to, "[message from mas: %s]\n", words);
}

/* Finds out how the newest turn ended, if this host has seen none, and tells of one that was cut
 * off. */
static int restore_turn(struct host *host, struct err *err)
{
    struct store *store = host->talk->memory.store;
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
        memory_say(host, false, "its turn was stopped: %s; to ask again: mas ask %s %s --again",
                   turn.why != NULL ? turn.why : "",
                   session_label(&host->root, host->session.id).text, host->agent->id);
    store_turn_free(&turn);
    return 0;
}

static int open_store(struct host *host, struct err *err)
{
    struct conversation_memory *memory = &host->talk->memory;
    struct store *store = NULL;

    if (store_open(host->dir, host->session.id, host->agent->id, true, &store, err) == -1)
        return -1;
    bool lost = !store_knows(store, host->agent->id) && host->memory[0] == '\0' &&
                store_had_talks(host->dir, host->agent->id);
    if (store_enter(store, CHOICE_CURRENT, NULL, &memory->place, err) == -1) {
        store_close(store);
        return -1;
    }
    memory->store = store;
    if (lost) {
        host_note_memory(host, STORE_FILE " has nothing of its earlier conversation");
        host_log(host, host->memory);
        memory_say(host, true, "%s", host->memory); /* the history says so from now on */
    }
    if (restore_turn(host, err) == 0 && memory->hooks->read(host, err) == 0)
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
    if (host->talk->memory.store != NULL || open_store(host, err) == 0)
        return 0;
    if (err->code != MAS_DAMAGED || host_set_store_aside(host, &words, err) == -1)
        return -1;
    *ret_said = words != NULL;
    if (words != NULL)
        memory_say(host, false, "%s", words);
    return open_store(host, err);
}

int memory_need(struct host *host, struct err *err)
{
    bool was_open = host->talk->memory.store != NULL;
    bool said;

    if (need_store(host, &said, err) == -1)
        return -1;
    if (was_open)
        return 0;
    host->talk->memory.hooks->opened(host, false);
    if (host->talk->session != NULL) { /* it came before the store could be opened */
        host->talk->ops->keep_session(host, NULL);
        host_log(host, "conversation stored from now on");
    }
    return 0;
}

/* Makes the agent's session, which still knows what was said, that of the new store's conversation.
 * `said`: the clients know that the old store was set aside. */
static void begin_anew(struct host *host, bool said)
{
    if (host->talk->session != NULL)
        host->talk->ops->keep_session(host, STORE_FILE " was set aside");
    if (host->memory[0] == '\0')
        host_note_memory(host, STORE_FILE " was set aside, and what was said before with it");
    if (!said) /* another host of the team, or doctor, has set it aside */
        memory_say(host, false, STORE_FILE " was set aside; mas has created a new one");
}

/* Closes the store, and forgets the numbers and places that only it knows. */
static void forget_store(struct host *host)
{
    struct talk *talk = host->talk;
    struct conversation_memory *memory = &talk->memory;
    struct turn *turn = &talk->turn;

    unwritten_drop(host);
    store_close(memory->store);
    memory->store = NULL;
    store_place_free(&memory->place);
    memory->place = (struct store_place){.query = 0};
    turn->answer = turn->thought = turn->plan = 0;
    for (size_t i = 0; i < turn->tools.count; i++)
        turn->tools.call[i].number = 0;
    talk->ops->forget_numbers(host);
    for (size_t i = 0; i < talk->queue.count; i++)
        talk->queue.prompts[i].conversation[0] = '\0';
}

void memory_failed(struct host *host, const struct err *err)
{
    struct talk *talk = host->talk;
    bool said = talk->turn.unkept;
    bool set_aside_said;
    struct err again = ERR_INIT;

    talk->turn.unkept = true;
    if (!said)
        host_log(host, err->text);
    if (err->code == MAS_DAMAGED) {
        forget_store(host);
        if (need_store(host, &set_aside_said, &again) == 0) {
            begin_anew(host, set_aside_said);
            return;
        }
    }
    if (talk->memory.store == NULL)
        unwritten_note(host, &again);
    if (!said)
        memory_say(host, false, "new messages cannot be stored: %s", err->text);
}

bool memory_kept(struct host *host, int rc, const struct err *err)
{
    if (rc == -1)
        memory_failed(host, err);
    return rc == 0;
}

struct store_budget memory_budget(const struct host *host)
{
    return (struct store_budget){
        .messages = config_number(&host->config, SETTING_MEMORY_MESSAGES),
        .each = (size_t)config_number(&host->config, SETTING_MEMORY_EACH),
        .all = (size_t)config_number(&host->config, SETTING_MEMORY_ALL),
    };
}

/* ---- writes */

int64_t memory_write(struct host *host, const struct unwritten_write *write)
{
    struct conversation_memory *memory = &host->talk->memory;
    struct err err = ERR_INIT;

    if (memory->store == NULL)
        return 0;
    int64_t number = unwritten_write(host, memory->store, write, &err);
    if (err.code != MAS_OK)
        memory_failed(host, &err);
    return number;
}

static int run_add(struct store *store, struct unwritten_write *write, struct err *err)
{
    const struct store_message message = {.role = (enum store_role)write->n[1],
                                          .state = (enum store_state)write->n[2],
                                          .text = write->text[0],
                                          .len = write->len,
                                          .data = write->text[1],
                                          .key = write->text[2],
                                          .sender = write->text[3],
                                          .trigger = write->trigger};

    return store_add(store, write->n[0], &message, SYNC_CHUNK, &write->number, err);
}

int64_t memory_add(struct host *host, const struct store_message *message)
{
    const struct unwritten_write write = {
        .run = run_add,
        .adds = true,
        .trigger = message->trigger,
        .n = {host->talk->memory.place.query, message->role, message->state},
        .text = {message->text, message->data, message->key, message->sender},
        .len = message->len,
    };

    return memory_write(host, &write);
}

static int run_update(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_update(store, write->number, write->text[0], write->len, write->text[1],
                        (enum store_state)write->n[0], (enum store_sync)write->n[1], err);
}

void memory_update(struct host *host, int64_t number, const char *text, size_t len,
                   const char *data, enum store_state state, enum store_sync sync)
{
    const struct unwritten_write write = {
        .run = run_update, .number = number, .n = {state, sync}, .text = {text, data}, .len = len};

    (void)memory_write(host, &write);
}

static int run_append(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_append(store, write->number, write->text[0], write->len, err);
}

void memory_append(struct host *host, int64_t number, const char *text, size_t len)
{
    const struct unwritten_write write = {
        .run = run_append, .number = number, .text = {text}, .len = len};

    (void)memory_write(host, &write);
}

void memory_finish(struct host *host, int64_t number)
{
    memory_update(host, number, NULL, 0, NULL, MESSAGE_DONE, SYNC_CHUNK);
}

static int run_join_turn(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_join_turn(store, write->number, write->n[0], err);
}

void memory_join_turn(struct host *host, int64_t number, int64_t turn)
{
    const struct unwritten_write write = {.run = run_join_turn, .number = number, .n = {turn}};

    (void)memory_write(host, &write);
}

static int run_end(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_end_turn(store, write->n[0], write->number, write->text[0],
                          (enum store_state)write->n[1], write->text[1], err);
}

enum store_state memory_end_state(const char *stop_reason)
{
    static const char *const interrupts[] = {"cancelled", HOST_END_STOPPED, HOST_END_CLEARED};

    if (strcmp(stop_reason, HOST_END_FAILED) == 0)
        return MESSAGE_FAILED;
    for (size_t i = 0; i < ARRAY_LEN(interrupts); i++)
        if (strcmp(stop_reason, interrupts[i]) == 0)
            return MESSAGE_INTERRUPTED;
    return MESSAGE_DONE;
}

void memory_end_prompt(struct host *host, int64_t prompt, const char *stop_reason, const char *why)
{
    const struct unwritten_write write = {
        .run = run_end,
        .number = prompt,
        .n = {host->talk->memory.place.query, memory_end_state(stop_reason)},
        .text = {stop_reason, why},
        .len = strlen(stop_reason),
    };

    (void)memory_write(host, &write);
}

static int run_session(struct store *store, struct unwritten_write *write, struct err *err)
{
    const struct store_agent_session session = {
        .id = write->text[0],
        .home = {.directory = write->text[1], .machine = write->text[2]},
        .program = write->text[3],
        .outcome = (enum store_outcome)write->n[1],
        .note = write->text[4],
    };

    return store_agent_session(store, write->n[0], &session, err);
}

struct unwritten_write memory_session_write(const struct host *host,
                                            const struct store_agent_session *session)
{
    return (struct unwritten_write){
        .run = run_session,
        .n = {host->talk->memory.place.query, session->outcome},
        .text = {session->id, session->home.directory, session->home.machine, session->program,
                 session->note},
        .len = strlen(session->id),
    };
}

bool memory_renew(struct host *host, struct err *err)
{
    if (err->code != MAS_DAMAGED || host->talk->memory.store == NULL)
        return false;
    memory_failed(host, err);
    if (host->talk->memory.store == NULL)
        return false;
    *err = (struct err)ERR_INIT;
    return true;
}

/* ---- what could not be written */

bool memory_open_again(struct host *host)
{
    struct err err = ERR_INIT;

    return memory_need(host, &err) == 0;
}

bool memory_flush(struct host *host)
{
    struct store *store = host->talk->memory.store;
    struct err err = ERR_INIT;

    if (!unwritten_holds(host))
        return true;
    if (store == NULL)
        return false;
    if (unwritten_flush(host, store, &err) == -1)
        memory_failed(host, &err);
    if (unwritten_holds(host))
        return false;
    host->talk->memory.hooks->opened(host, true);
    return true;
}

void memory_close(struct host *host)
{
    struct conversation_memory *memory = &host->talk->memory;

    (void)memory_flush(host);
    unwritten_close(host);
    store_place_free(&memory->place);
    store_close(memory->store);
}
