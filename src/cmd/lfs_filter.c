#include "code/lfs_filter.h"

#include "cmd.h"

static int run_lfs_filter(struct call *call, struct err *err)
{
    return lfs_filter(call->operands, err);
}

const struct cmd cmd_lfs_filter = {
    .name = "lfs-filter",
    .operands = " [REPOSITORY...]",
    .summary = "be the filter of git-lfs for git",
    .operands_max = -1,
    .flags = CMD_HIDDEN,
    .run = run_lfs_filter,
};
