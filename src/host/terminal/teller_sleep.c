/*
 * The program is at rest if it says so, and nothing waits for it. What a person has typed on its
 * line, and a question on its screen, would be lost with it.
 */

#include "base/time.h"
#include "host/backend.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

enum { BEGINS_MS = 10000 }; /* so long behind its Enter, a line may become a turn */

bool teller_is_at_rest(const struct host *host)
{
    enum agent_state state = host->backend->state(host);

    return host->child.phase == CHILD_RUNS && !host->talk->turn.on &&
           host->terminal->delivery.count == 0 && host->talk->queue.count == 0 &&
           (state == AGENT_IDLE || state == AGENT_LIMITED);
}

static bool has_line(const struct host *host)
{
    const struct terminal *terminal = host->terminal;

    return terminal->draft.state != DRAFT_NONE || terminal->aside.len > 0 ||
           !pane_is_empty(&host->pane.keys);
}

static bool asks(const struct host *host)
{
    return host->backend->state(host) == AGENT_WAITING || watcher_asks(&host->terminal->watcher);
}

bool teller_is_used(const struct host *host)
{
    const struct teller *teller = host->terminal->teller;
    bool entered = teller->entered != 0 ||
                   (teller->typed_count > 0 && !teller->typed[teller->typed_count - 1].message);

    return asks(host) || has_line(host) ||
           (entered && time_monotonic_ms() < teller->enter_at + BEGINS_MS);
}

bool teller_is_busy(const struct host *host, struct str *why)
{
    const struct terminal *terminal = host->terminal;

    if (host->backend->state(host) == AGENT_WORKING)
        str_add(why, "it is working");
    else if (terminal->delivery.count > 0)
        str_add(why, "messages wait for it");
    else if (has_line(host))
        str_add(why, "a person has typed on its line, which has to be sent or cleared first");
    else if (terminal->teller->behind)
        str_add(why, "a task of it goes on behind its turn");
    return why->len > 0;
}

bool teller_is_kept_awake(const struct host *host, struct str *why)
{
    if (asks(host))
        str_add(why, "it asks something on its screen");
    else if (host->backend->state(host) == AGENT_STARTING || host->terminal->early.on)
        str_add(why, "it starts");
    else
        return teller_is_busy(host, why) || !teller_can_continue(host, why);
    return true;
}
