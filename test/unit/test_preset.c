#include "unit.h"

#include "model/preset.h"

#define _cleanup_preset_ __attribute__((cleanup(preset_free)))

static int read_line(struct preset *preset, const char *key, const char *value, struct err *err)
{
    const struct ini_line line = {"mas.ini", 3, "preset p", key, value};

    return preset_read(preset, &line, err);
}

TEST(a_preset_that_says_nothing_has_its_defaults)
{
    _cleanup_preset_ struct preset preset;

    preset_make(&preset, "p");
    CHECK_STR(preset.name, "p");
    CHECK(preset.protocol == PROTOCOL_TTY && preset.start == START_NOW);
    CHECK(!preset.restart_on_crash && preset.restart_limit == 5);
    CHECK(preset.permission == POLICY_ASK && preset.offers == OFFERS_ALL && preset.tools);
    CHECK(strv_len(preset.reads) == 2 && strcmp(preset.reads[1], "CLAUDE.md") == 0);
    CHECK(preset.needs_env == NULL && preset.hibernate_ms == 0 && preset.memory == 0);
    CHECK_STR(preset.command, "");
    CHECK_STR(preset.title_waiting, "");
    CHECK_STR(preset.sandbox_off.session, "");
    CHECK_STR(preset.wall.network, "");
}

TEST(keys_are_read_or_refused)
{
    static const struct {
        const char *key, *value, *why; /* why NULL: it is read */
    } cases[] = {
        {"protocol", "acp", NULL},
        {"command", "claude --x 'a b'", NULL},
        {"offers", "fs, auth", NULL},
        {"env.A_B", "c", NULL},
        {"env.A_B", "d", NULL},
        {"role_env.ROLE", "{role}", NULL},
        {"wall.env.W", "x", NULL},
        {"told.env.T", "{dir}", NULL},
        {"sandbox_off.env.S", "y", NULL},
        {"permission.execute", "deny", NULL},
        {"permission", "allow", NULL},
        {"reads", "A.md", NULL},
        {"hibernate", "15m", NULL},
        {"needs_env", "KEY, OTHER", NULL},
        {"ready", "^> $", NULL},
        {"sandbox_off.session", "{\"a\":1}", NULL},
        {"role_file", "...", NULL},
        {"wall.home", ".a:ro", NULL},
        {"told.key.stop", "Esc Esc", NULL},
        {"told.tool.Bash", "execute", NULL},
        {"told.tool.Ask", "question", NULL},
        {"told.key.stop", "Escape",
         "[preset p] told.key.stop: 'Escape' is not at most 8 names of keys, such as Esc, Enter, "
         "Ctrl-C or y"},
        {"told.tool.Bash", "run", "[preset p] told.tool.Bash: unknown kind of tool"},
        {"protocol", "http", "[preset p] protocol: 'http' is not tty or acp"},
        {"protocl", "acp", "[preset p] protocl: unknown key in a preset; did you mean 'protocol'?"},
        {"env.MAS_X", "1", "[preset p] env.MAS_X: 'MAS_X' is set by mas itself"},
        {"env.", "1", "[preset p] env.: '' is not a name of an environment variable"},
        {"role_env.PWD", "1", "[preset p] role_env.PWD: 'PWD' is set by mas itself"},
        {"told.env.PWD", "1", "[preset p] told.env.PWD: 'PWD' is set by mas itself"},
        {"wall.env.TMUX", "1", "[preset p] wall.env.TMUX: 'TMUX' is set by mas itself"},
        {"sandbox_off.env.1", "1",
         "[preset p] sandbox_off.env.1: '1' is not a name of an environment variable"},
        {"permission.exec", "deny",
         "[preset p] permission.exec: unknown kind of tool; did you mean 'execute'?"},
        {"permission.read", "never",
         "[preset p] permission.read: 'never' is not ask, allow or deny"},
        {"command", "a 'b",
         "[preset p] command: 'a 'b' is not a program and its arguments, with every quote closed"},
        {"ready", "(", "[preset p] ready: '(' is not an extended regular expression"},
        {"sandbox_off.session", "[]",
         "[preset p] sandbox_off.session: '[]' is not a JSON object of at most 4 KiB"},
        {"role_file", "..",
         "[preset p] role_file: '..' is not the name of a file, at most 64 bytes"},
        {"role_file", ".", "[preset p] role_file: '.' is not the name of a file, at most 64 bytes"},
        {"reads", "a/b", "[preset p] reads: 'a/b' is not a list of at most 16 file names"},
        {"needs_env", "A-B",
         "[preset p] needs_env: 'A-B' is not a list of at most 32 names of environment variables"},
        {"limits.session", "1G", "[preset p] limits.session: unknown key in a preset"},
    };
    _cleanup_preset_ struct preset preset;

    preset_make(&preset, "p");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        int rc = read_line(&preset, cases[i].key, cases[i].value, &err);
        CHECK_INT(rc, cases[i].why != NULL ? -1 : 0);
        if (rc == -1 && (cases[i].why == NULL || !str_starts(err.text, cases[i].why)))
            CHECK_STR(err.text, cases[i].why);
    }
    CHECK(preset.protocol == PROTOCOL_ACP && preset.offers == (OFFERS_FS | OFFERS_AUTH));
    CHECK_STR(preset.command, "claude --x 'a b'");
    CHECK_INT(preset.env.count, 1);
    CHECK_STR(kv_get(&preset.env, "A_B"), "d");
    CHECK_STR(kv_get(&preset.role_env, "ROLE"), "{role}");
    CHECK_STR(kv_get(&preset.wall_env, "W"), "x");
    CHECK_STR(kv_get(&preset.told.env, "T"), "{dir}");
    CHECK_STR(kv_get(&preset.sandbox_off.env, "S"), "y");
    CHECK(strv_len(preset.reads) == 1 && strv_len(preset.needs_env) == 2);
    CHECK_INT(preset.hibernate_ms, 15 * 60 * 1000);
    CHECK_STR(preset.sandbox_off.session, "{\"a\":1}");
    CHECK_STR(preset.role_file, "...");
    CHECK(preset.wall.home_count == 1 && preset.wall.home[0].kind == WALL_HOME_READ);
}

