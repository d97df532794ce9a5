#include "team.h"

#define TWO_AGENTS                                                                                 \
    "[agent 10]\nrole=Lead\nrank=manager\ngroup=g\n"                                               \
    "[agent 11]\nrole=Dev\nrank=worker\ngroup=g\n"
#define WINDOW "[window w]\nagents=10,11\n"

TEST(reads_each_key_and_writes_it_back)
{
    static const char ini[] =
        "[template]\ndescription=a team\npreset=codex\n"
        "[window one]\nlayout=2x2\nagents=11 10\n"
        "[window two]\nagents=00\n"
        "[agent 00]\nrole=Head \xc3\xa9\nrank=meta\ngroup=meta\nstart=demand\n"
        "[agent 10]\nrole=Lead\nrank=manager\ngroup=g\npreset=claude\nmodel=m-1\n"
        "command=sh -c 'a'\nsystem=You \"lead\".\nstart=now\n"
        "[agent 11]\nrole=Dev\nrank=worker\ngroup=g\npreset=\nmodel=\n"
        "[rules]\nmeta=managers, all\nmanager=workers managers meta\nworker=manager,unit\n";
    static const char want[] =
        "'a team' preset 'codex'\n"
        "00 meta meta 'Head \xc3\xa9' preset '' model '' command '' system '' prompt '' demand\n"
        "10 manager g 'Lead' preset 'claude' model 'm-1' command 'sh -c 'a'' system 'You "
        "\"lead\".' "
        "prompt '' now\n"
        "11 worker g 'Dev' preset '' model '' command '' system '' prompt '' \n"
        "[one] 2x2: 11 10\n[two] tiled: 00\n"
        "meta:managers, all;manager:workers, managers, meta;worker:manager, unit;";
    _cleanup_close_ int fd = open_text(ini);
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_str_ struct str got = STR_INIT;
    _cleanup_str_ struct str json = STR_INIT;
    struct json_out out = {.to = &json};
    struct err err = ERR_INIT;

    REQUIRE(team_read_ini(fd, "t.ini", &team, &err) == 0);
    CHECK_STR(show(&team, &got), want);
    CHECK(team_agent(&team, "11") == &team.agents[2] && team_agent(&team, "1") == NULL);
    CHECK(!team_has_prompts(&team));
    json_open(&out, NULL, '{');
    team_put_json(&team, &out);
    json_close(&out, '}');
    CHECK_STR(read_json(json.data, &got), want);
}

TEST(refuses_wrong_templates)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "t.ini: it has no agents"},
        {TWO_AGENTS, "t.ini:1: agent 10 is in no window"},
        {TWO_AGENTS WINDOW "[window v]\n", "t.ini:11: window v has no agents"},
        {TWO_AGENTS "[window w]\nagents=10,11\n[window w]\n",
         "t.ini:11: [window w]: duplicate window name"},
        {TWO_AGENTS "[window w]\nagents=10,11,10\n", "t.ini:10: agent 10 is in two windows"},
        {TWO_AGENTS "[window w]\nagents=10,11,12\n", "t.ini:10: agent 12 is not defined"},
        {TWO_AGENTS "[window w]\nagents=10,11\nlayout=1x1\n",
         "t.ini:9: window w has 2 agents, more than the layout 1x1 can hold"},
        {TWO_AGENTS WINDOW "[agent 10]\n", "t.ini:11: [agent 10]: duplicate agent id"},
        {TWO_AGENTS WINDOW "[agent a b]\n", "t.ini:11: [agent a b]: an agent's id must be 1 to 32 "
                                            "characters of A-Z a-z 0-9 _ -, the first not -"},
        {TWO_AGENTS WINDOW "[agent ../x]\n", "t.ini:11: [agent ../x]: an agent's id must be 1 to "
                                             "32 characters of A-Z a-z 0-9 _ -, the first not -"},
        {TWO_AGENTS WINDOW "[agent aaaaaaaaaabbbbbbbbbbccccccccccddd]\n",
         "t.ini:11: [agent aaaaaaaaaabbbbbbbbbbccccccccccddd]: an agent's id must be 1 to 32 "
         "characters of A-Z a-z 0-9 _ -, the first not -"},
        {TWO_AGENTS WINDOW "[agent -x]\n", "t.ini:11: [agent -x]: an agent's id must be 1 to 32 "
                                           "characters of A-Z a-z 0-9 _ -, the first not -"},
        {"[agent 1]\nrole=r\nrank=boss\ngroup=g\n",
         "t.ini:3: [agent 1] rank: a rank must be meta, manager or worker"},
        {"[agent 1]\nrole=\n", "t.ini:2: [agent 1] role: a role must be 1 to 64 bytes of UTF-8 "
                               "without control characters"},
        {"[agent 1]\nrank=worker\ngroup=g\n[window w]\nagents=1\n",
         "t.ini:1: agent 1 lacks its role"},
        {"[agent 1]\nrole=r\ngroup=g\n[window w]\nagents=1\n", "t.ini:1: agent 1 lacks its rank"},
        {"[agent 1]\nrole=r\nrank=worker\n[window w]\nagents=1\n",
         "t.ini:1: agent 1 lacks its group"},
        {"[agent 1]\ngroup=a,b\n",
         "t.ini:2: [agent 1] group: 'a,b' is not 1 to 32 characters of A-Z a-z 0-9 _ -"},
        {"[agent 1]\ngroup=\n", "t.ini:2: [agent 1] group: unknown or empty key in an agent"},
        {"[template]\npreset=a b\n",
         "t.ini:2: [template] preset: 'a b' is not 1 to 32 characters of A-Z a-z 0-9 _ -"},
        {"[template]\nprest=a\n", "t.ini:2: [template] prest: unknown key; did you mean 'preset'?"},
        {"[budget]\nturns=0\n",
         "t.ini:2: [budget] turns: '0' is not a number of turns from 1 on, or none"},
        {"[budget]\nturn=1\n",
         "t.ini:2: [budget] turn: unknown key in a budget; did you mean 'turns'?"},
        {"[window w]\nagent=1\n",
         "t.ini:2: [window w] agent: unknown key in a window; did you mean 'agents'?"},
        {"[window a b]\n",
         "t.ini:1: [window a b]: a window's name must be 1 to 32 characters of A-Z a-z 0-9 _ -"},
        {"[agent 1]\nrole=r\nrole=s\n",
         "t.ini:3: [agent 1] role: duplicate key: first used in line 2"},
        {"[agent 1]\npreset=a b\n",
         "t.ini:2: [agent 1] preset: 'a b' is not 1 to 32 characters of A-Z a-z 0-9 _ -"},
        {"[agent 1]\nsystem=\xff\n", "t.ini:2: [agent 1] system: it is not UTF-8"},
        {"[agent 1]\nstart=later\n", "t.ini:2: [agent 1] start: 'later' is not now or demand"},
        {"[rules]\nworker=boss\n",
         "t.ini:2: [rules] worker: a rule must list manager, unit, workers, managers, meta or all"},
        {"[rules]\nworkers=all\n", "t.ini:2: [rules] workers: a rule must be for meta, manager or "
                                   "worker; did you mean 'worker'?"},
        {"[agent 1]\nrolle=x\n", "t.ini:2: [agent 1] rolle: unknown or empty key in an agent; "
                                 "did you mean 'role'?"},
        {"[windw w]\n", "t.ini:1: [windw w]: unknown section; did you mean '[window NAME]'?"},
        {"[nothing]\n", "t.ini:1: [nothing]: unknown section"},
    };
    _cleanup_str_ struct str got = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *want = mem_printf("error: %s", cases[i].why);
        CHECK_STR(read_ini(cases[i].text, &got), want);
    }
}

