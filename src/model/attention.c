#include "model/attention.h"

static const char *const names[ATTENTION_COUNT] = {
    [ATTENTION_NEEDED] = "needs you", [ATTENTION_FAILED] = "failed",
    [ATTENTION_WORKING] = "working",  [ATTENTION_DONE] = "done",
    [ATTENTION_IDLE] = "idle",
};

static const enum attention classes[AGENT_STATE_COUNT] = {
    [AGENT_ASLEEP] = ATTENTION_IDLE,     [AGENT_STARTING] = ATTENTION_WORKING,
    [AGENT_WORKING] = ATTENTION_WORKING, [AGENT_IDLE] = ATTENTION_IDLE,
    [AGENT_WAITING] = ATTENTION_NEEDED,  [AGENT_LIMITED] = ATTENTION_WORKING,
    [AGENT_PAUSED] = ATTENTION_NEEDED,   [AGENT_EXITED] = ATTENTION_IDLE,
    [AGENT_CRASHED] = ATTENTION_NEEDED,
};

const char *attention_name(enum attention attention)
{
    return names[attention];
}

static bool is_done(const struct agent_status *status)
{
    return status->done_ms != 0 && status->done_ms > status->seen_ms;
}

enum attention attention_of(const struct agent_status *status)
{
    enum attention class = classes[status->state];

    if (status->state == AGENT_CRASHED && status->restart_ms != 0)
        return ATTENTION_WORKING;
    if (class != ATTENTION_IDLE || !is_done(status))
        return class;
    return agent_turn_is_bad(status) ? ATTENTION_FAILED : ATTENTION_DONE;
}

bool attention_needs_person(const struct agent_status *status)
{
    return attention_of(status) <= ATTENTION_FAILED;
}

int64_t attention_since(const struct agent_status *status)
{
    enum attention class = attention_of(status);

    return class == ATTENTION_DONE || class == ATTENTION_FAILED ? status->done_ms
                                                                : status->since_ms;
}

int attention_compare(const struct agent_status *a, const struct agent_status *b)
{
    enum attention class = attention_of(a), other = attention_of(b);
    int64_t since = attention_since(a), other_since = attention_since(b);

    if (class != other)
        return class < other ? -1 : 1;
    if (since == other_since)
        return 0;
    return (since < other_since) == (class <= ATTENTION_FAILED) ? -1 : 1;
}
