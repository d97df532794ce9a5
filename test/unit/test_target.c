#include "unit.h"

#include "model/target.h"

static const char made_of[] =
    "{\"windows\":[{\"name\":\"w\",\"agents\":[\"00\",\"10\",\"11\",\"12\",\"20\",\"21\"]}],"
    "\"team\":["
    "{\"id\":\"00\",\"role\":\"r\",\"rank\":\"meta\",\"group\":\"meta\"},"
    "{\"id\":\"10\",\"role\":\"r\",\"rank\":\"manager\",\"group\":\"design\"},"
    "{\"id\":\"11\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"design\"},"
    "{\"id\":\"12\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"design\"},"
    "{\"id\":\"20\",\"role\":\"r\",\"rank\":\"manager\",\"group\":\"build\"},"
    "{\"id\":\"21\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"build\"}],"
    "\"rules\":{\"meta\":[\"managers\"],\"manager\":[\"workers\",\"managers\",\"meta\"],"
    "\"worker\":[\"manager\",\"unit\"]}}";

static bool make_team(const char *text, struct team *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    return CHECK(json_parse(text, strlen(text), 65536, &json, &err) == 0) &&
           CHECK(team_from_json(json, ret, &err) == 0);
}

TEST(finds_whom_is_meant)
{
    static const struct {
        const char *target, *ids;
    } cases[] = {
        {"11", "11"},
        {"11,10", "11 10"},
        {"11,11", "11"},
        {"design", "10 11 12"},
        {"managers", "10 20"},
        {"workers", "11 12 21"},
        {"all", "00 10 11 12 20 21"},
        {"meta", "00"},
        {"build,11,managers", "20 21 11 10"},
    };
    _cleanup_team_ struct team team = TEAM_INIT;

    REQUIRE(make_team(made_of, &team));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        size_t *found = NULL;
        size_t count = 0;
        struct err err = ERR_INIT;
        CHECK_INT(target_resolve(&team, NULL, cases[i].target, &found, &count, &err), 0);
        for (size_t j = 0; j < count; j++)
            str_addf(&got, "%s%s", j > 0 ? " " : "", team.agents[found[j]].id);
        CHECK_STR(str_text(&got), cases[i].ids);
        free(found);
    }
}

/* As the shipped templates have it: meta to managers; managers to workers, managers, meta; workers
 * to their manager and unit. */
TEST(an_agent_means_whom_it_may_write_to)
{
    static const struct {
        const char *from, *target, *ids;
    } cases[] = {
        {"10", "workers", "11 12"}, {"10", "managers", "20"},       {"10", "all", "00 11 12 20"},
        {"10", "design", "11 12"},  {"11", "design", "10 12"},      {"11", "all", "10 12"},
        {"11", "workers", "12"},    {"00", "all", "10 20"},         {"10", "10", "10"},
        {"10", "21", "21"},         {"10", "managers,21", "20 21"}, {"00", "workers", "-"},
        {"11", "build", "-"},       {"21", "workers", "-"},
    };
    _cleanup_team_ struct team team = TEAM_INIT;

    REQUIRE(make_team(made_of, &team));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        size_t *found = NULL;
        size_t count = 0;
        struct err err = ERR_INIT;
        bool some = strcmp(cases[i].ids, "-") != 0;
        CHECK_INT(target_resolve(&team, team_agent(&team, cases[i].from), cases[i].target, &found,
                                 &count, &err),
                  some ? 0 : -1);
        for (size_t j = 0; j < count; j++)
            str_addf(&got, "%s%s", j > 0 ? " " : "", team.agents[found[j]].id);
        CHECK_STR(str_text(&got), some ? cases[i].ids : "");
        if (!some)
            CHECK_INT(err.code, MAS_FAILED);
        free(found);
    }
    size_t *found = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;
    CHECK(target_resolve(&team, &team.agents[0], "workers", &found, &count, &err) == -1);
    CHECK_STR(err.text, "cannot reach 'workers': the rule for a meta, 'managers', does not let "
                        "agent '00' write to any of these agents");
}

