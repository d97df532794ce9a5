/* What a host tells of its agent, which nobody trusts. */
#include "base/json.h"
#include "model/agent_status.h"

#include "unit.h"

static struct agent_pane pane_of(const char *text)
{
    struct agent_pane pane = {.server = 0};
    _cleanup_json_ struct json *object = NULL;
    struct err err = ERR_INIT;

    if (CHECK_INT(json_parse(text, strlen(text), 1024, &object, &err), 0))
        agent_pane_parse(object, &pane);
    return pane;
}

TEST(a_pane_is_told_whole_or_not_at_all)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"server\":0,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":-7,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":4294967303,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":\"3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":null,\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":\"$3\",\"activityMs\":5,\"agents\":0}",
        "{\"server\":7,\"session\":\"$3\",\"activityMs\":5,\"agents\":4294967298}",
        /* one character more than there is room for */
        "{\"server\":7,\"session\":\"$23456789012345678901234\",\"activityMs\":5,\"agents\":2}",
    };
    struct agent_pane pane = pane_of("{\"server\":7,\"session\":\"$2345678901234567890123\","
                                     "\"activityMs\":5,\"agents\":2}");

    CHECK_INT(pane.server, 7);
    CHECK_STR(pane.session, "$2345678901234567890123");
    CHECK_INT(pane.activity_ms, 5);
    CHECK_INT(pane.agents, 2);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        pane = pane_of(bad[i]);
        CHECK_INT(pane.server, 0);
        CHECK_STR(pane.session, "");
    }
}

