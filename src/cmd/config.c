#include "base/json.h"
#include "cmd.h"
#include "cmd/print.h"

static void print_json(const struct call *call)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    char name[64];

    json_open(&out, NULL, '{');
    if (call->has_root) {
        json_put(&out, "root", call->root.path);
        json_put(&out, "rootOrigin", root_origin_name(call->origin));
    }
    json_open(&out, "settings", '[');
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        json_open(&out, NULL, '{');
        json_put(&out, "key", setting_name((enum setting)i, name));
        json_put(&out, "value", call->config.settings[i].text);
        json_put(&out, "origin", call->config.settings[i].origin);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

static int run_config(struct call *call, struct err *err)
{
    static const char *const heads[] = {"SETTING", "VALUE", "FROM"};
    struct table table = {.columns = ARRAY_LEN(heads)};
    char name[64];

    (void)err;
    if (call->json) {
        print_json(call);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_add(&table, heads[i], colour_dim());
    if (call->has_root) {
        table_add(&table, "root", NULL);
        table_add(&table, call->root.path, NULL);
        table_add(&table, root_origin_name(call->origin), NULL);
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *value = call->config.settings[i].text;
        table_add(&table, setting_name((enum setting)i, name), NULL);
        table_add(&table, value[0] != '\0' ? value : "-", NULL);
        table_add(&table, call->config.settings[i].origin, NULL);
    }
    table_print(&table);
    table_free(&table);
    return 0;
}

const struct cmd cmd_config = {
    .name = "config",
    .operands = "",
    .summary = "print each setting and where it came from",
    .operands_max = 0,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON,
    .run = run_config,
};
