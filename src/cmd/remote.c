#include "base/json.h"
#include "cli/print.h"
#include "cli/remote_check.h"
#include "cli/table.h"
#include "cmd.h"

/* ---- list */

static void print_json(const struct config *config)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "hosts", '[');
    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        char buf[REMOTE_PLACE_MAX + 16];
        json_put_all(&out, JO(NULL), JT("host", remote->name));
        for (size_t at = 0; remote_key(at) != NULL; at++)
            json_put(&out, remote_key(at), remote_value(remote, at, buf));
        json_put_all(&out, JT("origin", remote->origin), JT("wrong", remote->wrong), JOE);
    }
    json_close(&out, ']');
    json_put_int(&out, "total", (int64_t)config->remote_count);
    json_close(&out, '}');
    print_line(&text);
}

static void print_table(const struct config *config)
{
    static const char *const heads[] = {"HOST", "VIA", "MAS", "ROOT", "STORE", "FROM"};
    static const char *const keys[] = {"via", "mas", "root", "store"};
    static const char *const spare[] = {"FROM", "STORE", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};

    table_heads(&table, heads);
    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        table_add(&table, remote->name, NULL);
        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            char buf[REMOTE_PLACE_MAX + 16];
            size_t at = 0;
            while (strcmp(remote_key(at), keys[k]) != 0)
                at++;
            const char *value = remote_value(remote, at, buf);
            table_add(&table, value[0] != '\0' ? value : "-", NULL);
        }
        table_add(&table, remote->origin, NULL);
    }
    table_print(&table);
    table_free(&table);
}

static int run_list(struct call *call, struct err *err)
{
    const struct config *config = &call->config;
    const struct diagnostics *wrong = &config->wrong_remotes;

    if (call->json)
        print_json(config);
    else if (call->quiet)
        for (size_t i = 0; i < config->remote_count; i++)
            printf("%s\n", config->remotes[i].name);
    else
        print_table(config);
    return wrong->count > 0 ? call_show_wrong(wrong, MAS_FAILED, err) : 0;
}

static const struct cmd cmd_list_action = {
    .name = "remote list",
    .operands = "",
    .summary = "list the hosts of mas.ini",
    .examples = "mas remote list\n"
                "mas remote list --json",
    .details = "FROM is the place of the section [host NAME]. No host is reached.",
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .run = run_list,
};

/* ---- check */

static int run_check(struct call *call, struct err *err)
{
    return remote_check(call, call->operand_count > 0 ? call->operands[0] : NULL, err);
}

static const struct cmd cmd_check_action = {
    .name = "remote check",
    .operands = " [HOST]",
    .summary = "look what hosts have and lack: versions, clock, space, agents",
    .examples = "mas remote check\n"
                "mas remote check n1 --json",
    .details =
        "Ask a host, or all of mas.ini at the same time, and print a line for each fact: whether "
        "it "
        "is reached, the versions of mas, tmux and git there, whether it can hold agents behind "
        "walls, how far its clock is ahead, the free space at its root and in its store, what "
        "'mas doctor' there finds, and which agents are installed. The exit status is 1 if a line "
        "is marked 'wrong', and 12 if a host was not reached.",
    .operands_max = 1,
    .root = ROOT_IF_THERE,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON,
    .run = run_check,
};

static const struct cmd *const actions[] = {&cmd_list_action, &cmd_check_action, NULL};

const struct cmd cmd_remote = {
    .name = "remote",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "list the hosts of mas.ini, and look what they have",
    .examples = "mas remote\n"
                "mas remote check n1",
    .details = "Without an action, list the hosts, as 'mas remote list' does. mas-fleet(7) says "
               "what can be done with hosts.",
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .actions = actions,
    .run = run_list,
};
