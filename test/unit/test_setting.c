#include "root.h"

#include "store/config.h"

TEST(built_in_values_are_valid)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_info *info = &setting_infos[i];
        char name[64];
        if (!CHECK(info->section != NULL &&
                   setting_parse((enum setting)i, info->fallback, NULL) == NULL))
            unit_print_str("setting", setting_name((enum setting)i, name));
        CHECK(info->help[0] != '\0' && strchr(info->help, '\n') == NULL);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(info->section, setting_infos[j].section) != 0 ||
                  strcmp(info->key, setting_infos[j].key) != 0);
    }
}

/* What a root that nobody has accepted may not say. */
TEST(settings_that_name_programs_are_known)
{
    static const bool names[SETTING_COUNT] = {
        [SETTING_MEMORY_EMBED] = true,      [SETTING_CODE_CHECK] = true,
        [SETTING_CODE_SETUP] = true,        [SETTING_NOTIFY_COMMAND] = true,
        [SETTING_FORGE_COMMAND] = true,     [SETTING_NOTIFY_WEBHOOK] = true, /* curl */
        [SETTING_MEMORY_EMBED_HOST] = true, /* who gets texts */
    };

    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (!CHECK(((setting_infos[i].how & SETTING_IS_PROGRAM) != 0) == names[i]))
            unit_print_str("setting", setting_infos[i].key);
}

