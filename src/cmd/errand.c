/* The process of an errand: session/errand/errand.h has how it goes, the kinds are here. */
#include "session/errand/errand.h"
#include "cli/errand/goal.h"
#include "cli/errand/pr_watch.h"
#include "cmd.h"
#include "os/path.h"

static const struct errand_kind kinds[] = {{EVERY_GOAL, goal_step}, {EVERY_WATCH, pr_watch_step}};

static int run_errand(struct call *call, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    const struct tick tick = {.root = &call->root, .config = &call->config, .exe = exe};
    const char *id = call->operands[0];
    uint64_t number = 0;

    if (!id_is_valid(id) || !number_parse_count(call->operands[1], INT64_MAX, &number))
        return err_set(err, MAS_USAGE,
                       "cannot begin an errand: expected a session id and a number");
    return errand_run(&tick, id, (int64_t)number, kinds, ARRAY_LEN(kinds), err);
}

const struct cmd cmd_errand = {
    .name = "errand",
    .group = GROUP_HIDDEN,
    .operands = " ID N",
    .summary = "be the process of an errand",
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .does = READS_PRESETS | WAITS_LONG,
    .run = run_errand,
};
