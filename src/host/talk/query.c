/*
 * The store knows first which query the agent is in, then the clients do, and only then the agent
 * leaves its session: a host that begins after a kill reads it from the store.
 */

#include "host/talk/query.h"

#include "host/talk/event.h"
#include "host/talk/memory.h"

void query_tell(struct host *host, const char *reason)
{
    const struct store_place *place = &host->talk->memory.place;
    struct client_event event;

    event_open(&event, "query");
    json_put_all(&event.out, JT("conversation", place->conversation), JI("query", place->number),
                 JT("reason", reason));
    event_tell(host, &event, NULL, 0, 0);
    host->talk->ops->show(host, "query", reason, strlen(reason));
}

static int enter(struct host *host, enum conversation_choice choice, const char *id,
                 struct err *err)
{
    struct conversation_memory *memory = &host->talk->memory;
    struct store_place place = {.query = 0};
    struct client_event event;

    int rc = store_enter(memory->store, choice, id, &place, err);
    if (rc == -1 && memory_renew(host, err))
        rc = store_enter(memory->store, choice, id, &place, err);
    if (rc == -1)
        return -1;
    bool same = strcmp(place.conversation, memory->place.conversation) == 0;
    store_place_free(&memory->place);
    memory->place = place;
    if (same)
        return 0;
    event_open(&event, "conversation");
    json_put(&event.out, "conversation", place.conversation);
    event_tell(host, &event, NULL, 0, 0);
    query_tell(host, "conversation");
    host->talk->ops->leave(host, 0, false);
    return 0;
}

int query_enter(struct host *host, const char *conversation, struct err *err)
{
    return enter(host, CHOICE_NAMED, conversation, err);
}

int query_change(struct host *host, enum conversation_choice choice, const char *id,
                 struct err *err)
{
    const struct talk *talk = host->talk;

    if (memory_need(host, err) == -1)
        return -1;
    if (choice == CHOICE_NAMED && strcmp(id, talk->memory.place.conversation) == 0)
        return 0;
    if (talk->turn.on || talk->queue.count > 0) {
        (void)err_set(err, MAS_CONFLICT, "it is working");
        return err_hint(err, "wait for it, or cancel its turn with: mas cancel SESSION %s",
                        host->agent->id);
    }
    return enter(host, choice, id, err);
}
