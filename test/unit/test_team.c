#include "team.h"

#include "model/message.h"
#include "model/team/team_internal.h"

#define AGENT(more) "{\"id\":\"1\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"" more "}"
#define GROUP(name) "{\"id\":\"1\",\"role\":\"r\",\"rank\":\"meta\",\"group\":\"" name "\"}"
#define TEAM_OF(agents, windows, more) "{\"team\":[" agents "],\"windows\":[" windows "]" more "}"
#define PROJECT(path, label)                                                                       \
    ",\"project\":{\"path\":" path ",\"onto\":\"o\",\"base\":\"b\",\"label\":" label "}"
#define WINDOW_1 "{\"name\":\"w\",\"agents\":[\"1\"]}"

TEST(reads_json)
{
#define ONE(agent) "'' preset ''\n1 worker g 'r'" agent "\n[w] tiled: 1\nmeta:;manager:;worker:"
    static const struct {
        const char *text, *want;
    } cases[] = {
        {TEAM_OF(AGENT(""), WINDOW_1, ""),
         ONE(" preset '' model '' command '' system '' prompt '' ") ";"},
        {TEAM_OF(AGENT(",\"prompt\":\"a\\nb\",\"start\":\"demand\",\"x\":1"), WINDOW_1,
                 ",\"rules\":{\"worker\":[\"all\",\"unit\"]},\"y\":[]"),
         ONE(" preset '' model '' command '' system '' prompt 'a\nb' demand") "unit, all;"},
        {"{}", "error: it has no agents"},
        {"[]", "error: it has no agents"},
        {TEAM_OF(AGENT(""), "", ""), "error: agent 1 is in no window"},
        {TEAM_OF(AGENT("") "," AGENT(""), WINDOW_1, ""),
         "error: an agent's id is missing, bad or used twice"},
        {TEAM_OF("{\"id\":1}", "", ""), "error: an agent's id is missing, bad or used twice"},
        {TEAM_OF("{\"id\":\"../x\"}", "", ""),
         "error: an agent's id is missing, bad or used twice"},
        {TEAM_OF("{\"id\":\"1\"}", "", ""), "error: agent 1 has a bad rank"},
        {TEAM_OF(AGENT(",\"model\":1"), WINDOW_1, ""), "error: agent 1 has a bad model"},
        {TEAM_OF(AGENT(",\"start\":\"soon\""), WINDOW_1, ""), "error: agent 1 has a bad start"},
        {TEAM_OF(AGENT(",\"prompt\":\"\\u001b\""), WINDOW_1, ""),
         "error: agent 1 has a bad prompt"},
        {TEAM_OF("{\"id\":\"1\",\"role\":\"a\\nb\",\"rank\":\"meta\",\"group\":\"g\"}", "", ""),
         "error: agent 1 has a bad role"},
        {TEAM_OF(GROUP("a,b"), "", ""), "error: agent 1 has a bad group"},
        {TEAM_OF(GROUP("a\\nb"), "", ""), "error: agent 1 has a bad group"},
        {TEAM_OF(GROUP(""), "", ""), "error: agent 1 has a bad group"},
        {TEAM_OF(AGENT(",\"preset\":\"a b\""), "", ""), "error: agent 1 has a bad preset"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"preset\":\"a b\""), "error: it has a bad preset"},
        {TEAM_OF(AGENT(""), "{\"name\":\"a b\"}", ""), "error: a window's name is missing or bad"},
        {TEAM_OF(AGENT(""), "{\"name\":\"w\",\"layout\":\"round\"}", ""),
         "error: window w has a bad layout"},
        {TEAM_OF(AGENT(""), "{\"name\":\"w\",\"agents\":[\"2\"]}", ""),
         "error: window w: agent 2 is not defined"},
        {TEAM_OF(AGENT(""), "{\"name\":\"w\",\"agents\":[1]}", ""),
         "error: window w: agent ? is not a string"},
        {TEAM_OF(AGENT(""), WINDOW_1 "," WINDOW_1, ""),
         "error: window w: agent 1 is in two windows"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"rules\":{\"worker\":[\"boss\"]}"),
         "error: it has a bad rule"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"rules\":{\"worker\":[1]}"), "error: it has a bad rule"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"description\":1"), "error: it has a bad description"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"budget\":1"), "error: it has a bad budget"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"turns\":-1"), "error: it has a bad turns"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"wall\":\"high\""), "error: it has a bad wall"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"wall\":1"), "error: it has a bad wall"},
        {TEAM_OF(AGENT(""), WINDOW_1, PROJECT("\"p\"", "\"l\"")), "error: it has a bad project"},
        {TEAM_OF(AGENT(""), WINDOW_1, PROJECT("1", "\"l\"")), "error: it has a bad project"},
        {TEAM_OF(AGENT(""), WINDOW_1, PROJECT("\"/p\"", "\"a b\"")), "error: it has a bad project"},
        {TEAM_OF(AGENT(""), WINDOW_1, PROJECT("\"/p\"", "1")), "error: it has a bad project"},
        {TEAM_OF(AGENT(""), WINDOW_1, ",\"project\":{}"), "error: it has a bad project"},
    };
    /* a bad member of the first, a middle and the last of three agents */
    static const char *const bad[] = {"\"code\":\"some\"",   "\"cwd\":\"there\"",
                                      "\"wall\":\"high\"",   "\"units\":\"all of them\"",
                                      "\"hibernate\":\"x\"", "\"budget\":1",
                                      "\"limits\":1",        "\"limits\":{\"session\":\"1G\"}"};
    _cleanup_str_ struct str got = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(read_json(cases[i].text, &got), cases[i].want);
    for (size_t i = 0; i < ARRAY_LEN(bad) * 3; i++) {
        _cleanup_str_ struct str text = STR_INIT;
        str_add(&text, "{\"team\":[");
        for (size_t agent = 0; agent < 3; agent++)
            str_addf(&text,
                     "%s{\"id\":\"%zu\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"%s%s}",
                     agent > 0 ? "," : "", agent, agent == i % 3 ? "," : "",
                     agent == i % 3 ? bad[i / 3] : "");
        str_add(&text, "],\"windows\":[{\"name\":\"w\",\"agents\":[\"0\",\"1\",\"2\"]}]}");
        _cleanup_free_ char *want = mem_printf("error: agent %zu has a bad %.*s", i % 3,
                                               (int)strcspn(bad[i / 3] + 1, "\""), bad[i / 3] + 1);
        CHECK_STR(read_json(str_text(&text), &got), want);
    }
}

