#include "host/talk.h"

#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "host/state.h"

#include <stdlib.h>
#include <string.h>

static void tell_query(struct host *host, const char *reason)
{
    struct talk_event event;

    talk_event(&event, "query");
    json_put(&event.out, "conversation", host->talk->place.conversation);
    json_put_int(&event.out, "query", host->talk->place.number);
    json_put(&event.out, "reason", reason);
    talk_tell(host, &event, NULL, 0, 0);
    talk_pane_print(host, "query", reason, strlen(reason));
}

/* How many programs of ours run below the host: its supervisors, and `mas mcp` for each session of
 * the agent. */
static size_t count_own(void)
{
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(0, &ids);
    size_t own = 0;

    for (size_t i = 0; i < count; i++)
        own += proc_runs_same_program(ids[i].pid);
    free(ids);
    return own;
}

/* The process has sessions that it cannot close, or keeps something of those that it closed: it
 * would grow with each clear. */
static bool is_littered(struct talk *talk)
{
    size_t servers = count_own();

    if (talk->left <= 1 || servers < talk->servers)
        talk->servers = servers;
    return talk->unclosed >= TALK_UNCLOSED_MAX || talk->left >= TALK_LEFT_MAX ||
           servers > talk->servers + TALK_SERVERS_MAX;
}

/* Leaves the present session for what the open query has. A turn that is on ends first: its agent
 * is told, and nothing of it is heard any more. */
static void move_on(struct host *host, bool in_turn)
{
    struct talk *talk = host->talk;

    if (talk->acp == NULL || host->child.phase != CHILD_RUNS || talk->phase == TALK_INITIALIZES ||
        talk->phase == TALK_STUCK)
        return; /* the ladder comes later, and to the new query */
    if (in_turn || talk->phase == TALK_ENDS_TURN) {
        talk->phase = TALK_ENDS_TURN;
        return;
    }
    talk_turn_is_gone(host);
}

void talk_turn_is_gone(struct host *host)
{
    struct talk *talk = host->talk;

    talk_leave_session(host);
    if (is_littered(talk)) {
        host_log(host, talk->unclosed > 0
                           ? "it cannot close sessions and is started anew"
                           : "it keeps what closed sessions had and is started anew");
        child_end(host, child_times(host), 0, true);
        return;
    }
    talk_resume(host);
}

/* The turn ends here and now for mas. true if one was on. */
static bool end_present(struct host *host)
{
    struct talk *talk = host->talk;

    if (!talk->turn.on)
        return false;
    if (!talk->turn.cancelled && talk->acp != NULL && talk->session != NULL)
        acp_cancel(talk->acp, talk->session);
    talk->serial = talk->turn.serial;
    talk->phase_until = time_monotonic_ms() + TALK_CANCEL_MS;
    talk_end_turn(host, "cancelled", 0, NULL);
    return true;
}

int talk_clear(struct host *host, const struct talk_clear_options *options, int64_t *ret_then,
               struct err *err)
{
    struct talk *talk = host->talk;
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

    if (talk_need_store(host, err) == -1 ||
        (options->mode != NULL && talk_check_mode(host, options->mode, err) == -1))
        return -1;
    bool in_turn = end_present(host);
    int rc = store_clear(talk->store, talk->place.conversation, &clear, &place, &then, err);
    if (rc == -1 && talk_renew_store(host, err))
        rc = store_clear(talk->store, talk->place.conversation, &clear, &place, &then, err);
    if (rc == -1) {
        if (in_turn) /* what was said stays where it is; the session goes on */
            move_on(host, in_turn);
        return -1;
    }
    store_place_free(&talk->place);
    talk->place = place;
    talk_fail_queue(host, TALK_END_CLEARED, "the context was cleared");
    if (then != 0)
        talk_push_prompt(host, then, options->then_text, options->then_len, options->from,
                         options->tags);
    host_log(host, "context cleared");
    tell_query(host, options->reason);
    /* A session that is being opened has nothing of before in it: it is for the new query. */
    if (talk->phase != TALK_OPENS || talk->summary.len > 0)
        move_on(host, in_turn);
    *ret_then = then;
    return 0;
}

int talk_change_conversation(struct host *host, enum conversation_choice choice, const char *id,
                             struct err *err)
{
    struct talk *talk = host->talk;

    if (talk_need_store(host, err) == -1)
        return -1;
    if (choice == CHOICE_NAMED && strcmp(id, talk->place.conversation) == 0)
        return 0;
    if (talk->turn.on || talk->count > 0) {
        (void)err_set(err, MAS_CONFLICT, "it is at work");
        return err_hint(err, "wait for it, or end its turn with: mas cancel SESSION %s",
                        host->agent->id);
    }
    return talk_enter_conversation(host, choice, id, err);
}

int talk_enter_conversation(struct host *host, enum conversation_choice choice, const char *id,
                            struct err *err)
{
    struct talk *talk = host->talk;
    struct store_place place = {.query = 0};
    struct talk_event event;

    int rc = store_enter(talk->store, choice, id, &place, err);
    if (rc == -1 && talk_renew_store(host, err))
        rc = store_enter(talk->store, choice, id, &place, err);
    if (rc == -1)
        return -1;
    bool same = strcmp(place.conversation, talk->place.conversation) == 0;
    store_place_free(&talk->place);
    talk->place = place;
    if (same)
        return 0;
    talk_event(&event, "conversation");
    json_put(&event.out, "conversation", place.conversation);
    talk_tell(host, &event, NULL, 0, 0);
    tell_query(host, "conversation");
    move_on(host, false);
    return 0;
}
