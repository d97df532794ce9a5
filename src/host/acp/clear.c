/*
 * A clear cuts off the turn, opens the next query in the store in one transaction, tells the
 * clients, and only then leaves the agent's session: a host that begins after a kill reads from the
 * store which query it is in. The agent gets a while to end the turn; what it still says there is
 * dropped. A process that would grow with each clear is restarted.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "os/proc.h"

enum {
    UNCLOSED_MAX = 4, /* sessions left behind in a process that cannot close them */
    LEFT_MAX = 20, /* in a process that can */
    SERVERS_MAX = 4, /* programs of mas that still run for closed sessions: Codex keeps them */
};

static void tell_query(struct host *host, const char *reason)
{
    const struct store_place *place = &host->talk->memory.place;
    struct client_event event;

    event_open(&event, "query");
    json_put_all(&event.out, JT("conversation", place->conversation), JI("query", place->number),
                 JT("reason", reason));
    event_tell(host, &event, NULL, 0, 0);
    chat_print(host, "query", reason, strlen(reason));
}

/* ---- from session to session */

/* Returns how many programs of mas run below the host: its supervisors, and `mas mcp` for each
 * session of the agent. */
static size_t count_own(void)
{
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(NULL, 0, &ids);
    size_t own = 0;

    for (size_t i = 0; i < count; i++)
        own += proc_runs_same_program(ids[i].pid);
    free(ids);
    return own;
}

/* Returns true if the process would grow with each clear: it has sessions that it cannot close, or
 * keeps the programs of those that it closed. */
static bool is_littered(struct agent_link *link)
{
    size_t servers = count_own();

    if (link->left <= 1 || servers < link->servers)
        link->servers = servers;
    return link->unclosed >= UNCLOSED_MAX || link->left >= LEFT_MAX ||
           servers > link->servers + SERVERS_MAX;
}

void clear_turn_ended(struct host *host)
{
    struct agent_link *link = &host->conversation->link;

    opening_leave(host);
    if (is_littered(link)) {
        host_log(host, link->unclosed > 0
                           ? "the agent cannot close sessions and is restarted"
                           : "the agent keeps programs of closed sessions and is restarted");
        child_end(host, child_times(host), 0, true);
        return;
    }
    resume_begin(host);
}

/* Leaves the present session for one of the present query. `turn` is the serial of a turn that was
 * just cut off, 0: none was on. The agent ends that turn first, and the host hears nothing of it
 * any more. */
static void move_on(struct host *host, int64_t turn)
{
    const struct agent_link *link = &host->conversation->link;

    if (link->acp == NULL || host->child.phase != CHILD_RUNS ||
        link->phase.now == PHASE_INITIALIZES || link->phase.now == PHASE_STUCK)
        return; /* the next session is for the new query anyway */
    if (turn != 0)
        link_enter(host, PHASE_ENDS_TURN, turn, time_monotonic_ms() + TURN_CANCEL_MS);
    else if (link->phase.now != PHASE_ENDS_TURN)
        clear_turn_ended(host);
}

/* Ends the turn for the clients, and tells the agent to end it. Returns its serial, 0: none is on.
 */
static int64_t cut_off_turn(struct host *host)
{
    const struct agent_link *link = &host->conversation->link;
    const struct turn *turn = &host->talk->turn;
    int64_t serial = turn->serial;

    steer_drop_all(host);
    if (!turn->on)
        return 0;
    if (!turn->cancelled && link->acp != NULL && host->talk->session != NULL)
        acp_cancel(link->acp, host->talk->session);
    turn_end(host, "cancelled", 0, NULL);
    return serial;
}

/* ---- clears */

int clear_context(struct host *host, const struct clear_options *options, int64_t *ret_then,
                  struct err *err)
{
    struct conversation *conversation = host->conversation;
    struct conversation_memory *memory = &conversation->talk.memory;
    struct store_place place = {.query = 0};
    const struct store_clear clear = {
        .reason = options->reason,
        .mode = options->mode,
        .then_text = options->then_text,
        .then_len = options->then_len,
        .sender = strcmp(options->from, "-") != 0 ? options->from : NULL,
        .tags = options->tags,
    };
    int64_t then = 0;

    if (memory_need(host, err) == -1 ||
        (options->mode != NULL && settings_check_mode(host, options->mode, err) == -1))
        return -1;
    int64_t turn = cut_off_turn(host);
    int rc = store_clear(memory->store, memory->place.conversation, &clear, &place, &then, err);
    if (rc == -1 && memory_renew(host, err))
        rc = store_clear(memory->store, memory->place.conversation, &clear, &place, &then, err);
    if (rc == -1) {
        if (turn != 0) /* the query stays, and so does what was said */
            move_on(host, turn);
        return -1;
    }
    store_place_free(&memory->place);
    memory->place = place;
    queue_fail(host, HOST_END_CLEARED, "the context was cleared");
    if (then != 0)
        queue_push(host, then, options->then_text, options->then_len, options->from, options->tags);
    host_log(host, "context cleared");
    tell_query(host, options->reason);
    conversation->link.cleared = conversation->talk.session != NULL;
    /* a session that is being opened knows nothing yet, and serves the new query */
    if (conversation->link.phase.now != PHASE_OPENS || conversation->resume.summary.len > 0)
        move_on(host, turn);
    *ret_then = then;
    return 0;
}

/* ---- another conversation */

int clear_change_conversation(struct host *host, enum conversation_choice choice, const char *id,
                              struct err *err)
{
    const struct conversation *conversation = host->conversation;

    if (memory_need(host, err) == -1)
        return -1;
    if (choice == CHOICE_NAMED && strcmp(id, conversation->talk.memory.place.conversation) == 0)
        return 0;
    if (conversation->talk.turn.on || conversation->talk.queue.count > 0) {
        (void)err_set(err, MAS_CONFLICT, "it is working");
        return err_hint(err, "wait for it, or cancel its turn with: mas cancel SESSION %s",
                        host->agent->id);
    }
    return clear_enter_conversation(host, choice, id, err);
}

int clear_enter_conversation(struct host *host, enum conversation_choice choice, const char *id,
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
    tell_query(host, "conversation");
    move_on(host, 0);
    return 0;
}
