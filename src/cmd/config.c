#include "base/json.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cmd.h"

/* Called for each setting, each variable that [env] sets, each account, each key of a preset that a
 * mas.ini sets, and each key of a host. `restart`: see SETTING_OF_HOSTS. */
typedef void each_fn(const char *key, const char *value, bool restart, const char *origin,
                     void *arg);

static void each_setting(const struct config *config, each_fn *each, void *arg)
{
    char name[64];

    for (size_t i = 0; i < SETTING_COUNT; i++)
        each(setting_name((enum setting)i, name), config->settings[i].text,
             (setting_infos[i].how & SETTING_OF_HOSTS) != 0, config->settings[i].origin, arg);
    for (size_t i = 0; i < config->env_count; i++) {
        _cleanup_free_ char *key = mem_printf("env.set.%s", config->env[i].name);
        each(key, config->env[i].value, true, config->env[i].origin, arg);
    }
    for (size_t i = 0; i < config->accounts.count; i++) { /* what it sets is secret */
        _cleanup_free_ char *key = mem_printf("account.%s", config->accounts.list[i].name);
        each(key, "", true, config->accounts.list[i].file, arg);
    }
    for (size_t i = 0; i < config->preset_key_count; i++) {
        _cleanup_free_ char *key = mem_printf("preset.%s", config->preset_keys[i].name);
        each(key, config->preset_keys[i].value, true, config->preset_keys[i].origin, arg);
    }
    for (size_t i = 0; i < config->remote_count; i++)
        for (size_t at = 0; remote_key(at) != NULL; at++) {
            char text[REMOTE_PLACE_MAX + 16];
            const struct remote *remote = &config->remotes[i];
            _cleanup_free_ char *key = mem_printf("host.%s.%s", remote->name, remote_key(at));
            each(key, remote_value(remote, at, text), false, remote->origin, arg);
        }
}

static void put_json(const char *key, const char *value, bool restart, const char *origin,
                     void *arg)
{
    struct json_out *out = arg;

    json_put_all(out, JO(NULL), JT("key", key), JT("value", value), JB("restart", restart),
                 JT("origin", origin), JOE);
}

static void put_row(const char *key, const char *value, bool restart, const char *origin, void *arg)
{
    struct table *table = arg;

    table_add(table, key, NULL);
    table_add(table, value[0] != '\0' ? value : "-", NULL);
    table_add(table, restart ? "yes" : "-", NULL);
    table_add(table, origin, NULL);
}

static void print_json(const struct call *call)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    if (call->has_root) {
        json_put_all(&out, JT("root", call->root.path),
                     JT("rootOrigin", root_origin_name(call->origin)),
                     JB("rootAccepted", call->root.accepted));
    }
    json_open(&out, "settings", '[');
    each_setting(&call->config, put_json, &out);
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

static int run_config(struct call *call, struct err *err)
{
    const struct diagnostics *wrong = &call->config.wrong_remotes;
    static const char *const heads[] = {"SETTING", "VALUE", "RESTART", "FROM"};
    struct table table = {.columns = ARRAY_LEN(heads)};

    if (call->json) {
        print_json(call);
        return wrong->count > 0 ? call_show_wrong(wrong, MAS_FAILED, err) : 0;
    }
    table_heads(&table, heads);
    if (call->has_root) {
        table_add(&table, "root", NULL);
        table_add(&table, call->root.path, NULL);
        table_add(&table, "-", NULL);
        table_add(&table,
                  call->root.accepted ? root_origin_name(call->origin)
                                      : "current directory, not accepted",
                  NULL);
    }
    each_setting(&call->config, put_row, &table);
    table_print(&table);
    table_free(&table);
    return wrong->count > 0 ? call_show_wrong(wrong, MAS_FAILED, err) : 0;
}

const struct cmd cmd_config = {
    .name = "config",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "print the root and each setting with its origin",
    .examples = "mas config\n"
                "mas config --json",
    .details = "RESTART says yes for what the hosts of a team read when they start: a change of "
               "mas.ini reaches a team that runs with the next mas stop and mas start. Other "
               "settings are read by each command, or hold for new sessions.",
    .operands_max = 0,
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON,
    .run = run_config,
};