TEST(states_have_names)
{
    static const char *const live[] = {"starting", "working", "idle",
                                       "waiting",  "limited", "paused"};
    static const char *const gone[] = {"asleep", "exited", "crashed"};
    enum agent_state state = AGENT_ASLEEP;

    for (size_t i = 0; i < ARRAY_LEN(live); i++) {
        CHECK(agent_state_parse(live[i], &state) && agent_state_is_live(state));
        CHECK_STR(agent_state_name(state), live[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
        CHECK(agent_state_parse(gone[i], &state) && !agent_state_is_live(state));
        CHECK_STR(agent_state_name(state), gone[i]);
    }
    CHECK_INT(state, AGENT_CRASHED);
    CHECK(!agent_state_parse("Idle", &state) && !agent_state_parse("", &state));
    CHECK(!agent_state_parse(NULL, &state) && state == AGENT_CRASHED);
    CHECK(turn_outcome_name(TURN_NONE) == NULL);
    CHECK_STR(turn_outcome_name(TURN_STOPPED), "stopped");
}

/* A turn is bad until another one has begun, in any of the states that say so. */
TEST(a_bad_turn_is_told_with_its_reason)
{
    static const struct {
        enum turn_outcome turn;
        const char *why, *want;
    } cases[] = {
        {TURN_FAILED, NULL, "the turn failed"},
        {TURN_FAILED, "", "the turn failed"},
        {TURN_FAILED, "no net", "the turn failed: no net"},
        {TURN_STOPPED, "reboot", "the turn was stopped: reboot"},
        {TURN_DONE, "x", ""},
        {TURN_NONE, "x", ""},
    };
    static const enum agent_state begun[] = {AGENT_STARTING, AGENT_WORKING, AGENT_WAITING};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (enum agent_state state = 0; state < AGENT_STATE_COUNT; state++) {
            const struct agent_status status = {
                .state = state, .turn = cases[i].turn, .turn_why = (char *)(uintptr_t)cases[i].why};
            _cleanup_str_ struct str text = STR_INIT;
            bool is_begun = false;
            for (size_t j = 0; j < ARRAY_LEN(begun); j++)
                is_begun = is_begun || state == begun[j];
            agent_turn_add(&status, &text);
            CHECK_STR(str_text(&text), is_begun ? "" : cases[i].want);
            CHECK_INT(agent_turn_is_bad(&status), !is_begun && cases[i].want[0] != '\0');
        }
}

TEST(how_a_run_ended_is_told)
{
    static const struct {
        int code, signal;
        const char *want;
    } cases[] = {{-1, 0, ""},
                 {0, 0, "exited with code 0"},
                 {3, 0, "exited with code 3"},
                 {-1, 9, "was killed by signal 9 (Killed)"},
                 {137, 9, "was killed by signal 9 (Killed)"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct agent_status status = {.exit_code = cases[i].code, .signal = cases[i].signal};
        _cleanup_str_ struct str text = STR_INIT;
        agent_end_add(&status, &text);
        CHECK_STR(str_text(&text), cases[i].want);
    }
}

TEST(figures_read_well)
{
    static const struct {
        int64_t ms, bytes;
        const char *cpu, *memory;
    } used[] = {{-1, -1, "", ""},
                {0, 0, "0:00", "0B"},
                {999, 1023, "0:00", "1.0K"},
                {59999, 1 << 20, "0:59", "1.0M"},
                {60000, -1, "1:00", ""},
                {3599999, 1, "59:59", "1B"},
                {3600000, 1, "1:00:00", "1B"},
                {INT64_C(360061000), 1, "100:01:01", "1B"}};
    static const struct {
        int64_t used, size;
        int want;
    } contexts[] = {{0, 0, -1},    {5, 0, -1},      {0, 100, 0},    {1, 100, 1},
                    {99, 1000, 9}, {100, 100, 100}, {101, 100, -1}, {5, -1, -1}};
    static const struct {
        int ahead, behind, changed;
        const char *want;
    } figures[] = {{0, 0, 0, "="},  {2, 0, 0, "+2"},       {0, 1, 0, "-1"},
                   {0, 0, 3, "~3"}, {2, 1, 3, "+2 -1 ~3"}, {2, 0, 3, "+2 ~3"}};

    for (size_t i = 0; i < ARRAY_LEN(used); i++) {
        const struct agent_resources resources = {.cpu_ms = used[i].ms, .memory = used[i].bytes};
        char cpu[AGENT_CPU_TEXT], memory[NUMBER_SIZE_TEXT];
        agent_resources_format(&resources, cpu, memory);
        CHECK_STR(cpu, used[i].cpu);
        CHECK_STR(memory, used[i].memory);
    }
    for (size_t i = 0; i < ARRAY_LEN(contexts); i++)
        CHECK_INT(agent_usage_percent(&(struct agent_usage){.context_used = contexts[i].used,
                                                            .context_size = contexts[i].size}),
                  contexts[i].want);
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        str_add(&text, "x ");
        code_figures_format(figures[i].ahead, figures[i].behind, figures[i].changed, &text);
        CHECK_STR(text.data + 2, figures[i].want);
    }
}

/* Of a conversation, a program without hooks tells nothing; what is unknown is left out. */
TEST(a_host_tells_what_it_knows)
{
    struct agent_status status = {.exit_code = -1, .state = AGENT_IDLE, .pane = "%3"};
    static const char *const want[] = {
        "{\"state\":\"idle\",\"pane\":\"%3\",\"restarts\":0,\"queued\":0,\"logLost\":0,"
        "\"resources\":{},\"protocol\":\"tty\",\"states\":\"seen\",\"talks\":false}",
        "{\"state\":\"idle\",\"pane\":\"%3\",\"restarts\":0,\"queued\":0,\"logLost\":0,"
        "\"resources\":{},\"protocol\":\"acp\",\"states\":\"told\",\"talks\":true}",
        "{\"state\":\"idle\",\"pane\":\"%3\",\"restarts\":0,\"queued\":0,\"logLost\":0,"
        "\"resources\":{},\"protocol\":\"acp\",\"states\":\"told\",\"talks\":true,\"permission\":"
        "\"p\",\"usage\":"
        "{\"contextUsed\":null,\"contextSize\":null,\"tokens\":7,\"cost\":null,\"currency\":null}}",
        "{\"state\":\"idle\",\"pane\":\"%3\",\"restarts\":0,\"queued\":0,\"logLost\":0,"
        "\"resources\":{},\"protocol\":\"tty\",\"states\":\"seen\",\"talks\":false,\"code\":{"
        "\"lookedMs\":5,"
        "\"ahead\":1,\"behind\":0,"
        "\"changed\":2}}",
    };

    status.resources = (struct agent_resources){-1, -1, -1};
    for (int i = 0; i < 4; i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        status.acp = status.tells = status.talks = i == 1 || i == 2;
        status.permission = i >= 2 ? (char[]){"p"} : NULL;
        status.usage.tokens = i >= 2 ? 7 : 0;
        if (i == 3)
            status.code = (struct code_figures){.looked_ms = 5, .ahead = 1, .changed = 2};
        json_open(&out, NULL, '{');
        agent_status_tell(&status, &out);
        json_close(&out, '}');
        CHECK_STR(text.data, want[i]);
    }
}