/* A team of this many agents and windows, each window with at least one of them. */
static void write_many(int agents, int windows, struct str *to)
{
    for (int i = 0; i < agents; i++)
        str_addf(to, "[agent a%d]\nrole=r\nrank=worker\ngroup=g\n", i);
    for (int i = 0; i < windows; i++) {
        str_addf(to, "[window w%d]\nlayout=64x64\nagents=a%d", i, i);
        for (int j = windows; i == 0 && j < agents; j++)
            str_addf(to, " a%d", j);
        str_addc(to, '\n');
    }
}

TEST(teams_have_limits)
{
    static const struct {
        int agents, windows;
        const char *want;
    } cases[] = {
        {TEAM_AGENTS_MAX, 1, "'' preset ''\n"},
        {TEAM_AGENTS_MAX + 1, 1,
         "error: t.ini:1025: [agent a256]: the team has more than 256 agents"},
        {TEAM_WINDOWS_MAX, TEAM_WINDOWS_MAX, "'' preset ''\n"},
        {TEAM_WINDOWS_MAX + 1, TEAM_WINDOWS_MAX + 1,
         "error: t.ini:453: [window w64]: the team has more than 64 windows"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        write_many(cases[i].agents, cases[i].windows, &text);
        (void)read_ini(str_text(&text), &got);
        if (!CHECK(str_starts(got.data, cases[i].want)))
            unit_print_str("got", got.data);
    }
}

/* Each problem as "line: text", warnings with a W in front. */
TEST(tells_all_problems)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {TWO_AGENTS WINDOW "[rules]\nmeta=all\nworker=meta unit\nmanager=workers managers\n",
         "W12: [rules] meta: no agent of this team matches: all\n"
         "W14: [rules] manager: no agent of this team matches: managers\n"
         "W13: [rules] worker: no agent of this team matches: meta\n"},
        {"[agent 1]\nrank=boss\nrolle=x\n[rules]\nworker=boss\n[window w]\nagents=2\n",
         "2: [agent 1] rank: a rank must be meta, manager or worker\n"
         "3: [agent 1] rolle: unknown or empty key in an agent; did you mean "
         "'role'?\n"
         "5: [rules] worker: a rule must list manager, unit, workers, managers, meta or all\n"
         "7: agent 2 is not defined\n"
         "1: agent 1 lacks its role\n1: agent 1 lacks its group\n1: agent 1 is in no window\n"
         "6: window w has no agents\n"},
        /* of a team that is wrong nobody can say whom a rule reaches */
        {TWO_AGENTS WINDOW "x=1\n[rules]\nmeta=all\n",
         "11: [window w] x: unknown key in a window\n"},
        {TWO_AGENTS WINDOW, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_diagnostics_ struct diagnostics found = DIAGNOSTICS_INIT;
        _cleanup_team_ struct team team = TEAM_INIT;
        _cleanup_close_ int fd = open_text(cases[i].text);
        _cleanup_str_ struct str got = STR_INIT;
        struct err err = ERR_INIT;

        CHECK_INT(team_check_ini(fd, "t.ini", &found, &team, &err), 0);
        for (size_t j = 0; j < found.count; j++)
            str_addf(&got, "%s%d: %s\n", found.list[j].warning ? "W" : "", found.list[j].line,
                     found.list[j].text);
        CHECK_STR(str_text(&got), cases[i].want);
    }
}