TEST(texts_have_limits)
{
    static const struct {
        const char *key;
        size_t most;
    } cases[] = {{"role", TEAM_ROLE_MAX},       {"group", TEAM_WORD_MAX},
                 {"preset", TEAM_WORD_MAX},     {"model", TEAM_MODEL_MAX},
                 {"command", TEAM_COMMAND_MAX}, {"system", TEAM_SYSTEM_MAX},
                 {"prompt", MESSAGE_MAX}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            _cleanup_free_ char *value = mem_alloc(cases[i].most + more + 1);
            _cleanup_str_ struct str got = STR_INIT;
            memset(value, 'x', cases[i].most + more);
            _cleanup_free_ char *text = mem_printf(
                TEAM_OF("{\"id\":\"1\",\"rank\":\"worker\"%s%s,\"%s\":\"%s\"}", WINDOW_1, ""),
                strcmp(cases[i].key, "role") == 0 ? "" : ",\"role\":\"r\"",
                strcmp(cases[i].key, "group") == 0 ? "" : ",\"group\":\"g\"", cases[i].key, value);
            const char *want = more == 0 ? "'' preset ''\n" : "error: agent 1 has a bad ";
            if (!CHECK(str_starts(read_json(text, &got), want)))
                unit_print_str("key", cases[i].key);
        }
}

