/* Sessions that come, go and move, on roots that are made by hand; and how teams start. */
#include "root.h"

#include "session/arrive.h"
#include "session/env.h"
#include "session/launch.h"
#include "session/leave.h"
#include "session/life_internal.h"
#include "session/places.h"
#include "session/prompts.h"
#include "store/index.h"
#include "store/team_file.h"

static char *word(const char *text)
{
    return mem_dup(text);
}

/* A team of 00 (meta), 10 (manager), 11 and 12. */
static void make_team(struct team *team)
{
    static const struct {
        const char *id;
        enum rank rank;
    } agents[] = {
        {"00", RANK_META}, {"10", RANK_MANAGER}, {"11", RANK_WORKER}, {"12", RANK_WORKER}};

    *team = (struct team)TEAM_INIT;
    team->windows = mem_alloc(sizeof *team->windows);
    team->window_count = 1;
    team->windows[0] = (struct window){.name = word("w"),
                                       .layout = word("tiled"),
                                       .agents = mem_alloc(4 * sizeof(size_t)),
                                       .count = ARRAY_LEN(agents)};
    for (size_t i = 0; i < ARRAY_LEN(agents); i++)
        team->windows[0].agents[i] = i;
    team->description = word("");
    team->preset = word("");
    team->agent_count = ARRAY_LEN(agents);
    team->agents = mem_alloc(ARRAY_LEN(agents) * sizeof *team->agents);
    for (size_t i = 0; i < ARRAY_LEN(agents); i++)
        team->agents[i] = (struct agent){.id = word(agents[i].id),
                                         .rank = agents[i].rank,
                                         .group = word("g"),
                                         .role = word("r"),
                                         .preset = word(""),
                                         .accounts = word(""),
                                         .model = word(""),
                                         .command = word("old"),
                                         .system = word(""),
                                         .prompt = word(""),
                                         .hibernate = word("")};
}

/* ---- coming and going */

struct house {
    struct config config;
    struct life life;
};

static void house_free(struct house *house)
{
    config_free(&house->config);
}

#define A_LIFE(ini)                                                                                \
    __attribute__((cleanup(house_free))) struct house house = {.config = CONFIG_INIT};             \
    A_ROOT;                                                                                        \
    root_clear_env(&place);                                                                        \
    REQUIRE(place_put(place.dir, ROOT_SETTINGS, ini));                                             \
    MUST(config_load(&root, true, &house.config, NULL, &err));                                     \
    house.life = (struct life){.root = &root, .config = &house.config};                            \
    UNIT_MAYBE const struct life *const life = &house.life

/* Writes a session of this machine with a team of one agent. */
static bool put_moved(const struct root *root, const char *id, const char *moved_to, uint64_t epoch)
{
    _cleanup_session_ struct session session = root_session(id, "mas-x", "");
    _cleanup_close_ int lock = -1;
    struct err err = ERR_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;

    session.machine = mem_dup("");
    session.boot = mem_dup("");
    session.epoch = epoch;
    session.moved_to = mem_dup(moved_to);
    if (!root_save(root, &session))
        return false;
    _cleanup_close_ int dir = workspace_open(root, id);
    (void)mkdirat(dir, "logs", 0700);
    (void)mkdirat(dir, "run", 0700);
    (void)mkdirat(dir, "unit", 0700);
    make_team(&team);
    return WELL(team_file_change(dir, &team, &err)) && WELL(root_lock(root, &lock, &err)) &&
           WELL(index_update(root, id, &session, &err));
}

/* Where the session has gone, as the file says; "?": there is none. */
static char *moved_to(const struct root *root, const char *id)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(root, id);
    struct err err = ERR_INIT;

    return dir != -1 && WELL(session_load(root, dir, id, &session, &err))
               ? mem_dup(session.moved_to)
               : mem_dup("?");
}

