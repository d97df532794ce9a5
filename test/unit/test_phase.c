/* The table of an ACP agent's phases. */
#include "unit.h"

#include "host/acp/phase.h"

/* The phases in which the agent speaks the protocol. */
static bool speaks(enum phase phase)
{
    return phase != PHASE_OFF && phase != PHASE_STUCK;
}

TEST(a_phase_keeps_what_it_waits_for)
{
    struct phase_state state = {.now = PHASE_OFF, .until = -1};

    CHECK(phase_enter(&state, PHASE_INITIALIZES, 1, -1));
    CHECK(phase_waits_for(&state, PHASE_INITIALIZES, 1));
    CHECK(!phase_waits_for(&state, PHASE_INITIALIZES, 2));
    CHECK(!phase_waits_for(&state, PHASE_OPENS, 1));
    CHECK(phase_enter(&state, PHASE_LOADS, 2, -1));
    CHECK(phase_enter(&state, PHASE_SETTLES, 0, 3000));
    CHECK_INT(state.until, 3000);
    CHECK(!phase_waits_for(&state, PHASE_LOADS, 2));
}

TEST(every_phase_may_end_or_get_stuck)
{
    for (enum phase phase = PHASE_OFF; phase < PHASE_COUNT; phase++) {
        CHECK(phase_may_follow(PHASE_OFF, phase));
        CHECK(phase_may_follow(PHASE_STUCK, phase));
    }
}

TEST(a_clear_leads_to_another_session_from_everywhere)
{
    for (enum phase phase = PHASE_OFF; phase < PHASE_COUNT; phase++) {
        CHECK(phase_may_follow(PHASE_RESUMES, phase) == speaks(phase));
        CHECK(phase_may_follow(PHASE_LOADS, phase) == speaks(phase));
        CHECK(phase_may_follow(PHASE_OPENS, phase) == speaks(phase));
    }
}

TEST(prompts_are_taken_only_after_the_settings)
{
    for (enum phase phase = PHASE_OFF; phase < PHASE_COUNT; phase++) {
        CHECK(phase_may_follow(PHASE_READY, phase) == (phase == PHASE_SETS));
        CHECK(phase_may_follow(PHASE_ENDS_TURN, phase) == (phase == PHASE_READY));
        CHECK(phase_may_follow(PHASE_SETTLES, phase) == (phase == PHASE_LOADS));
        CHECK(phase_may_follow(PHASE_SUMS_UP, phase) ==
              (phase == PHASE_OPENS || phase == PHASE_SUMS_UP));
        CHECK(phase_may_follow(PHASE_INITIALIZES, phase) == (phase == PHASE_OFF));
    }
}

TEST(a_phase_that_may_not_follow_is_told)
{
    struct phase_state state = {.now = PHASE_OFF, .until = -1};

    CHECK(!phase_enter(&state, PHASE_READY, 0, -1));
    CHECK_INT(state.now, PHASE_READY);
}