TEST(rules_reach_agents)
{
    char top[] = "top", a[] = "a", b[] = "b";
    const struct agent meta = {.group = top, .rank = RANK_META};
    const struct agent lead = {.group = a, .rank = RANK_MANAGER};
    const struct agent other = {.group = b, .rank = RANK_MANAGER};
    const struct agent worker = {.group = a, .rank = RANK_WORKER};
    const struct agent far = {.group = b, .rank = RANK_WORKER};
    const struct {
        const struct agent *from, *to;
        const char *want;
    } cases[] = {
        {&worker, &lead, "manager, unit, managers, all"},
        {&worker, &other, "managers, all"},
        {&worker, &far, "all"},
        {&worker, &meta, "meta, all"},
        {&lead, &worker, "unit, workers, all"},
        {&lead, &far, "all"},
        {&meta, &lead, "managers, all"},
        {&meta, &meta, "unit, meta, all"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        team_add_reach(&got, team_reach(cases[i].from, cases[i].to));
        CHECK_STR(str_text(&got), cases[i].want);
    }
}

TEST(an_agent_starts_where_it_works)
{
    static const struct {
        enum agent_code code;
        enum agent_cwd cwd;
        bool want;
    } cases[] = {
        {AGENT_CODE_NONE, AGENT_CWD_UNSET, false},    {AGENT_CODE_VIEW, AGENT_CWD_UNSET, false},
        {AGENT_CODE_WORKTREE, AGENT_CWD_UNSET, true}, {AGENT_CODE_NONE, AGENT_CWD_CODE, false},
        {AGENT_CODE_VIEW, AGENT_CWD_CODE, true},      {AGENT_CODE_WORKTREE, AGENT_CWD_CODE, true},
        {AGENT_CODE_NONE, AGENT_CWD_UNIT, false},     {AGENT_CODE_VIEW, AGENT_CWD_UNIT, false},
        {AGENT_CODE_WORKTREE, AGENT_CWD_UNIT, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(agent_starts_in_code(&(struct agent){.code = cases[i].code, .cwd = cases[i].cwd}),
                  cases[i].want);
}

/* A rule reaches nobody if no agent of its rank has another one there: not itself. */
TEST(a_rule_may_reach_nobody)
{
    char top[] = "top", a[] = "a", b[] = "b";
    struct agent agents[] = {{.group = top, .rank = RANK_META},
                             {.group = a, .rank = RANK_WORKER},
                             {.group = b, .rank = RANK_WORKER},
                             {.group = b, .rank = RANK_WORKER}};
    struct team team = {.agents = agents, .agent_count = 4};
    static const struct {
        enum rank rank;
        size_t agents; /* of the team */
        const char *want;
    } cases[] = {{RANK_META, 4, "manager, unit, workers, managers, meta"},
                 {RANK_WORKER, 4, "manager, managers"},
                 {RANK_WORKER, 3, "manager, unit, workers, managers"},
                 {RANK_WORKER, 1, "manager, unit, workers, managers, meta, all"},
                 {RANK_MANAGER, 4, "manager, unit, workers, managers, meta, all"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        team.agent_count = cases[i].agents;
        for (size_t rank = 0; rank < RANK_COUNT; rank++)
            team.rules[rank] = rank == cases[i].rank ? (1U << 6) - 1 : 0;
        team_add_reach(&got, team_reach_nobody(&team, cases[i].rank));
        CHECK_STR(str_text(&got), cases[i].want);
        team.rules[cases[i].rank] = REACH_ALL;
        CHECK_INT(team_reach_nobody(&team, cases[i].rank) != 0, str_ends(cases[i].want, "all"));
    }
}

/* The first, one in the middle, the last, or none of them has one. */
TEST(a_team_has_prompts_if_one_of_it_has)
{
    char none[] = "", one[] = "x";

    for (size_t which = 0; which < 4; which++) {
        struct agent agents[3];
        for (size_t i = 0; i < 3; i++)
            agents[i] = (struct agent){.prompt = i == which ? one : none};
        CHECK_INT(team_has_prompts(&(struct team){.agents = agents, .agent_count = 3}), which < 3);
    }
}

/* The team as numbers: agents by window, and which window each agent names. */
static const char *places(const struct team *team, struct str *to)
{
    str_clear(to);
    for (size_t i = 0; i < team->window_count; i++) {
        str_addf(to, "%s%s:", i > 0 ? " " : "", team->windows[i].name);
        for (size_t j = 0; j < team->windows[i].count; j++) {
            const struct agent *agent = &team->agents[team->windows[i].agents[j]];
            CHECK_INT(agent->window, i);
            str_addf(to, " %s", agent->id);
        }
    }
    return str_text(to);
}

TEST(agents_join_a_team_and_leave_it)
{
    static const char text[] =
        "[window one]\nagents = a, b\nlayout = 2x1\n[window two]\nagents = c\n"
        "[agent a]\nrole = lead\nrank = manager\ngroup = u\ncode = worktree\nwall = require\n"
        "[agent b]\nrole = r\nrank = worker\ngroup = u\npreset = p\n"
        "[agent c]\nrole = r\nrank = worker\ngroup = v\n";
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int fd = open_text(text);
    _cleanup_str_ struct str to = STR_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(team_read_ini(fd, "t.ini", &team, &err), 0);
    CHECK(team_grow(&team, "d", 2, false, 200, 50) == NULL);
    CHECK_STR(places(&team, &to), "one: a b two: c d");
    /* a full grid, and a window too small */
    CHECK(team_grow(&team, "e", 0, true, 200, 50) == NULL);
    CHECK(team_grow(&team, "f", 2, false, 6, 3) == NULL);
    CHECK_STR(places(&team, &to), "one: a b two: c d e: e f: f");
    const struct agent *e = team_agent(&team, "e");
    const struct agent *d = team_agent(&team, "d");
    CHECK(e->rank == RANK_MANAGER && e->wall == WALL_REQUIRE && e->code == AGENT_CODE_WORKTREE);
    CHECK(d->rank == RANK_WORKER && d->wall == WALL_UNSET && strcmp(d->group, "v") == 0);
    CHECK_STR(e->role, "lead");
    CHECK_INT(team.rules[RANK_WORKER], REACH_MANAGER | REACH_UNIT);
    CHECK_INT(team.rules[RANK_MANAGER], REACH_WORKERS | REACH_MANAGERS | REACH_META);
    team.rules[RANK_WORKER] = REACH_META;
    /* the first, one in the middle with its window, and the last */
    team_shrink(&team, "a");
    CHECK_STR(places(&team, &to), "one: b two: c d e: e f: f");
    team_shrink(&team, "e");
    CHECK_STR(places(&team, &to), "one: b two: c d f: f");
    team_shrink(&team, "f");
    team_shrink(&team, "nobody");
    CHECK_STR(places(&team, &to), "one: b two: c d");
    CHECK(team_grow(&team, "a", 0, false, 200, 50) == NULL);
    CHECK_INT(team.rules[RANK_WORKER], REACH_META);
    CHECK(team_grow(&team, "one", 0, false, 200, 50) != NULL);
    while (team.agent_count < TEAM_AGENTS_MAX) {
        _cleanup_free_ char *id = mem_printf("n%zu", team.agent_count);
        CHECK(team_grow(&team, id, 1, false, 20000, 5000) == NULL);
    }
    CHECK_STR(team_grow(&team, "more", 1, false, 20000, 5000), "a team has at most 256 agents");
    CHECK(agent_check("role", "r") == NULL && agent_check("role", "a\nb") != NULL);
}