TEST(states_of_an_arrival_have_words)
{
    static const char *const words[] = {"none", "arriving", "here", "gone"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        enum arrival_state state = (enum arrival_state)(ARRAY_LEN(words) - 1 - i);
        CHECK_STR(arrival_name((enum arrival_state)i), words[i]);
        CHECK(arrival_parse(words[i], &state) && state == (enum arrival_state)i);
    }
    enum arrival_state kept = ARRIVAL_HERE;
    CHECK(!arrival_parse("other", &kept) && !arrival_parse(NULL, &kept) &&
          !arrival_parse("", &kept));
    CHECK_INT(kept, ARRIVAL_HERE);
    _cleanup_str_ struct str text = STR_INIT;
    arrival_format(&(struct arrival){ARRIVAL_HERE, 7, true, NULL}, &text);
    CHECK_STR(str_text(&text), "{\"state\":\"here\",\"epoch\":7,\"runs\":true}");
    str_clear(&text);
    arrival_format(&(struct arrival){ARRIVAL_GONE, 1, false, (char[]){"/p"}}, &text);
    CHECK_STR(str_text(&text), "{\"state\":\"gone\",\"epoch\":1,\"runs\":false,\"lacks\":\"/p\"}");
    str_clear(&text);
    arrival_format_restored("i", 2, "d", &text);
    CHECK_STR(str_text(&text), "{\"sessionId\":\"i\",\"epoch\":2,\"digest\":\"d\"}");
}

TEST(a_place_is_read_with_whether_it_was_given_up)
{
    static const struct {
        const char *text, *name;
        bool given_up;
    } cases[] = {{"", NULL, false},
                 {"(arriving)", NULL, false},
                 {"box", "box", false},
                 {"box?", "box", true},
                 {"(arriving)?", "(arriving)", true}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *name = NULL;
        bool given_up = false;
        CHECK(leave_parse(cases[i].text, &name, &given_up) == (cases[i].name != NULL));
        CHECK_STR(name, cases[i].name);
        CHECK(given_up == cases[i].given_up);
    }
}

/* Which of what is here an order releases or drops: by its state and its epoch. */
TEST(an_order_of_another_time_changes_nothing)
{
    static const struct {
        const char *moved_to;
        uint64_t epoch; /* of the session here; the orders are of epoch 5 */
        bool released, dropped;
        enum arrival_state state;
    } cases[] = {
        {"(arriving)", 5, true, true, ARRIVAL_ARRIVING},
        {"(arriving)", 4, false, true, ARRIVAL_ARRIVING},
        {"(arriving)", 6, false, true, ARRIVAL_ARRIVING},
        {"", 5, true, false, ARRIVAL_HERE},
        {"", 4, false, false, ARRIVAL_HERE},
        {"box", 5, false, false, ARRIVAL_GONE},
        {"box", 4, false, true, ARRIVAL_GONE},
        {"box", 6, false, false, ARRIVAL_GONE},
        {"box?", 4, false, true, ARRIVAL_GONE},
        {"box?", 5, false, false, ARRIVAL_GONE},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arrival arrival;
        A_LIFE("");
        REQUIRE(put_moved(&root, ID(1), cases[i].moved_to, cases[i].epoch));
        MUST(arrive_look(life, ID(1), &arrival, &err));
        CHECK_INT(arrival.state, cases[i].state);
        CHECK(arrival.epoch == cases[i].epoch && !arrival.runs && arrival.lacks == NULL);
        arrival_free(&arrival);
        int rc = arrive_release(life, ID(1), 5, &err);
        CHECK_INT(rc, cases[i].released ? 0 : -1);
        _cleanup_free_ char *now = moved_to(&root, ID(1));
        CHECK_STR(now, cases[i].released ? "" : cases[i].moved_to);
        CHECK(rc == 0 || err.code == MAS_CONFLICT);
        if (rc == 0)
            MUST(arrive_release(life, ID(1), 5, &err)); /* whoever asks again gets the same */
        REQUIRE(put_moved(&root, ID(1), cases[i].moved_to, cases[i].epoch));
        err = (struct err)ERR_INIT;
        rc = arrive_drop(life, ID(1), 5, &err);
        if (rc != (cases[i].dropped ? 0 : -1))
            unit_print_str(cases[i].moved_to, err.text);
        CHECK_INT(rc, cases[i].dropped ? 0 : -1);
        CHECK_INT(faccessat(root.sessions, ID(1), F_OK, 0), cases[i].dropped ? -1 : 0);
        CHECK(rc == 0 || err.code == MAS_CONFLICT);
        _cleanup_index_ struct index index = INDEX_INIT;
        MUST(index_read(&root, true, &index, &err));
        CHECK_INT(index.count, cases[i].dropped ? 0 : 1);
    }
    A_LIFE("");
    struct arrival none;
    MUST(arrive_look(life, ID(1), &none, &err));
    CHECK_INT(none.state, ARRIVAL_NONE);
    MUST(arrive_drop(life, ID(1), 5, &err));
    CHECK_INT(arrive_release(life, ID(1), 5, &err), -1);
}

