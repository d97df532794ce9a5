#include "host/talk/doing.h"

#include "host/talk/limit.h"
#include "host/talk/quota.h"
#include "host/talk/turns.h"

enum agent_state doing_state(const struct host *host)
{
    const struct talk *talk = host->talk;
    bool ready = talk->ops->is_ready(host);
    enum agent_state alone = ready ? AGENT_IDLE : talk->ops->unready(host);

    if (host->child.phase != CHILD_RUNS)
        return alone == AGENT_WAITING ? AGENT_WAITING : host->child.rest;
    if (talk->permissions.count > 0 || alone == AGENT_WAITING)
        return AGENT_WAITING;
    if (talk->turn.on)
        return AGENT_WORKING;
    if (!ready)
        return alone;
    if (limit_is_on(talk))
        return AGENT_LIMITED;
    return talk->spending.paused[0] != '\0' ? AGENT_PAUSED
           : quota_is_on(talk)              ? AGENT_PAUSED
           : turns_are_waited_for(talk)     ? AGENT_IDLE
           : talk->queue.count > 0          ? AGENT_WORKING
           : !talk->ops->is_at_rest(host)   ? AGENT_WORKING
                                            : AGENT_IDLE;
}

/* Returns what the agent waits for, why it cannot go on, or what works beside its turn; "". */
static const char *note(const struct host *host)
{
    const struct talk *talk = host->talk;

    if (talk->permissions.count > 0)
        return talk->permissions.open[0].title;
    if (limit_is_on(talk))
        return talk->limit.note;
    if (quota_is_on(talk))
        return talk->quota.note;
    if (turns_are_waited_for(talk))
        return talk->turns.note;
    if (!talk->turn.on && talk->spending.paused[0] != '\0')
        return talk->spending.paused;
    return talk->ops->note(host);
}

void doing_fill(const struct host *host, struct agent_status *ret)
{
    const struct talk *talk = host->talk;
    const char *words = note(host);

    (void)snprintf(ret->conversation, sizeof ret->conversation, "%s",
                   talk->memory.place.conversation);
    ret->usage = talk->spending.usage;
    if (words[0] != '\0')
        ret->note = (char *)(uintptr_t)words;
    if (ret->state == AGENT_LIMITED && limit_is_on(talk)) {
        ret->until_ms = talk->limit.until_ms;
        ret->retry_ms = ret->until_ms == 0 ? talk->limit.due_ms : 0;
    }
    if (talk->permissions.count == 0)
        return;
    ret->permission = (char *)(uintptr_t)talk->permissions.open[0].id;
    ret->asks = talk->permissions.open[0].title;
}
