/*
 * The verb and its actions: words and tables are here, what reaches other machines is in
 * cli/remote_*.c. `list` reaches none; it fails if a section of mas.ini is wrong, after it has
 * shown the good ones.
 */

#include "base/json.h"
#include "cli/print.h"
#include "cli/remote/remote_add.h"
#include "cli/remote/remote_check.h"
#include "cli/remote/remote_forward.h"
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

static void say_none(void)
{
    _cleanup_str_ struct str text = STR_INIT;

    err_add_commands(&text, "no hosts; add one with: mas remote add NAME DESTINATION");
    (void)fprintf(stderr, "%s\n", text.data);
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
    else if (config->remote_count == 0)
        say_none();
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
    .who = WHO_PERSONS_ANYWHERE,
    .takes = TAKES_JSON,
    .run = run_check,
};

/* ---- add */

static const struct opt add_opts[] = {
    {0, "dry-run", NULL, "only look, and say what would be done"},
    {0, "mas", "PATH", "the mas there; nothing is installed"},
    {0, "root-there", "DIR", "the root there; --root is the one here"},
    {'y', "yes", NULL, "install mas there without asking"},
    {.name = NULL},
};

static int run_add(struct call *call, struct err *err)
{
    const struct remote_wish wish = {.name = call->operands[0],
                                     .place = call->operands[1],
                                     .mas = call_opt(call, "mas"),
                                     .root = call_opt(call, "root-there"),
                                     .yes = call_opt(call, "yes") != NULL,
                                     .dry_run = call_opt(call, "dry-run") != NULL};

    return remote_add(call, &wish, err);
}

static const struct cmd cmd_add_action = {
    .name = "remote add",
    .operands = " NAME DESTINATION",
    .summary = "make a machine a host of mas.ini, with mas and a root there",
    .examples = "mas remote add n1 ann@n1.example.org\n"
                "mas remote add --yes n2 n2.example.org\n"
                "mas remote add --mas /opt/mas/bin/mas n3 n3.example.org",
    .details =
        "DESTINATION is that of ssh, which has to log in by a key. mas says what is there and what "
        "is missing, asks, puts its own program and its templates into ~/.local of the user there, "
        "compares the checksum, makes a root there, and writes [host NAME] into mas.ini of the "
        "root here. A mas of the same version that is there already is used. ssh shows a host key "
        "that is not known, and asks on the terminal; without one, it is refused. A host is taken "
        "out again by deleting its section.",
    .opts = add_opts,
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS_ANYWHERE,
    .takes = TAKES_QUIET,
    .run = run_add,
};

/* ---- forward */

static int run_forward(struct call *call, struct err *err)
{
    return remote_forward(call, call->operands[0],
                          call->operand_count > 1 ? call->operands[1] : NULL, err);
}

static const struct cmd cmd_forward_action = {
    .name = "remote forward",
    .operands = " HOST:SESSION [AGENT]",
    .summary = "reach the ports of agents on another machine from here",
    .examples = "mas remote forward n1:shop\n"
                "mas remote forward n1:shop dev",
    .details = "Forward the ten ports of each agent, of which MAS_PORT is the first there, to this "
               "machine, and print where they are: the same numbers if they are free here, and "
               "others otherwise. Only programs of this machine can connect to them. It goes on "
               "until Ctrl-C, or until the connection is lost.",
    .operands_min = 1,
    .operands_max = 2,
    .root = ROOT_IF_THERE,
    .who = WHO_PERSONS_ANYWHERE,
    .does = WAITS_LONG,
    .run = run_forward,
};

static const struct cmd *const actions[] = {&cmd_add_action, &cmd_check_action, &cmd_forward_action,
                                            &cmd_list_action, NULL};

const struct cmd cmd_remote = {
    .name = "remote",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "list the hosts of mas.ini, add one, look what they have",
    .examples = "mas remote\n"
                "mas remote add n1 ann@n1.example.org\n"
                "mas remote check n1",
    .details = "Without an action, list the hosts, as 'mas remote list' does. mas-fleet(7) says "
               "what can be done with hosts.",
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .actions = actions,
    .run = run_list,
};