#define BASE "1234567890123456789012345678901234567890"

TEST(what_a_session_lacks_here_is_told)
{
    struct arrival arrival;
    A_LIFE("");

    REQUIRE(put_moved(&root, ID(1), "", 1));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    static const char *const projects[][2] = {
        {"/nowhere/p", "/nowhere/p"}, {"/", NULL}, {"/etc/passwd", "/etc/passwd"}};
    for (size_t i = 0; i < ARRAY_LEN(projects); i++) {
        _cleanup_team_ struct team team = TEAM_INIT;
        make_team(&team);
        team.project = (struct team_project){.path = word(projects[i][0]),
                                             .base = word(BASE),
                                             .onto = word("refs/heads/m"),
                                             .label = word("l")};
        MUST(team_file_change(dir, &team, &err));
        MUST(arrive_look(life, ID(1), &arrival, &err));
        CHECK_STR(arrival.lacks, projects[i][1]);
        arrival_free(&arrival);
    }
}

TEST(a_session_on_its_way_is_locked_and_marked)
{
    struct leaving leaving = LEAVING_INIT;
    struct leaving other = LEAVING_INIT;
    A_LIFE("");

    REQUIRE(put_moved(&root, ID(1), "", 1));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    MUST(leave_open(life, ID(1), &leaving, &err));
    CHECK(workspace_is_locked(dir) && leaving.project == NULL && leaving.code_lock == -1);
    CHECK_INT(leave_open(life, ID(1), &other, &err), -1);
    leave_close(&other);
    static const struct {
        const char *name;
        bool given_up;
        const char *want;
    } marks[] = {{"box", false, "box"}, {"box", true, "box?"}, {NULL, true, ""}};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        MUST(leave_mark(life, &leaving, marks[i].name, marks[i].given_up, &err));
        _cleanup_free_ char *now = moved_to(&root, ID(1));
        CHECK_STR(now, marks[i].want);
    }
    /* what cannot be marked must not be told to the other machine */
    REQUIRE(CHECK(mkdirat(dir, WORKSPACE_SESSION ".new", 0700) == 0) &&
            place_put(dir, WORKSPACE_SESSION ".new/file", ""));
    CHECK_INT(leave_mark(life, &leaving, "box", false, &err), -1);
    _cleanup_free_ char *still = moved_to(&root, ID(1));
    CHECK_STR(still, "");
    err = (struct err)ERR_INIT;
    MUST(leave_remove(life, &leaving, &err));
    leave_close(&leaving);
    CHECK_INT(faccessat(root.sessions, ID(1), F_OK, 0), -1);

    REQUIRE(put_moved(&root, ID(2), "", 1));
    _cleanup_close_ int damaged = workspace_open(&root, ID(2));
    CHECK(place_put(damaged, WORKSPACE_CONFIG, "no JSON"));
    err = (struct err)ERR_INIT;
    CHECK_INT(leave_open(life, ID(2), &leaving, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    leave_close(&leaving);
    CHECK(!workspace_is_locked(damaged));
}

/* ---- moving from the root into a workspace */

static bool exists(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool put_part(int dir, const char *part)
{
    _cleanup_free_ char *file = mem_printf("%s/file", part);

    return CHECK(mkdirat(dir, part, 0700) == 0) && place_put(dir, file, part);
}

TEST(parts_are_moved_from_wherever_a_kill_left_them)
{
    static const struct {
        const char *unit,
            *workflows; /* where they are: "root", "aside", "both" (copied), "there" */
    } cases[] = {
        {"root", "root"}, {"there", "root"},  {"there", "there"}, {"aside", "root"},
        {"both", "root"}, {"there", "aside"}, {"there", "both"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const where[PARTS] = {cases[i].unit, cases[i].workflows};
        struct life_part parts[PARTS];
        A_LIFE("");
        REQUIRE(root_put_session(&root, ID(1), ""));
        _cleanup_close_ int dir = workspace_open(&root, ID(1));
        for (size_t j = 0; j < PARTS; j++) {
            const char *part = life_part_names[j];
            bool both = strcmp(where[j], "both") == 0;
            if (strcmp(where[j], "root") == 0)
                REQUIRE(put_part(root.fd, part));
            if (strcmp(where[j], "there") == 0 || both)
                REQUIRE(put_part(dir, part));
            if (strcmp(where[j], "aside") == 0 || both) {
                _cleanup_close_ int aside = path_make_dir(root.fd, ".migrate-" ID(1), 0700);
                REQUIRE(put_part(aside, part));
            }
        }
        CHECK(mkdirat(dir, ".migrate", 0700) == 0); /* the beginning of a copy */
        CHECK(mkdirat(root.fd, ".migrate-" ID(1), 0700) == 0 || errno == EEXIST);
        MUST(life_find_parts(life, dir, ID(1), parts, &err));
        for (size_t j = 0; j < PARTS; j++)
            CHECK(parts[j].there == (strcmp(where[j], "there") != 0));
        MUST(life_move_parts(life, dir, ID(1), &err));
        for (size_t j = 0; j < PARTS; j++) {
            struct stat st;
            _cleanup_free_ char *file = mem_printf("%s/file", life_part_names[j]);
            CHECK(exists(dir, file) && !exists(root.fd, life_part_names[j]));
            CHECK(fstatat(dir, life_part_names[j], &st, 0) == 0 && (st.st_mode & 0777) == 0755);
        }
        CHECK(!exists(root.fd, ".migrate-" ID(1)));
        MUST(life_move_parts(life, dir, ID(1), &err)); /* nothing is left to do */
        life_move_back(life, dir);
        CHECK(exists(root.fd, "unit/file") && exists(root.fd, "workflows/file") &&
              !exists(dir, "unit"));
    }
}

TEST(what_is_in_the_way_of_a_move_is_not_replaced)
{
    struct life_part parts[PARTS];
    A_LIFE("");

    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    REQUIRE(put_part(root.fd, "workflows") && put_part(dir, "workflows"));
    CHECK_INT(life_find_parts(life, dir, ID(1), parts, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(life_move_parts(life, dir, ID(1), &err), -1);
    CHECK(exists(root.fd, "workflows/file") && exists(dir, "workflows/file"));
    life_move_back(life, dir);
    CHECK(exists(root.fd, "workflows/file") && exists(dir, "workflows/file"));
    _cleanup_close_ int aside = path_make_dir(root.fd, ".migrate-" ID(1), 0700);
    REQUIRE(renameat(dir, "workflows", aside, "workflows") == 0);
    CHECK_INT(life_find_parts(life, dir, ID(1), parts, &err), -1); /* the one of earlier first */
}

TEST(a_half_moved_session_is_seen)
{
    _cleanup_session_ struct session session = root_session(ID(1), "x", "");
    A_LIFE("");

    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    session.mode = MODE_LEGACY;
    session.migrating = MIGRATING_STOPPED;
    CHECK(!life_is_half_moved(life, dir, &session));
    CHECK(mkdirat(dir, "workflows", 0700) == 0);
    CHECK(life_is_half_moved(life, dir, &session));
    session.migrating = MIGRATING_NO;
    CHECK(!life_is_half_moved(life, dir, &session));
    session.migrating = MIGRATING_ACTIVE;
    session.mode = MODE_ISOLATED;
    CHECK(!life_is_half_moved(life, dir, &session));
    session.mode = MODE_LEGACY;
    CHECK(life_is_half_moved(life, dir, &session));
    CHECK(unlinkat(dir, "workflows", AT_REMOVEDIR) == 0 &&
          !life_is_half_moved(life, dir, &session));
    CHECK(mkdirat(root.fd, ".migrate-" ID(1), 0700) == 0);
    CHECK(life_is_half_moved(life, dir, &session));
    CHECK_INT(life_migrate_first(life, "start", ID(1), &err), -1);
    CHECK(err.code == MAS_CONFLICT && strstr(err.hint, "mas migrate") != NULL);
}

TEST(what_dead_hosts_left_goes_and_nothing_else)
{
    static const char *const gone[] = {"a.sock", "a.agent", "a.lock", "b.lock", "b.sock"};
    static const char *const kept[] = {"env", "a.limit", "a.asleep", ".turns", "sock"};
    A_LIFE("");

    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    _cleanup_close_ int run = path_make_dir(dir, "run", 0700);
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        CHECK(place_put(run, gone[i], ""));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        CHECK(place_put(run, kept[i], ""));
    REQUIRE(put_part(run, "a.role"));
    life_clean_run(dir);
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        CHECK(!exists(run, gone[i]));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        CHECK(exists(run, kept[i]));
    CHECK(!exists(run, "a.role"));
}

/* ---- the first messages of a team */

static const char *show_team(const struct team *team, struct str *to)
{
    str_clear(to);
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *a = &team->agents[i];
        str_addf(to, "%s p=%s s=%s m=%s r=%s c=%s\n", a->id, a->prompt, a->system, a->model,
                 a->preset, a->command);
    }
    return str_text(to);
}

#define UNIT(members) "{\"agents\":{\"units\":[{" members "}]}}"
#define OLD(id) id " p= s= m= r= c=old\n"

TEST(a_file_of_prompts_sets_each_member_of_its_agent)
{
    static const struct {
        const char *json;
        const char *want; /* the team, or a part of the error */
    } cases[] = {
        {"{}", OLD("00") OLD("10") OLD("11") OLD("12")},
        {"{\"agents\":{\"metaManager\":{\"id\":\"00\",\"prompt\":\"P\",\"system\":\"S\"},"
         "\"units\":[{\"unitId\":0,\"manager\":{\"id\":\"10\",\"model\":\"M\"},"
         "\"workers\":[{\"id\":\"12\",\"prompt\":\"\"},{\"id\":\"11\",\"command\":\"a 'b "
         "c'\"}]}]}}",
         "00 p=P s=S m= r= c=old\n10 p= s= m=M r= c=old\n11 p= s= m= r= c=a 'b c'\n" OLD("12")},
        /* another preset has another command, unless that is there, too */
        {UNIT("\"manager\":{\"id\":\"10\",\"command\":\"new\",\"preset\":\"one\"},"
              "\"workers\":[{\"id\":\"11\",\"preset\":\"one\"},{\"id\":\"12\",\"preset\":\"\"}]"),
         OLD("00") "10 p= s= m= r=one c=new\n11 p= s= m= r=one c=\n12 p= s= m= r= c=\n"},
        {"[]", "'f': it is not an object"},
        {"{\"agent\":{}}", "agent: unknown member"},
        {"{\"agents\":[]}", "agents: it is not an object"},
        {"{\"agents\":{\"units\":{}}}", "agents.units: it is not a list"},
        {UNIT("\"workers\":{}"), "agents.units[0].workers: it is not a list"},
        {UNIT("\"unitId\":-1"), "agents.units[0].unitId: it is not the number of a unit"},
        {UNIT("\"unitId\":1000001"), "agents.units[0].unitId: it is not the number of a unit"},
        {UNIT("\"unitId\":1000000"), OLD("00") OLD("10") OLD("11") OLD("12")},
        {UNIT("\"workers\":[{\"id\":\"11\"},{\"id\":\"13\"}]"),
         "agents.units[0].workers[1].id: the template has no agent '13'"},
        {UNIT("\"workers\":[{\"id\":\"11\"},{\"id\":\"12\"},{\"id\":\"11\"}]"),
         "agents.units[0].workers[2].id: duplicate agent '11'"},
        {UNIT("\"workers\":[{\"id\":\"10\"}]"), "agent '10' has the rank manager in the template"},
        {UNIT("\"manager\":{\"id\":\"00\"}"), "agent '00' has the rank"},
        {"{\"agents\":{\"metaManager\":{\"id\":\"11\"}}}", "agents.metaManager.id: agent '11' has"},
        {UNIT("\"workers\":[{\"prompt\":\"x\"}]"), "workers[0].id: it is missing"},
        {UNIT("\"workers\":[{\"id\":11}]"), "workers[0].id: it is not a string"},
        {UNIT("\"workers\":[\"11\"]"), "workers[0]: it is not an object"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"prompt\":1}]"),
         "workers[0].prompt: it is not a string"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"prompt\":\" \\n\"}]"),
         "prompt: it has nothing but blanks"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"role\":\"x\"}]"), "workers[0].role: unknown member"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"command\":\"'\"}]"),
         "command: it has an unterminated"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"model\":\"a\\tb\"}]"), "model: it contains a control"},
        {UNIT("\"workers\":[{\"id\":\"11\",\"preset\":\"none\"}]"), "preset: it names an unknown"},
    };
    A_LIFE("[preset one]\ncommand = one\n");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_json_ struct json *json = NULL;
        _cleanup_team_ struct team team = TEAM_INIT;
        _cleanup_str_ struct str shown = STR_INIT;
        make_team(&team);
        MUST(json_parse(cases[i].json, strlen(cases[i].json), 1 << 20, &json, &err));
        struct err why = ERR_INIT;
        int rc = prompts_from_json(json, "f", &house.config, &team, &why);
        if (rc == 0) {
            CHECK_STR(show_team(&team, &shown), cases[i].want);
            continue;
        }
        bool is = strstr(why.text, cases[i].want) != NULL;
        if (!is)
            unit_print_str(cases[i].want, why.text);
        CHECK(is);
        bool absent =
            strstr(cases[i].want, "no agent") != NULL || strstr(cases[i].want, "unknown pr");
        CHECK_INT(why.code, absent || strstr(why.text, "unknown preset") != NULL ? MAS_NOT_FOUND
                                                                                 : MAS_FAILED);
    }
}

