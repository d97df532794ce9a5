/*
 * What a person knows of this agent: when it last did something worth looking at, and when somebody
 * looked. Whether the pane is seen is asked of tmux through display.c, and only if the answer
 * matters: when the agent begins to need a person or is done, and when keys come while nobody has
 * looked at that.
 */
#include "host/backend.h"
#include "host/state.h"

#include "base/str.h"
#include "base/time.h"
#include "model/attention.h"

void attention_fill(const struct host *host, struct agent_status *ret)
{
    ret->done_ms = host->attention.done_ms;
    ret->seen_ms = host->attention.seen_ms;
}

/* Returns true if it matters whether somebody looks. */
static bool is_worth_a_look(const struct host *host)
{
    enum attention class = host->attention.class;

    return class == ATTENTION_NEEDED || class == ATTENTION_DONE;
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
 * ask` or an editor. */
static bool is_followed(struct host *host)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        bool follows = client->kind == CLIENT_ASKS || client->kind == CLIENT_LISTENS;
        bool pane = host->pane_program != 0 && client->peer.pid == host->pane_program;
        if (follows && !pane && client->from == NULL && peer_is_person(host, client))
            return true;
    }
    return false;
}

/* Notes whether somebody looks at what has just happened, or finds that out. */
static void look(struct host *host)
{
    if (is_followed(host))
        attention_seen(host);
    else
        ask(host);
}

void attention_turn_ended(struct host *host)
{
    host->attention.done_ms = time_epoch_ms();
    if (is_followed(host))
        attention_seen(host);
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
    return worked && !now->acp &&
           ((now->state == AGENT_IDLE && rested) ||
            (now->state == AGENT_EXITED && !host->child.asked));
}

void attention_update(struct host *host, struct agent_status *now)
{
    struct host_attention *attention = &host->attention;

    if (has_done(host, now))
        attention->done_ms = time_epoch_ms();
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

bool attention_is_known(const struct host *host)
{
    return host->attention.known;
}

bool attention_is_looked_at(const struct host *host)
{
    return host->attention.looked;
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
