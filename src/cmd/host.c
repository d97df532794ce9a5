#include "host/host.h"

#include "cmd.h"

static int run_host(struct call *call, struct err *err)
{
    return host_run(call->operands[0], call->operands[1], err);
}

const struct cmd cmd_host = {
    .name = "host",
    .operands = " ID AGENT",
    .summary = "be the process in an agent's pane",
    .operands_min = 2,
    .operands_max = 2,
    .flags = CMD_HIDDEN,
    .run = run_host,
};