/* The longest text that is taken, and one byte more. */
TEST(texts_of_agents_have_limits)
{
    static const struct {
        const char *key;
        size_t max;
    } limits[] = {
        {"system", TEAM_SYSTEM_MAX}, {"model", TEAM_MODEL_MAX}, {"command", TEAM_COMMAND_MAX}};
    A_LIFE("");

    for (size_t i = 0; i < ARRAY_LEN(limits) * 2; i++) {
        size_t len = limits[i / 2].max + i % 2;
        _cleanup_json_ struct json *json = NULL;
        _cleanup_team_ struct team team = TEAM_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        make_team(&team);
        str_addf(&text, "{\"agents\":{\"metaManager\":{\"id\":\"00\",\"%s\":\"", limits[i / 2].key);
        for (size_t j = 0; j < len; j++)
            str_addc(&text, 'x');
        str_add(&text, "\"}}}");
        MUST(json_parse(text.data, text.len, 1 << 20, &json, &err));
        struct err why = ERR_INIT;
        CHECK_INT(prompts_from_json(json, "f", &house.config, &team, &why), i % 2 == 0 ? 0 : -1);
    }
}

TEST(words_of_prompts_name_each_agent_once)
{
    static const struct {
        const char *words[4];
        const char *want; /* as above */
        int code;
    } cases[] = {
        {{NULL}, OLD("00") OLD("10") OLD("11") OLD("12"), 0},
        {{"11=a=b", "00= x"},
         "00 p= x s= m= r= c=old\n" OLD("10") "11 p=a=b s= m= r= c=old\n" OLD("12"),
         0},
        {{"11"}, "it is not AGENT=TEXT", MAS_USAGE},
        {{"00=x", "=x"}, "it is not AGENT=TEXT", MAS_USAGE},
        {{"00=x", "13=x", "11=y"}, "agent '13': the template has no such agent", MAS_NOT_FOUND},
        {{"00=x", "11=y", "00=z"}, "agent '00': the agent has a prompt already", MAS_USAGE},
        {{"00=x", "11="}, "agent '11': it is empty", MAS_USAGE},
        {{"11= \n"}, "agent '11': it is empty", MAS_USAGE},
        {{"11=\xff"}, "agent '11': it ", MAS_USAGE},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_team_ struct team team = TEAM_INIT;
        _cleanup_str_ struct str shown = STR_INIT;
        struct err err = ERR_INIT;
        make_team(&team);
        int rc = prompts_from_words((char **)(uintptr_t)cases[i].words, &team, &err);
        CHECK_INT(rc == 0 ? 0 : err.code, cases[i].code);
        if (rc == 0)
            CHECK_STR(show_team(&team, &shown), cases[i].want);
        else
            CHECK(strstr(err.text, cases[i].want) != NULL);
    }
    CHECK_INT(prompts_from_words(NULL, NULL, NULL), 0);
}

