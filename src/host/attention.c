/*
 * What a person knows of this agent: when it last did something worth looking at, and when somebody
 * looked. Whether the pane is seen is asked of tmux through display.c, and only if the answer
 * matters: when the agent begins to need a person or is done, and when keys come while nobody has
 * looked at that.
 */
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"

#include "base/time.h"
#include "model/attention.h"
#include "os/file.h"
#include "store/limits/waiting.h"

void attention_fill(const struct host *host, struct agent_status *ret)
{
    ret->done_ms = host->attention.done_ms;
    ret->seen_ms = host->attention.seen_ms;
    ret->turn = host->attention.turn;
    ret->turn_why = (char *)(uintptr_t)host->attention.why;
}

/* Returns true if it matters whether somebody looks. */
static bool is_worth_a_look(const struct host *host)
{
    enum attention class = host->attention.class;

    return class <= ATTENTION_FAILED || class == ATTENTION_DONE;
}

void attention_seen(struct host *host)
{
    struct host_attention *attention = &host->attention;

    /* later than the end of a turn in the same millisecond */
    attention->seen_ms = time_epoch_ms();
    if (attention->seen_ms < attention->done_ms)
        attention->seen_ms = attention->done_ms;
    attention->looked = attention->known = true;
    attention->wanted = false;
    server_mark_dirty(host);
}

static void ask(struct host *host)
{
    host->attention.wanted = host->pane_id[0] != '\0';
    host->attention.known = !host->attention.wanted;
}

/* Returns true if a person follows the agent through a client other than its pane, such as `mas
 * ask` or an editor. With `asks` only who has asked counts: that a turn has failed is not for those
 * who look at many agents. */
static bool is_followed(struct host *host, bool asks)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        bool follows = client->kind == CLIENT_ASKS ||
                       (client->kind == CLIENT_LISTENS && (client->asked || !asks));
        bool pane = host->pane_program != 0 && client->peer.pid == host->pane_program;
        if (follows && !pane && client->from == NULL && peer_is_person(host, client))
            return true;
    }
    return false;
}

/* Notes whether somebody looks at what has just happened, or finds that out. */
static void look(struct host *host)
{
    if (is_followed(host, host->attention.class == ATTENTION_FAILED))
        attention_seen(host);
    else
        ask(host);
}

/* Keeps how a turn has ended. */
static void keep(struct host *host, enum turn_outcome outcome, const char *why, int64_t at_ms)
{
    struct host_attention *attention = &host->attention;

    attention->done_ms = at_ms;
    attention->turn = outcome;
    (void)snprintf(attention->why, sizeof attention->why, "%.*s",
                   why != NULL ? (int)str_fit(why, sizeof attention->why - 1) : 0,
                   why != NULL ? why : "");
}

void attention_turn_ended(struct host *host, enum turn_outcome outcome, const char *why)
{
    keep(host, outcome, why, time_epoch_ms());
    host->attention.failed = host->attention.failed || outcome == TURN_FAILED;
    if (is_followed(host, outcome == TURN_FAILED))
        attention_seen(host);
    else if (outcome == TURN_FAILED)
        notify_failed(host, host->attention.why);
}

void attention_restore(struct host *host, enum turn_outcome outcome, const char *why, int64_t at_ms,
                       bool cut)
{
    keep(host, outcome, why, at_ms);
    if (cut)
        notify_failed(host, host->attention.why);
}

/* Returns true if the agent's program has just ended by itself, with an error, and does not start
 * again, and if no turn has failed with it. A crash has a state of its own. */
static bool has_failed(const struct host *host, const struct agent_status *now)
{
    return now->state == AGENT_EXITED && host->told.state != AGENT_EXITED && !host->child.asked &&
           now->exit_code != 0 && now->restart_ms == 0 && !host->attention.failed;
}

