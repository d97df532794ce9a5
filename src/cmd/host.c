#include "host/host.h"

#include "cmd.h"

static bool has(const char *verb)
{
    const struct cmd *cmd = cmd_find(verb);
    return cmd != NULL && (cmd->flags & CMD_LIGHT) != 0;
}

static int run(char *const *argv)
{
    struct err err = ERR_INIT;
    const struct cmd_globals globals = {.root = NULL};
    int argc = 0;
    int code = MAS_OK;

    while (argv[argc] != NULL)
        argc++;
    int rc =
        cmd_run(cmd_find(argv[1]), argc - 1, (char **)(uintptr_t)argv + 1, &globals, &code, &err);
    return cmd_finish(rc, code, &err);
}

static int run_host(struct call *call, struct err *err)
{
    static const struct host_commands commands = {.has = has, .run = run};

    if (host_run(call->operands[0], call->operands[1], &commands, err) == 0)
        return 0;
    err_print(err);
    host_flush_terminal();
    exit(err->code);
}

const struct cmd cmd_host = {
    .name = "host",
    .operands = " ID AGENT",
    .summary = "run as the process in an agent's pane",
    .operands_min = 2,
    .operands_max = 2,
    .flags = CMD_HIDDEN,
    .run = run_host,
};