/* ---- the environment, the command, and what has to be there */

TEST(which_variables_agents_get)
{
    A_LIFE("[env]\npass = KEEP_*, ONE, MAS_*\nremove = KEEP_NO*, *_SECRET\nset.SET = set\nset.ONE "
           "= other\n");
    static const char *const vars[][2] = {
        {"KEEP_A", "1"}, {"KEEP_NOT", "1"},    {"KEEP_SECRET", "1"},  {"ONE", "1"},
        {"ONE2", "1"},   {"MAS_SOCKET", "/s"}, {"MAS_BROKERED", "1"}, {"MAS_OTHER", "1"}};
    for (size_t i = 0; i < ARRAY_LEN(vars); i++)
        CHECK(setenv(vars[i][0], vars[i][1], 1) == 0);
    _cleanup_strv_ char **env = env_handed_on(&house.config);
    CHECK_STR(env_get(env, "KEEP_A"), "1");
    CHECK_STR(env_get(env, "KEEP_NOT"), NULL);
    CHECK_STR(env_get(env, "KEEP_SECRET"), NULL);
    CHECK_STR(env_get(env, "ONE"), "other");
    CHECK_STR(env_get(env, "ONE2"), NULL);
    CHECK_STR(env_get(env, "SET"), "set");
    CHECK_STR(env_get(env, "MAS_OTHER"), "1");
    CHECK_STR(env_get(env, "MAS_SOCKET"), NULL);
    CHECK_STR(env_get(env, "MAS_BROKERED"), NULL);
    CHECK_STR(env_get(env, "HOME"), NULL);
    for (size_t i = 0; i < ARRAY_LEN(vars); i++)
        CHECK(unsetenv(vars[i][0]) == 0);
}

