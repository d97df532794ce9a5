#include "cmd.h"
#include "cmd/guess.h"

#include <string.h>

static int run_help(struct call *call, struct err *err)
{
    const struct cmd *cmd = NULL;

    if (call->operand_count > 0) {
        cmd = cmd_find(call->operands[0]);
        if (cmd == NULL) {
            const char *meant = guess_command(call->operands[0]);
            (void)err_set(err, MAS_USAGE, "cannot help with '%s': there is no such command",
                          call->operands[0]);
            return meant != NULL ? err_hint(err, "did you mean: mas help %.*s  (all: mas help)",
                                            (int)strcspn(meant, " "), meant)
                                 : err_hint(err, "see: mas help");
        }
    }
    if (call->operand_count > 1) {
        const struct cmd *verb = cmd;
        cmd = cmd_action(verb, call->operands[1]);
        if (cmd == NULL) {
            (void)err_set(err, MAS_USAGE, "cannot help with '%s %s': there is no such action",
                          verb->name, call->operands[1]);
            return err_hint(err, "see: mas help %s", verb->name);
        }
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
