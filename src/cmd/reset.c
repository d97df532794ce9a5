#include "session/reset.h"

#include "cli/print.h"
#include "cli/targets.h"
#include "session/errand/errand.h"

static const struct opt opts[] = {
    {'f', "force", NULL, "also an agent at work"},
    {.name = NULL},
};

static void print_reset(const char *agent, const struct shrunk *kept, bool runs)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_addf(&line, "%s reset%s", agent, runs ? " and started again" : "");
    if (kept->kept != NULL)
        err_add_commands(&line,
                         "\nits work is kept; bring it back with: mas restore --new-id --name "
                         "NAME %s",
                         kept->kept);
    print_line(&line);
}

static int run_reset(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    const struct life life = {.root = &call->root, .config = &call->config};
    struct shrunk kept = {.kept = NULL};
    struct err ignored = ERR_INIT; /* the next tick begins them */
    bool runs = false;

    if (targets_parse(call, TARGETS_AGENT, &roster, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const char *agent = roster.agents[0].agent->id;
    int rc = reset_agent(&life, roster.teams[0].id, agent, call_opt(call, "force") != NULL, &kept,
                         &runs, err);
    if (runs)
        (void)errand_begin_all(&call->root, &call->config, roster.teams[0].id, &ignored);
    if (rc == 0 && !call->quiet)
        print_reset(agent, &kept, runs);
    if (rc == 0 && kept.untold.code != MAS_OK)
        err_warn("the project did not get the commits of '%s': %s", agent, kept.untold.text);
    if (rc == -1 && kept.kept != NULL)
        err_warn("the work of '%s' was kept in '%s'", agent, kept.kept);
    free(kept.kept);
    return rc;
}

const struct cmd cmd_reset = {
    .name = "reset",
    .group = GROUP_CODE,
    .operands = " [SESSION] AGENT",
    .summary = "bring an agent's work tree back to the integration branch",
    .examples = "mas reset login 21\n"
                "mas reset -f login 21",
    .details = "mas refuses for an agent that is at work, but with -f. It ends the agent, keeps "
               "what would be lost, as an archive in lost/ and as "
               "refs/mas/lost in the project, makes the repository of the agent anew, and starts "
               "the agent again if the session runs. What was said with it stays.",
    .opts = opts,
    .operands_min = 1,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_reset,
};