#define PRESETS                                                                                    \
    "[preset one]\ncommand = sh -c 'a b'\nmodel_option = --model\nmemory = 100M\nstart = demand\n" \
    "hibernate = 5m\n[preset two]\ncommand = no-such-program\nmemory = 30M\ninstall = get it\n"    \
    "[preset bare]\nmemory = 7M\n[preset needs]\ncommand = sh\nneeds_env = M2_A M2_B\n"

TEST(how_an_agent_starts_is_said_by_itself_its_team_or_its_preset)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    const struct preset *preset = NULL;
    A_LIFE(PRESETS);

    make_team(&team);
    struct agent *const a = &team.agents[1];
    static const struct {
        const char *team, *agent, *model, *command;
        const char *want; /* its words; "!": an error */
    } cases[] = {
        {"one", "", "", "", "sh|-c|a b|"},
        {"one", "", "m", "", "sh|-c|a b|--model|m|"},
        {"two", "one", "m", "", "sh|-c|a b|--model|m|"},
        {"one", "two", "m", "", "no-such-program|"},
        {"one", "", "", "x 'y z'", "x|y z|"},
        {"bare", "", "m", "", "/bin/mine|"},
        {"none", "", "", "", "!"},
        {"one", "none", "", "", "!"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_strv_ char **argv = NULL;
        _cleanup_str_ struct str shown = STR_INIT;
        struct err why = ERR_INIT;
        free(team.preset);
        free(a->preset);
        free(a->model);
        free(a->command);
        team.preset = word(cases[i].team);
        a->preset = word(cases[i].agent);
        a->model = word(cases[i].model);
        a->command = word(cases[i].command);
        int rc = launch_command(&house.config, &team, a, "/bin/mine", &argv, &preset, &why);
        CHECK(rc == 0 || why.code == MAS_NOT_FOUND);
        for (char **one = argv; rc == 0 && *one != NULL; one++)
            str_addf(&shown, "%s|", *one);
        CHECK_STR(rc == 0 ? str_text(&shown) : "!", cases[i].want);
    }
}

