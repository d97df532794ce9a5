#include "host/acp/phase.h"

#define BIT(phase) (1U << PHASE_##phase)

/* A clear, a change of the conversation or a failed way to get a session leads to one of these from
 * each phase in which the agent speaks the protocol. */
#define GETS_SESSION (BIT(RESUMES) | BIT(LOADS) | BIT(OPENS))
/* The process may end in any phase, and in any phase the host may find that it cannot use it. */
#define ENDS (BIT(OFF) | BIT(STUCK))

static const struct {
    const char *name;
    const char *event; /* that the phase waits for */
    unsigned next; /* phases that may follow, besides ENDS */
} phases[PHASE_COUNT] = {
    [PHASE_OFF] = {"OFF", "a process", BIT(INITIALIZES)},
    [PHASE_INITIALIZES] = {"INITIALIZES", "the agent's first answer", GETS_SESSION},
    [PHASE_RESUMES] = {"RESUMES", "`session/resume`", GETS_SESSION | BIT(SETS)},
    [PHASE_LOADS] = {"LOADS", "`session/load`", GETS_SESSION | BIT(SETTLES)},
    [PHASE_SETTLES] = {"SETTLES", "150 ms of silence", GETS_SESSION | BIT(SETS)},
    [PHASE_OPENS] = {"OPENS", "`session/new`", GETS_SESSION | BIT(SUMS_UP) | BIT(SETS)},
    [PHASE_SUMS_UP] = {"SUMS_UP", "a summary of the history", GETS_SESSION | BIT(SUMS_UP)},
    [PHASE_SETS] = {"SETS", "mode, model, options, one after the other",
                    GETS_SESSION | BIT(SETS) | BIT(READY)},
    [PHASE_READY] = {"READY", "prompts", GETS_SESSION | BIT(ENDS_TURN)},
    [PHASE_ENDS_TURN] = {"ENDS_TURN", "the end of a turn that a clear has cut off", GETS_SESSION},
    [PHASE_STUCK] = {"STUCK", "a login, or nothing", 0},
};

bool phase_may_follow(enum phase next, enum phase phase)
{
    return ((phases[phase].next | ENDS) & 1U << next) != 0;
}

bool phase_enter(struct phase_state *state, enum phase next, int64_t serial, int64_t until)
{
    bool may = phase_may_follow(next, state->now);

    *state = (struct phase_state){.now = next, .serial = serial, .until = until};
    return may;
}

bool phase_waits_for(const struct phase_state *state, enum phase phase, int64_t serial)
{
    return state->now == phase && state->serial == serial;
}

const char *phase_name(enum phase phase)
{
    return phases[phase].name;
}

const char *phase_event(enum phase phase)
{
    return phases[phase].event;
}
