#include "base/path.h"
#include "base/str.h"
#include "cmd.h"

#include <stdio.h>

/* Makes a root where the user says, or where mas would look for one. */
static int run_init(struct call *call, struct err *err)
{
    _cleanup_free_ char *found = NULL;
    _cleanup_str_ struct str safe = STR_INIT;
    enum root_origin origin;
    bool made = false;

    if (call->operand_count > 0)
        found = mem_dup(call->operands[0]);
    else if (root_find(call->root_path, &found, &origin, err) == -1)
        return -1;
    if (found[0] == '\0')
        return err_set(err, MAS_USAGE, "cannot make a root: the directory's name is empty");
    if (root_init(found, &made, err) == -1)
        return -1;
    _cleanup_free_ char *path = path_canonical(found);
    str_add_visible(&safe, path != NULL ? path : found,
                    path != NULL ? strlen(path) : strlen(found));
    if (call->quiet)
        return 0;
    printf("%s: %s\n", safe.data, made ? "root made" : "is a root already, nothing to do");
    return 0;
}

const struct cmd cmd_init = {
    .name = "init",
    .operands = " [DIR]",
    .summary = "make a root with the shipped templates",
    .details =
        "A root holds mas.ini, templates/ and sessions/. Without DIR: --root, $MAS_ROOT, the root\n"
        "that the current directory is in, or the user's data directory. What is there stays.",
    .operands_max = 1,
    .offer = OFFER_DIR,
    .flags = CMD_QUIET,
    .run = run_init,
};