TEST(when_and_with_what_agents_start)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    bool wanted[] = {false, true, false, false};
    A_LIFE(PRESETS);

    make_team(&team);
    free(team.preset);
    team.preset = word("one"); /* on demand, 100M */
    free(team.agents[3].preset);
    team.agents[3].preset = word("two"); /* now, 30M */
    for (size_t i = 0; i < team.agent_count; i++)
        team.agents[i].command[0] = '\0';
    const struct preset *one = config_preset(&house.config, "one");
    REQUIRE(one != NULL);
    CHECK_INT(launch_start(&house.config, &team, &team.agents[0]), START_DEMAND);
    CHECK_INT(launch_start(&house.config, &team, &team.agents[3]), START_NOW);
    CHECK_INT(launch_memory(&house.config, &team, true) >> 20, 30);
    free(team.agents[1].prompt);
    team.agents[1].prompt = word("go");
    CHECK_INT(launch_memory(&house.config, &team, false) >> 20, 30);
    CHECK_INT(launch_memory(&house.config, &team, true) >> 20, 130);
    team.agents[0].start = START_NOW;
    CHECK_INT(launch_start(&house.config, &team, &team.agents[0]), START_NOW);
    CHECK_INT(launch_memory(&house.config, &team, true) >> 20, 230);
    CHECK_INT(launch_hibernate_ms(&team.agents[0], one), 300000);
    free(team.agents[0].hibernate);
    team.agents[0].hibernate = word("2m");
    CHECK_INT(launch_hibernate_ms(&team.agents[0], one), 120000);

    CHECK(!launch_is_operator(&team.agents[0], one));
    const struct preset *bare = config_preset(&house.config, "bare");
    REQUIRE(bare != NULL);
    CHECK(launch_is_operator(&team.agents[0], bare)); /* the user's shell */
    struct preset said = *bare;
    said.is_operator = SAID_NO;
    CHECK(!launch_is_operator(&team.agents[0], &said));
    said = *one;
    said.is_operator = SAID_YES;
    CHECK(launch_is_operator(&team.agents[0], &said));
    said.protocol = PROTOCOL_ACP;
    CHECK(!launch_is_operator(&team.agents[0], &said));
    free(team.agents[0].command);
    team.agents[0].command = word("x");
    CHECK(!launch_is_operator(&team.agents[0], bare));

    /* only of those who are wanted a program must be there */
    CHECK(setenv("PATH", "/usr/bin:/bin", 1) == 0);
    team.agents[0].command[0] = '\0';
    MUST(launch_check(&house.config, &team, wanted, &err));
    CHECK_INT(launch_check(&house.config, &team, NULL, &err), -1);
    CHECK(strstr(err.text, "agent '12'") != NULL && strstr(err.text, "no-such-program") != NULL);
    CHECK(strstr(err.hint, "get it") != NULL);
    free(team.agents[1].preset);
    team.agents[1].preset = word("needs");
    CHECK(setenv("M2_A", "1", 1) == 0 && setenv("M2_B", "", 1) == 0);
    CHECK_INT(launch_check(&house.config, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "the variable M2_B") != NULL);
    CHECK(setenv("M2_B", "1", 1) == 0);
    MUST(launch_check_agent(&house.config, &team, &team.agents[1], &err));
    MUST(launch_check(&house.config, &team, wanted, &err));
}