/* The program has ended in a way that nobody wanted. */
static void fail(struct host *host, const struct agent_status *now)
{
    _cleanup_str_ struct str why = STR_INIT;

    agent_end_add(now, &why);
    if (now->note[0] != '\0')
        str_addf(&why, "%s%s", why.len > 0 ? ": " : "", now->note);
    attention_turn_ended(host, TURN_FAILED, str_text(&why));
}

/* Returns true if a program on a terminal has just done something. What it prints before it is idle
 * for the first time is its greeting. */
static bool has_done(struct host *host, const struct agent_status *now)
{
    struct host_attention *attention = &host->attention;
    bool worked = host->told.state == AGENT_WORKING && now->state != AGENT_WORKING;
    bool rested = attention->rested;

    if (now->state == AGENT_IDLE)
        attention->rested = true;
    else if (now->state == AGENT_STARTING || !agent_state_is_live(now->state))
        attention->rested = false;
    return worked && !now->tells &&
           ((now->state == AGENT_IDLE && rested) ||
            (now->state == AGENT_EXITED && !host->child.asked));
}

void attention_update(struct host *host, struct agent_status *now)
{
    struct host_attention *attention = &host->attention;

    bool done = has_done(host, now);
    if (has_failed(host, now))
        fail(host, now);
    else if (done)
        keep(host, TURN_DONE, NULL, time_epoch_ms());
    attention->failed = false;
    attention_fill(host, now);
    enum attention class = attention_of(now);
    if (class == attention->class)
        return;
    attention->class = class;
    if (class != ATTENTION_IDLE) /* it may have become idle because somebody looks */
        attention->looked = false;
    if (is_worth_a_look(host))
        look(host);
    attention_fill(host, now);
}

void attention_keys(struct host *host)
{
    const struct host_attention *attention = &host->attention;

    if (is_worth_a_look(host) && !attention->looked)
        ask(host);
}

bool attention_asks(const struct host *host)
{
    return host->attention.wanted;
}

void attention_asked(struct host *host)
{
    host->attention.wanted = false;
}

void attention_answered(struct host *host, bool seen)
{
    struct host_attention *attention = &host->attention;

    if (seen && is_worth_a_look(host))
        attention_seen(host);
    if (!attention->wanted)
        attention->known = true;
}

/* ---- the entry of this agent in the register of who waits (store/limits/waiting.h)
 *
 * Another writer holds the lock of the register for an instant; then the host tries again a little
 * later. */

enum { AGAIN_MS = 50, LAST_WAIT_MS = 200 };

void register_open(struct host *host)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    waiting_read(&host->root, &list);
    for (size_t i = 0; i < list.count; i++) /* of a host of this agent that was killed */
        if (strcmp(list.entries[i].session, host->session.id) == 0 &&
            strcmp(list.entries[i].agent, host->agent->id) == 0)
            host->entry.since_ms = list.entries[i].since_ms;
}

int64_t register_tick(struct host *host, int64_t now)
{
    struct err err = ERR_INIT;
    const struct host_attention *attention = &host->attention;
    int64_t since = host->leaving                          ? 0
                    : attention->class == ATTENTION_NEEDED ? host->told.since_ms
                    : attention->class == ATTENTION_FAILED ? attention->done_ms
                                                           : 0;

    if (since == host->entry.since_ms)
        return -1;
    if (now < host->entry.due)
        return host->entry.due;
    if (waiting_set(&host->root, host->session.id, host->agent->id, since, LOCK_TRY, &err) == -1 &&
        err.code == MAS_CONFLICT) {
        host->entry.due = now + AGAIN_MS;
        return host->entry.due;
    }
    host->entry.since_ms = since; /* a register that cannot be written is made again by a reader */
    return -1;
}

void register_close(struct host *host)
{
    struct err ignored = ERR_INIT;

    if (host->entry.since_ms != 0)
        (void)waiting_set(&host->root, host->session.id, host->agent->id, 0, LAST_WAIT_MS,
                          &ignored);
    host->entry.since_ms = 0;
}