TEST(an_id_counts_more_than_a_word)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    size_t *found = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;

    REQUIRE(make_team("{\"windows\":[{\"name\":\"w\",\"agents\":[\"all\",\"b\"]}],\"team\":["
                      "{\"id\":\"all\",\"role\":\"r\",\"rank\":\"meta\",\"group\":\"b\"},"
                      "{\"id\":\"b\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"workers\"}]}",
                      &team));
    REQUIRE(target_resolve(&team, NULL, "all", &found, &count, &err) == 0);
    CHECK_INT(count, 1);
    CHECK_INT(found[0], 0);
    free(found);
    REQUIRE(target_resolve(&team, NULL, "b", &found, &count, &err) == 0);
    CHECK_INT(count, 1);
    CHECK_INT(found[0], 1);
    free(found);
}

TEST(says_what_there_is)
{
    static const struct {
        const char *word, *meant;
    } bad[] = {
        {"", NULL},
        {"99", NULL},
        {"11,", NULL},
        {",", NULL},
        {"11,,12", NULL},
        {"Design", "design"},
        {"1", NULL},
        {" 11", "11"},
        {"biuld", "build"},
        {"mangers", "managers"},
        {"wrkers", "workers"},
        {"alll", "all"},
    };
    static const char has[] = "the team has: 00, 10, 11, 12, 20, 21, meta, design, build, "
                              "managers, workers, all";
    _cleanup_team_ struct team team = TEAM_INIT;

    REQUIRE(make_team(made_of, &team));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        size_t *found = NULL;
        size_t count = 0;
        struct err err = ERR_INIT;
        CHECK_INT(target_resolve(&team, NULL, bad[i].word, &found, &count, &err), -1);
        CHECK_INT(err.code, MAS_NOT_FOUND);
        _cleanup_free_ char *hint = bad[i].meant != NULL
                                        ? mem_printf("did you mean: %s  (%s)", bad[i].meant, has)
                                        : mem_dup(has);
        CHECK_STR(err.hint, hint);
    }
    struct err err = ERR_INIT;
    CHECK_INT(target_hint(&team, "mangers", false, &err), -1);
    CHECK_STR(err.hint, "the team has: 00, 10, 11, 12, 20, 21"); /* one agent alone is asked for */
}

TEST(rules_say_who_may_write)
{
    static const struct {
        const char *from, *to;
        bool may;
    } cases[] = {
        {"00", "10", true},  {"00", "20", true},  {"00", "11", false}, {"00", "00", false},
        {"10", "11", true},  {"10", "21", false}, {"10", "20", true},  {"10", "00", true},
        {"11", "10", true},  {"11", "12", true},  {"11", "20", false}, {"11", "21", false},
        {"11", "00", false}, {"21", "20", true},  {"21", "11", false},
    };
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err err = ERR_INIT;

    REQUIRE(make_team(made_of, &team));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err = (struct err)ERR_INIT;
        int rc = target_check_rule(&team, team_agent(&team, cases[i].from),
                                   team_agent(&team, cases[i].to), &err);
        if (!CHECK_INT(rc, cases[i].may ? 0 : -1))
            printf("# %s to %s\n", cases[i].from, cases[i].to);
        if (rc == -1)
            CHECK_INT(err.code, MAS_FAILED);
        CHECK_INT(target_check_rule(&team, NULL, team_agent(&team, cases[i].to), &err), 0);
    }
    CHECK(target_check_rule(&team, team_agent(&team, "21"), team_agent(&team, "11"), &err) == -1);
    CHECK_STR(err.text,
              "the rule for a worker, 'manager, unit', does not let agent '21' write to it");
}

TEST(all_means_everybody_and_no_rule_nobody)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err err = ERR_INIT;

    REQUIRE(make_team(made_of, &team));
    team.rules[RANK_WORKER] = REACH_ALL;
    team.rules[RANK_META] = 0;
    CHECK_INT(target_check_rule(&team, &team.agents[2], &team.agents[0], &err), 0);
    CHECK_INT(target_check_rule(&team, &team.agents[0], &team.agents[1], &err), -1);
    CHECK(strstr(err.text, "'nobody'") != NULL);
}