/* Values between "|", the good ones and the bad ones. */
static const struct {
    enum setting setting;
    const char *good, *bad;
} values[] = {
    {SETTING_MODE, "isolated|legacy", "|Isolated|isolated |shared"},
    {SETTING_TEMPLATE, "default|a-b_1|/x/y", "|a b|../x|a/b|/a\tb"},
    {SETTING_PRESET, "shell|x_-9|abcdefghijklmnopqrstuvwxyzabcdef",
     "|a b|a.b|abcdefghijklmnopqrstuvwxyzabcdefg"},
    {SETTING_SOCKET, "|name|a b|/tmp/x", "a/b|.|..|./x|a\nb"},
    {SETTING_SERVER, "shared|per-session", "|own"},
    {SETTING_STATUS, "yes|no", "|on|maybe"},
    {SETTING_SIZE, "10x3|200x50|1000x1000", "|9x3|10x2|1001x50|50x1001|200|200x|x50|200X50|2 x 3"},
    {SETTING_HANGUP, "0|2|2s|600|600s", "|-1|601|2ms|1m|s|2 s|0x1|1.5"},
    {SETTING_TERMINATE, "0s|600", "601s|"},
    {SETTING_LOG_SIZE, "4096|4K|10M|1T", "|0|4095|3K|1025G|2T|10m|10MB|-4K"},
    {SETTING_LOG_KEEP, "0|3|1000", "|1001|-1|3s|+3| 3"},
    {SETTING_ENV_PASS, "|*|AWS_* *_TOKEN|[A-C]?,!X", "A=B|$HOME|a;b|a\nb"},
    {SETTING_ENV_REMOVE, "|X*", "(x)"},
    {SETTING_HARDLINK, "no|readonly", "|yes"},
    {SETTING_LAZY, "yes|no", "|on|true|Yes"},
    {SETTING_CLEAN_OLDER, "|0s|90m|12h|7d|1w", "7|7D|-1d|d|7 d|99999w"},
    {SETTING_CLEAN_KEEP, "|0|1000000", "1000001|-1|many"},
    {SETTING_CLEAN_STATUS, "|stopped|error,crashed", "active|stopped,|stopped error"},
    {SETTING_CLEAN_ARCHIVE, "yes|no", "|1"},
    {SETTING_ARCHIVE_DIR, "archive|/a b|../x", "|a\nb"},
    {SETTING_ARCHIVE_LEVEL, "1|19", "|0|20|-1|3x"},
    {SETTING_FLEET_STORE, "|/x|/a b", "x|./x|~/x|/a\nb"},
    {SETTING_FLEET_SAVE, "1s|10m|24h", "|0s|x"},
    {SETTING_FLEET_ANSWER, "100ms|2s|1m", "|0s|x"},
    {SETTING_FLEET_SILENCE, "0|100ms|10m", "|x|-1s"},
    {SETTING_LIMIT_SESSION, "0|1|500M|1024T", "|1025T|1P|-1"},
    {SETTING_LIMIT_AGENT, "0|1|500M|1024T", "|1025T|1P|-1"},
    {SETTING_LIMIT_FREE, "0|1G", "|5%"},
    {SETTING_LIMIT_MEMORY, "0|16M|2G|1024T", "|15M|1|1025T|-1|half"},
    {SETTING_LIMIT_CPUS, "0|1|1.5|0.25|4096|4096.00", "|.|1.|.5|1.255|4096.01|-1|1,5|1 |a"},
    {SETTING_LIMIT_PROCESSES, "0|1|4194304", "|-1|4194305|many"},
    {SETTING_LIMIT_CGROUP, "auto|no|/|/sys/fs/cgroup/mas", "|yes|sys/fs/cgroup|/a\nb"},
    {SETTING_LIMIT_TURNS, "0|1|1000", "|-1|1001|many"},
    {SETTING_LIMIT_QUOTA, "0|0%|80%|80|100%", "|101%|-1%|80.5%|80 %|all"},
    {SETTING_LIMIT_RETRY, "30s|500ms|10m", "|0|soon|11m"},
    {SETTING_BUDGET_COST, "|5 USD|0.25 EUR|3 credits|none", "5|USD|-1 USD|0 USD|5 U$"},
    {SETTING_BUDGET_TOKENS, "|1|200k|5M|none", "0|-1|5 M|1.5M"},
    {SETTING_BUDGET_TURNS, "|1|100|none", "0|-1|5k"},
    {SETTING_BUDGET_TIME, "|30s|90m|8h|2d|none", "0s|30|8 h|forever"},
    {SETTING_WALL_LEVEL, "|off|try|require", "on|Try|yes"},
    {SETTING_WALL_NETWORK, "open|none|api.example.com, *.x.org:443", "|a/b|a;b"},
    {SETTING_WALL_READ, "|/x|/a/b ~/c", "x|~|/|/a/../b|/a//b|~x"},
    {SETTING_WALL_WRITE, "|/x, ~/y", "../x|/./x"},
    {SETTING_WALL_NESTED, "yes|no", "|on"},
    {SETTING_CODE_CHECK, "|make check|/x 'a b' \"c\"", "'a|a\nb|\"x"},
    {SETTING_CODE_CHECK_TIMEOUT, "1s|10m|24h", "|0s|x"},
    {SETTING_CODE_SETUP, "|npm ci|/x 'a b' \"c\"", "'a|a\nb|\"x"},
    {SETTING_CODE_SETUP_TIMEOUT, "1s|10m|24h", "|0s|x"},
    {SETTING_FORGE_COMMAND, "|/x 'a b' \"c\"", "'a|a\nb|\"x"},
    {SETTING_NOTIFY_ON, "|waiting|waiting, crashed,done limit conflict", "idle|Waiting|done,x"},
    {SETTING_NOTIFY_COMMAND, "|notify 'a b'", "'a|a\nb"},
    {SETTING_NOTIFY_DESKTOP, "yes|no", "|on"},
    {SETTING_NOTIFY_TERMINAL, "yes|no|bell|osc9, osc777|bell osc9", "|none|osc99|bell,yes"},
    {SETTING_NOTIFY_WEBHOOK, "|https://x.example/a?b=%22c|http://[::1]:80/",
     "x|ftp://x|HTTP://x|http://a b|http://a\"|http://a\\"},
    {SETTING_NOTIFY_DONE_AFTER, "0|0s|1s|5m", "|x|-1s"},
    {SETTING_NOTIFY_QUIET, "|22:00-07:00|00:00-23:59", "22:00|22-7|24:00-01:00|22:00 - 07:00"},
    {SETTING_MEMORY_RECALL, "on|off", "|yes|ON"},
    {SETTING_MEMORY_SHARE, "yes|no", "|on"},
    {SETTING_MEMORY_EMBED_HOST, "|api.example.org", "a\nb"},
    {SETTING_MEMORY_EMBED, "|/x 'a b' \"c\"", "'a|a\nb|\"x"},
    {SETTING_MEMORY_SUMMARY, "off|agent", "|on"},
    {SETTING_MEMORY_MESSAGES, "0|10000", "|10001|-1"},
    {SETTING_MEMORY_EACH, "100|4000000", "|99|4000001"},
    {SETTING_MEMORY_ALL, "100", "0"},
    {SETTING_MEMORY_CURRENT, "0|10000", "10001"},
    {SETTING_MEMORY_RELEVANT, "0|10000", "10001"},
    {SETTING_SERVE_LISTEN, "|127.0.0.1:8765|[::1]:1|0.0.0.0:65535",
     "8765|127.0.0.1|127.0.0.1:|127.0.0.1:65536|:1|host:1"},
    {SETTING_SERVE_UNIX, "|run/x.sock|/x", "a\nb"},
    {SETTING_SERVE_TOKEN, "|serve.token", "a\x7f"},
    {SETTING_SERVE_HOSTS, "|a.example b-c,[::1]:8", "a/b|a*|a\nb"},
    {SETTING_SERVE_CERT, "|/x.pem", "a\rb"},
    {SETTING_SERVE_KEY, "|/x.pem", "\x1b"},
    {SETTING_SERVE_REMOTE, "yes|no", "|maybe"},
};

