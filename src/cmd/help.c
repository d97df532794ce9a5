#include "cmd.h"

static int run_help(struct call *call, struct err *err)
{
    const struct cmd *cmd = NULL;

    if (call->operand_count > 0) {
        cmd = cmd_find(call->operands[0]);
        if (cmd == NULL)
            return err_set(err, MAS_USAGE, "cannot help with '%s': there is no such command",
                           call->operands[0]);
    }
    if (call->operand_count > 1) {
        const struct cmd *verb = cmd;
        cmd = cmd_action(verb, call->operands[1]);
        if (cmd == NULL)
            return err_set(err, MAS_USAGE, "cannot help with '%s %s': there is no such action",
                           verb->name, call->operands[1]);
    }
    cmd_print_help(cmd);
    return 0;
}

const struct cmd cmd_help = {
    .name = "help",
    .operands = " [COMMAND [ACTION]]",
    .summary = "show how to use mas or one of its commands",
    .operands_max = 2,
    .offer = OFFER_COMMAND,
    .then = OFFER_ACTION,
    .run = run_help,
};
