#include "base/json.h"
#include "cli/installed.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cmd.h"

static void put_json(const struct preset *preset, struct json_out *out)
{
    _cleanup_free_ char *program = installed_program(preset);
    enum installed_login login = installed_login(preset);

    json_put_all(out, JO(NULL), JT("name", preset->name),
                 JT("protocol", preset->protocol == PROTOCOL_ACP ? "acp" : "tty"),
                 JT("description", preset->description), JT("command", preset->command),
                 JT("program", program), JB("installed", installed_is(preset, program)),
                 JT("install", preset->install),
                 JT("login", preset->login[0] != '\0' ? preset->login : preset->login_command));
    if (login == LOGIN_UNKNOWN)
        json_put(out, "loggedIn", NULL);
    else
        json_put_bool(out, "loggedIn", login == LOGIN_FOUND);
    json_close(out, '}');
}

static void print_json(const struct config *config)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "presets", '[');
    for (size_t i = 0; i < config->preset_count; i++)
        put_json(&config->presets[i], &out);
    json_close(&out, ']');
    json_put_int(&out, "total", (int64_t)config->preset_count);
    json_close(&out, '}');
    print_line(&text);
}

static void print_table(const struct config *config)
{
    static const char *const heads[] = {"PRESET", "PROTOCOL", "PROGRAM", "INSTALLED",
                                        "DESCRIPTION"};
    static const char *const spare[] = {NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};

    table_heads(&table, heads);
    for (size_t i = 0; i < config->preset_count; i++) {
        const struct preset *preset = &config->presets[i];
        _cleanup_free_ char *program = installed_program(preset);
        bool installed = installed_is(preset, program);
        table_add(&table, preset->name, NULL);
        table_add(&table, preset->protocol == PROTOCOL_ACP ? "acp" : "tty", NULL);
        table_add(&table, program, NULL);
        table_add(&table, installed ? "yes" : "no", installed ? NULL : colour_dim());
        table_add(&table, preset->description, NULL);
    }
    table_print(&table);
    table_free(&table);
}

static int run_presets(struct call *call, struct err *err)
{
    (void)err;
    if (call->json)
        print_json(&call->config);
    for (size_t i = 0; !call->json && call->quiet && i < call->config.preset_count; i++)
        printf("%s\n", call->config.presets[i].name);
    if (!call->json && !call->quiet)
        print_table(&call->config);
    return 0;
}

const struct cmd cmd_presets = {
    .name = "presets",
    .group = GROUP_SETUP,
    .alias = "preset",
    .operands = "",
    .summary = "list the presets: named ways to run an agent",
    .examples = "mas presets\n"
                "mas new --agent claude",
    .details = "List the presets of templates/agents.ini and of mas.ini; mas.ini(5) "
               "describes their keys. PROTOCOL is acp if mas keeps the conversation with the "
               "agent, and tty if the agent is any program on a terminal. INSTALLED says "
               "whether mas finds the program in PATH; --json says how to install it, how to "
               "log in, and whether the file of a login is there.",
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS,
    .run = run_presets,
};