static void check_each(enum setting setting, const char *list, bool is_good)
{
    for (const char *at = list; at != NULL;) {
        const char *end = strchr(at, '|');
        _cleanup_free_ char *value = mem_dupn(at, end != NULL ? (size_t)(end - at) : strlen(at));
        char name[64];
        if (!CHECK_INT(setting_parse(setting, value, NULL) == NULL, is_good)) {
            unit_print_str("setting", setting_name(setting, name));
            unit_print_str("value", value);
        }
        at = end != NULL ? end + 1 : NULL;
    }
}

TEST(values_have_types_and_ranges)
{
    bool seen[SETTING_COUNT] = {false};

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        check_each(values[i].setting, values[i].good, true);
        check_each(values[i].setting, values[i].bad, false);
        seen[values[i].setting] = true;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++)
        CHECK(seen[i]);
}

TEST(long_values_are_refused)
{
    static const struct {
        enum setting setting;
        size_t most;
    } cases[] = {{SETTING_SOCKET, 107}, {SETTING_ARCHIVE_DIR, 4095}, {SETTING_SERVE_TOKEN, 4095}};
    char value[4097] = "/";

    memset(value, 'x', sizeof value - 1);
    value[0] = '/';
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            char *end = &value[cases[i].most + more];
            *end = '\0';
            CHECK_INT(setting_parse(cases[i].setting, value, NULL) == NULL, more == 0);
            *end = 'x';
        }
}

struct fixture {
    struct place place;
    struct root root;
    char path[64]; /* of mas.ini in the root */
};

static void release(struct fixture *f)
{
    root_close(&f->root);
    place_free(&f->place);
}
#define _cleanup_fixture_ __attribute__((cleanup(release)))

static struct fixture prepare(void)
{
    struct fixture f = {.place = place_make(), .root = ROOT_INIT};

    root_clear_env(&f.place);
    CHECK(root_make(&f.place, &f.root));
    CHECK(mkdirat(f.place.dir, "mas", 0700) == 0 && mkdirat(f.place.dir, "templates", 0700) == 0);
    return f;
}

