/* The steps are in the header. The parts do each its share; what the agent has to do, it is asked.
 */

#include "host/talk/clear.h"

#include "host/talk/memory.h"
#include "host/talk/query.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "protocol/host.h"

/* Ends the turn for the clients, and tells the agent to end it. Returns its serial, 0: none is on.
 */
static int64_t cut_off_turn(struct host *host)
{
    const struct turn *turn = &host->talk->turn;
    int64_t serial = turn->serial;

    host->talk->ops->cut_off(host);
    if (!turn->on)
        return 0;
    turn_end(host, "cancelled", 0, NULL);
    return serial;
}

int clear_context(struct host *host, const struct clear_options *options, int64_t *ret_then,
                  struct err *err)
{
    const struct talk_ops *ops = host->talk->ops;
    struct conversation_memory *memory = &host->talk->memory;
    struct store_place place = {.query = 0};
    const struct store_clear clear = {
        .reason = options->reason,
        .mode = options->mode,
        .then_text = options->then_text,
        .then_len = options->then_len,
        .sender = strcmp(options->from, "-") != 0 ? options->from : NULL,
        .tags = options->tags,
        .adopts = options->adopts,
    };
    int64_t then = 0;

    if (memory_need(host, err) == -1 ||
        (options->mode != NULL && ops->check_mode(host, options->mode, err) == -1))
        return -1;
    int64_t turn = cut_off_turn(host);
    int rc = store_clear(memory->store, memory->place.conversation, &clear, &place, &then, err);
    if (rc == -1 && memory_renew(host, err))
        rc = store_clear(memory->store, memory->place.conversation, &clear, &place, &then, err);
    if (rc == -1) {
        if (turn != 0) /* the query stays, and so does what was said */
            ops->leave(host, turn, false);
        return -1;
    }
    store_place_free(&memory->place);
    memory->place = place;
    queue_fail(host, HOST_END_CLEARED, "the context was cleared");
    if (then != 0)
        queue_push(host, then, options->then_text, options->then_len, options->from, NULL,
                   options->tags);
    host_log(host, options->adopts != NULL ? "a session is adopted" : "context cleared");
    query_tell(host, options->reason);
    ops->leave(host, turn, true);
    *ret_then = then;
    return 0;
}