TEST(the_directories_of_those_who_start_are_looked_at)
{
    _cleanup_session_ struct session session = root_session(ID(1), "x", "");
    _cleanup_team_ struct team team = TEAM_INIT;
    bool wanted[] = {false, true, false, true};
    A_LIFE("");

    make_team(&team);
    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "logs") != NULL && strstr(err.hint, "doctor --fix") != NULL);
    CHECK(mkdirat(dir, "logs", 0700) == 0 && mkdirat(dir, "unit", 0700) == 0 &&
          mkdirat(dir, "unit/10", 0700) == 0);
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "agent '12'") != NULL && strstr(err.text, "is missing") != NULL);
    CHECK(strstr(err.hint, "mkdir -p") != NULL);
    CHECK(place_put(dir, "unit/12", ""));
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "is no directory") != NULL &&
          strstr(err.hint, "move that away") != NULL);
    CHECK(unlinkat(dir, "unit/12", 0) == 0 && symlinkat("10", dir, "unit/12") == 0);
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(unlinkat(dir, "unit/12", 0) == 0 && mkdirat(dir, "unit/12", 0700) == 0);
    MUST(places_check(&root, dir, &session, &team, wanted, &err));
    CHECK_INT(places_check(&root, dir, &session, &team, NULL, &err), -1);
    CHECK(strstr(err.text, "agent '00'") != NULL);

    /* and in the project */
    team.project.path = word("/p");
    team.agents[1].code = AGENT_CODE_VIEW;
    team.agents[3].code = AGENT_CODE_WORKTREE;
    CHECK(mkdirat(dir, "code", 0700) == 0 && mkdirat(dir, "code/12", 0700) == 0);
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "code/view") != NULL && strstr(err.hint, "mas restore") != NULL);
    CHECK(mkdirat(dir, "code/view", 0700) == 0 && unlinkat(dir, "code/12", AT_REMOVEDIR) == 0);
    CHECK_INT(places_check(&root, dir, &session, &team, wanted, &err), -1);
    CHECK(strstr(err.text, "code/12") != NULL);
    CHECK(mkdirat(dir, "code/12", 0700) == 0);
    MUST(places_check(&root, dir, &session, &team, wanted, &err));
}