TEST(values_have_limits)
{
    static const struct {
        const char *key, *before, *after; /* around the letters */
        size_t most;
    } cases[] = {{"ready", "", "", PRESET_REGEX_MAX},
                 {"role_file", "", "", PRESET_FILE_MAX},
                 {"sandbox_off.session", "{\"", "\":1}", 4096}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            _cleanup_preset_ struct preset preset;
            _cleanup_str_ struct str text = STR_INIT;
            struct err err = ERR_INIT;
            preset_make(&preset, "p");
            str_add(&text, cases[i].before);
            while (text.len + strlen(cases[i].after) < cases[i].most + more)
                str_addc(&text, 'x');
            str_add(&text, cases[i].after);
            CHECK_INT(read_line(&preset, cases[i].key, text.data, &err), more == 0 ? 0 : -1);
        }
    for (int more = 0; more < 2; more++) {
        _cleanup_preset_ struct preset preset;
        _cleanup_str_ struct str names = STR_INIT;
        _cleanup_str_ struct str files = STR_INIT;
        struct err err = ERR_INIT;
        preset_make(&preset, "p");
        for (int i = 0; i < PRESET_NEEDS_MAX + more; i++)
            str_addf(&names, "A%d ", i);
        for (int i = 0; i < PRESET_READS_MAX + more; i++)
            str_addf(&files, "a%d.md ", i);
        CHECK_INT(read_line(&preset, "needs_env", names.data, &err), -more);
        CHECK_INT(read_line(&preset, "reads", files.data, &err), -more);
    }
}

/* What is said of one kind counts for it alone; a kind that nobody knows is one of the others. */
TEST(a_permission_depends_on_the_kind_of_a_tool)
{
    static const struct {
        const char *kind;
        enum policy want;
    } cases[] = {{"read", POLICY_ALLOW}, {"edit", POLICY_ASK}, {"execute", POLICY_DENY},
                 {"other", POLICY_DENY}, {"new", POLICY_DENY}, {"", POLICY_DENY},
                 {NULL, POLICY_DENY},    {"rea", POLICY_DENY}, {"switch_mode", POLICY_ASK}};
    struct preset preset = {
        .permission = POLICY_ASK,
        .tool_permission = {
            [TOOL_READ] = POLICY_ALLOW, [TOOL_EXECUTE] = POLICY_DENY, [TOOL_OTHER] = POLICY_DENY}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(preset_policy(&preset, cases[i].kind), cases[i].want);
    preset.tool_permission[TOOL_OTHER] = POLICY_UNSET;
    CHECK_INT(preset_policy(&preset, "new"), POLICY_ASK);
    CHECK_INT(preset_policy(&preset, NULL), POLICY_ASK);
}

TEST(only_what_can_be_told_its_role_takes_words)
{
    static const struct {
        enum protocol protocol;
        enum said says;
        const char *option;
        bool env, want;
    } cases[] = {
        {PROTOCOL_TTY, SAID_UNSET, "", false, true},
        {PROTOCOL_TTY, SAID_UNSET, "--role", false, false},
        {PROTOCOL_TTY, SAID_UNSET, "", true, false},
        {PROTOCOL_TTY, SAID_NO, "", false, false},
        {PROTOCOL_TTY, SAID_YES, "--role", true, true},
        {PROTOCOL_ACP, SAID_UNSET, "", false, false},
        {PROTOCOL_ACP, SAID_YES, "", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct preset preset = {.protocol = cases[i].protocol,
                                .executes = cases[i].says,
                                .role_option = (char *)(uintptr_t)cases[i].option};
        if (cases[i].env)
            kv_put(&preset.role_env, "ROLE", "x");
        CHECK_INT(preset_executes(&preset), cases[i].want);
        kv_free(&preset.role_env);
    }
    CHECK_STR(start_words[START_NOW], "now");
    CHECK_STR(start_words[START_DEMAND], "demand");
}
