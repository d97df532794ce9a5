#include "host/host.h"

#include "cmd.h"

#include <stdlib.h>

static int run_host(struct call *call, struct err *err)
{
    if (host_run(call->operands[0], call->operands[1], err) == 0)
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