TEST(a_later_source_wins)
{
    static const struct {
        const char *user, *ini, *env, *value, *origin; /* a path is below the place */
    } cases[] = {
        {NULL, "", NULL, "200x50", "built in"},
        {"[tmux]\nsize=80x24\n", "", NULL, "80x24", "/mas/mas.ini:2"},
        {"[tmux]\nsize=80x24\n", "\n[tmux]\nsize=90x30\n", NULL, "90x30", "/mas.ini:3"},
        {"[tmux]\nsize=80x24\n", "[tmux]\nsize=90x30\n", "70x20", "70x20", "MAS_TMUX_SIZE"},
        {NULL, "[tmux]\nsize=90x30\n", "", "90x30", "/mas.ini:2"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_fixture_ struct fixture f = prepare();
        _cleanup_config_ struct config config = CONFIG_INIT;
        struct err err = ERR_INIT;
        if (cases[i].user != NULL)
            CHECK(place_put(f.place.dir, "mas/mas.ini", cases[i].user));
        CHECK(place_put(f.place.dir, "mas.ini", cases[i].ini));
        CHECK(cases[i].env == NULL || setenv("MAS_TMUX_SIZE", cases[i].env, 1) == 0);
        MUST(config_load(&f.root, false, &config, NULL, &err));
        CHECK_STR(config_text(&config, SETTING_SIZE), cases[i].value);
        const char *origin = config.settings[SETTING_SIZE].origin;
        if (cases[i].origin[0] == '/' && CHECK(str_starts(origin, f.place.path)))
            origin += strlen(f.place.path);
        CHECK_STR(origin, cases[i].origin);
        CHECK_INT(config_is_of_env(&config, SETTING_SIZE), origin[0] == 'M');
        CHECK(!config_is_of_env(&config, SETTING_HANGUP));
        MUST(config_override(&config, SETTING_SIZE, "60x10", "--size", &err));
        CHECK_STR(config_text(&config, SETTING_SIZE), "60x10");
        CHECK_INT(config_override(&config, SETTING_SIZE, "6x1", "--size", &err), -1);
        CHECK_INT(err.code, MAS_USAGE);
        CHECK_STR(config_text(&config, SETTING_SIZE), "60x10");
    }
}

TEST(reads_values)
{
    _cleanup_fixture_ struct fixture f = prepare();
    _cleanup_config_ struct config config = CONFIG_INIT;
    struct err err = ERR_INIT;
    int columns = 0;
    int rows = 0;

    REQUIRE(place_put(f.place.dir, "mas.ini",
                      "[stop]\nhangup=7\n[log]\nsize=64K\nkeep=5\n[limits]\nsession=2G\n"
                      "[memory]\nrecall=on\n[workspace]\nlazy=yes\nhardlink=readonly\n"));
    MUST(config_load(&f.root, false, &config, NULL, &err));
    CHECK_INT(config_number(&config, SETTING_HANGUP), 7000);
    CHECK_INT(config_number(&config, SETTING_TERMINATE), 3000);
    CHECK_INT(config_bytes(&config, SETTING_LIMIT_SESSION), INT64_C(2) << 30);
    CHECK_INT(config_log_limits(&config).size, 65536);
    CHECK_INT(config_log_limits(&config).keep, 5);
    CHECK(config_yes(&config, SETTING_LAZY) && config_yes(&config, SETTING_MEMORY_RECALL));
    CHECK(!config_yes(&config, SETTING_MEMORY_SHARE) && config_links(&config));
    CHECK(setting_parse_size("200x50", &columns, &rows));
    CHECK_INT(columns * 1000 + rows, 200050);
    CHECK(setenv("MAS_SESSION_MODE", "legacy", 1) == 0 && setenv("MAS_SESSION_ID", ID(1), 1) == 0);
    config_free(&config);
    MUST(config_load(NULL, false, &config, NULL, &err));
    CHECK_STR(config_text(&config, SETTING_MODE), "isolated"); /* a team's own is no request */
    CHECK(unsetenv("MAS_SESSION_ID") == 0);
    config_free(&config);
    MUST(config_load(NULL, false, &config, NULL, &err));
    CHECK_STR(config_text(&config, SETTING_MODE), "legacy");
}

TEST(names_what_is_wrong)
{
    static const struct {
        const char *ini, *why; /* after the path */
    } cases[] = {
        {"[tmux]\nsize=9x9\n",
         ":2: [tmux] size: '9x9' is not COLUMNSxROWS, from 10x3 to 1000x1000"},
        {"[tmux]\nsizes=80x24\n", ":2: [tmux] sizes: unknown setting; did you mean 'size'?"},
        {"[tmux]\nsocekt=x\n", ":2: [tmux] socekt: unknown setting; did you mean 'socket'?"},
        {"[tmux]\nhangup=2s\n", ":2: [tmux] hangup: unknown setting"},
        {"[env]\nste.X=1\n", ":2: [env] ste.X: unknown setting"},
        {"[env]\nset.A B=1\n", ":2: [env] set.A B: 'A B' is not a name of an environment variable"},
        {"[memroy]\n", ":1: [memroy]: unknown section; did you mean '[memory]'?"},
        {"[prest x]\n", ":1: [prest x]: unknown section; did you mean '[preset NAME]'?"},
        {"[env]\nset.MAS_X=1\n", ":2: [env] set.MAS_X: 'MAS_X' is set by mas itself"},
        {"[something]\n", ":1: [something]: unknown section"},
        {"[preset a b]\n",
         ":1: [preset a b]: a preset's name must be 1 to 32 characters of A-Z a-z 0-9 _ -"},
        {"size=80x24\n", ":1: key 'size' comes before the first [section]"},
        {"[log]\nkeep=1\nkeep=2\n", ":3: [log] keep: duplicate key: first used in line 2"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_fixture_ struct fixture f = prepare();
        _cleanup_config_ struct config config = CONFIG_INIT;
        _cleanup_free_ char *want = mem_printf("%s/mas.ini%s", f.place.path, cases[i].why);
        struct err err = ERR_INIT;
        CHECK(place_put(f.place.dir, "mas.ini", cases[i].ini));
        CHECK_INT(config_load(&f.root, false, &config, NULL, &err), -1);
        CHECK_INT(err.code, MAS_FAILED);
        CHECK(config.settings[0].text == NULL);
        CHECK_STR(err.text, want);
    }
}

TEST(tells_all_problems)
{
    _cleanup_fixture_ struct fixture f = prepare();
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_diagnostics_ struct diagnostics wrong = DIAGNOSTICS_INIT;
    struct err err = ERR_INIT;

    REQUIRE(place_put(f.place.dir, "mas.ini", "[log]\nkeep=x\nsize=1\n[x]\ny=1\n") &&
            place_put(f.place.dir, "mas/mas.ini", "[stop]\nhangup=1h\n"));
    CHECK_INT(config_load(&f.root, false, &config, &wrong, &err), -1);
    CHECK_INT(wrong.errors, 4);
    REQUIRE(CHECK_INT(wrong.count, 4));
    CHECK_INT(wrong.list[0].line * 1000 + wrong.list[1].line * 100 + wrong.list[2].line * 10 +
                  wrong.list[3].line,
              2342);
}

/* [memory] embed_command names a program. */
TEST(a_root_that_is_not_accepted_names_no_program)
{
    for (int accepted = 0; accepted < 2; accepted++) {
        _cleanup_fixture_ struct fixture f = prepare();
        _cleanup_config_ struct config config = CONFIG_INIT;
        struct err err = ERR_INIT;
        f.root.accepted = accepted == 1;
        CHECK(place_put(f.place.dir, "mas.ini", "[memory]\nembed_command=evil\nshare=yes\n"));
        MUST(config_load(&f.root, false, &config, NULL, &err));
        CHECK_STR(config_text(&config, SETTING_MEMORY_EMBED), accepted == 1 ? "evil" : "");
        CHECK_INT(config.disbelieved == NULL, accepted);
        CHECK(config_yes(&config, SETTING_MEMORY_SHARE));
    }
}

TEST(a_file_that_others_may_write_is_refused)
{
    _cleanup_fixture_ struct fixture f = prepare();
    _cleanup_config_ struct config config = CONFIG_INIT;
    struct err err = ERR_INIT;

    REQUIRE(fchmodat(f.place.dir, "mas.ini", 0602, 0) == 0);
    CHECK_INT(config_load(&f.root, false, &config, NULL, &err), -1);
    CHECK(strstr(err.text, "everybody may write to it") != NULL);
    REQUIRE(unlinkat(f.place.dir, "mas.ini", 0) == 0 && mkdirat(f.place.dir, "mas.ini", 0700) == 0);
    CHECK_INT(config_load(&f.root, false, &config, NULL, &err), -1);
    CHECK(strstr(err.text, "it is a directory") != NULL);
}

TEST(presets_come_from_all_files)
{
    _cleanup_fixture_ struct fixture f = prepare();
    _cleanup_config_ struct config config = CONFIG_INIT;
    struct err err = ERR_INIT;

    REQUIRE(place_put(f.place.dir, ROOT_PRESETS, "[preset a]\ncommand=x\nlogin=l\n") &&
            place_put(f.place.dir, "mas.ini", "[preset a]\ncommand=y\n[env]\nset.K=v w\n"));
    MUST(config_load(&f.root, true, &config, NULL, &err));
    const struct preset *preset = config_preset(&config, "a");
    REQUIRE(CHECK(preset != NULL));
    CHECK_STR(preset->command, "y");
    CHECK_STR(preset->login, "l");
    CHECK(config_preset(&config, "b") == NULL);
    CHECK_INT(config_hint_presets(&config, &err), -1);
    CHECK_STR(err.hint, "the presets are: a");
    REQUIRE(CHECK_INT(config.env_count, 1));
    CHECK_STR(config.env[0].name, "K");
    CHECK_STR(config.env[0].value, "v w");
    config_free(&config);
    REQUIRE(place_put(f.place.dir, ROOT_PRESETS, "[tmux]\nsize=80x24\n")); /* only presets there */
    CHECK_INT(config_load(&f.root, true, &config, NULL, &err), -1);
    MUST(config_load(&f.root, false, &config, NULL, &err));
}

TEST(a_new_file_of_settings_is_good)
{
    _cleanup_fixture_ struct fixture f = prepare();
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    setting_write_defaults(&text, NULL);
    for (size_t i = 0; i < text.len; i++) /* each setting as it stands there */
        if (text.data[i] == ';' && text.data[i + 1] != ' ')
            text.data[i] = '\n';
    REQUIRE(place_put(f.place.dir, "mas.ini", text.data));
    MUST(config_load(&f.root, false, &config, NULL, &err));
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        CHECK_STR(config_text(&config, (enum setting)i), setting_infos[i].fallback);
        CHECK(strcmp(config.settings[i].origin, "built in") != 0);
    }
}
