#include "unit.h"

#include "model/attention.h"

TEST(each_state_has_a_class)
{
    static const struct {
        struct agent_status status;
        enum attention attention;
    } cases[] = {
        {{.state = AGENT_WAITING}, ATTENTION_NEEDED},
        {{.state = AGENT_CRASHED}, ATTENTION_NEEDED},
        {{.state = AGENT_CRASHED, .restart_ms = 5}, ATTENTION_WORKING},
        {{.state = AGENT_PAUSED}, ATTENTION_NEEDED},
        {{.state = AGENT_WORKING, .done_ms = 5}, ATTENTION_WORKING},
        {{.state = AGENT_STARTING}, ATTENTION_WORKING},
        {{.state = AGENT_LIMITED, .done_ms = 5}, ATTENTION_WORKING},
        {{.state = AGENT_IDLE}, ATTENTION_IDLE},
        {{.state = AGENT_IDLE, .done_ms = 5}, ATTENTION_DONE},
        {{.state = AGENT_IDLE, .done_ms = 5, .seen_ms = 4}, ATTENTION_DONE},
        {{.state = AGENT_IDLE, .done_ms = 5, .seen_ms = 5}, ATTENTION_IDLE},
        {{.state = AGENT_IDLE, .done_ms = 5, .turn = TURN_DONE}, ATTENTION_DONE},
        {{.state = AGENT_IDLE, .done_ms = 5, .turn = TURN_FAILED}, ATTENTION_FAILED},
        {{.state = AGENT_ASLEEP, .done_ms = 5, .turn = TURN_STOPPED}, ATTENTION_FAILED},
        {{.state = AGENT_EXITED, .done_ms = 5, .turn = TURN_FAILED}, ATTENTION_FAILED},
        {{.state = AGENT_WORKING, .done_ms = 5, .turn = TURN_FAILED}, ATTENTION_WORKING},
        {{.state = AGENT_IDLE, .done_ms = 5, .seen_ms = 5, .turn = TURN_FAILED}, ATTENTION_IDLE},
        {{.state = AGENT_ASLEEP}, ATTENTION_IDLE},
        {{.state = AGENT_ASLEEP, .done_ms = 5}, ATTENTION_DONE},
        {{.state = AGENT_EXITED, .done_ms = 5, .seen_ms = 9}, ATTENTION_IDLE},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(attention_of(&cases[i].status), cases[i].attention);
}

/* Each comes before the next one, and after the one before. */
TEST(the_order_is_that_of_need)
{
    static const struct agent_status order[] = {
        {.state = AGENT_WAITING, .since_ms = 10},
        {.state = AGENT_CRASHED, .since_ms = 20},
        {.state = AGENT_WAITING, .since_ms = 30},
        {.state = AGENT_IDLE, .since_ms = 1, .done_ms = 2, .turn = TURN_FAILED},
        {.state = AGENT_IDLE, .since_ms = 1, .done_ms = 80, .turn = TURN_STOPPED},
        {.state = AGENT_WORKING, .since_ms = 90},
        {.state = AGENT_LIMITED, .since_ms = 5},
        {.state = AGENT_IDLE, .since_ms = 1, .done_ms = 80},
        {.state = AGENT_IDLE, .since_ms = 99, .done_ms = 70},
        {.state = AGENT_EXITED, .since_ms = 95},
        {.state = AGENT_IDLE, .since_ms = 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        for (size_t j = 0; j < ARRAY_LEN(order); j++) {
            int got = attention_compare(&order[i], &order[j]);
            CHECK_INT((got > 0) - (got < 0), (i > j) - (i < j));
        }
}

/* Who waits since when, and who needs a person at all. */
TEST(what_is_said_began_with_the_state_or_the_end_of_the_turn)
{
    static const struct {
        struct agent_status status;
        bool needed;
        int64_t since;
        const char *name;
    } cases[] = {
        {{.state = AGENT_WAITING, .since_ms = 3, .done_ms = 9}, true, 3, "needs you"},
        {{.state = AGENT_IDLE, .since_ms = 3, .done_ms = 9, .turn = TURN_FAILED},
         true,
         9,
         "failed"},
        {{.state = AGENT_WORKING, .since_ms = 3, .done_ms = 9}, false, 3, "working"},
        {{.state = AGENT_IDLE, .since_ms = 3, .done_ms = 9}, false, 9, "done"},
        {{.state = AGENT_IDLE, .since_ms = 3, .done_ms = 9, .seen_ms = 9}, false, 3, "idle"},
        {{.state = AGENT_CRASHED, .since_ms = 3, .restart_ms = 9}, false, 3, "working"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(attention_needs_person(&cases[i].status), cases[i].needed);
        CHECK_INT(attention_since(&cases[i].status), cases[i].since);
        CHECK_STR(attention_name(attention_of(&cases[i].status)), cases[i].name);
        CHECK_INT(attention_compare(&cases[i].status, &cases[i].status), 0);
    }
}
