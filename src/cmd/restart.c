#include "cli/agents.h"
#include "cli/each_session.h"
#include "cli/targets.h"
#include "store/workspace.h"

enum { RESTART_MS = 60000 };

static const char restart[] = "{\"do\":\"restart\"}";

/* Tells of those in the roster whose turns a kill of their hosts has cut off. */
static void tell_cut_off(const struct call *call, const struct roster *roster, char *const *cut_off)
{
    _cleanup_strv_ char **agents = NULL;

    for (size_t i = 0; i < roster->count; i++)
        if (strv_has(cut_off, roster->agents[i].agent->id))
            strv_push(&agents, roster->agents[i].agent->id);
    agents_tell_cut_off(session_label(&call->root, roster->teams[0].id).text, agents);
}

static int run_restart(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    int rc = 0;

    if (targets_parse(call, TARGETS_MANY, &roster, err) == -1)
        return -1;
    _cleanup_strv_ char **cut_off =
        call->quiet ? NULL : agents_cut_off(&call->root, roster.teams[0].id);
    roster_ask(&roster, restart, NULL, 0);
    roster_ask_coming(&roster, restart, TARGETS_COME_MS);
    hosts_finish(roster.calls, roster.count, RESTART_MS, NULL, NULL);
    for (size_t i = 0; i < roster.count; i++)
        if (roster.calls[i].answer == HOST_BROKEN) { /* killed meanwhile, or no host of ours */
            roster.calls[i].answer = HOST_ABSENT;
            roster.calls[i].err = (struct err)ERR_INIT;
        }
    size_t count = 0;
    if (targets_bring_back(call, &roster, HOST_ABSENT, &count, err) == -1)
        return -1;
    for (size_t i = 0; i < roster.count; i++) {
        const char *id = roster.agents[i].agent->id;
        struct err why = ERR_INIT;
        if (roster_failure(&roster, i, "restart", &why) == 0) {
            workspace_log(roster.teams[0].dir, config_log_limits(&call->config), "restart agent=%s",
                          id);
            if (!call->quiet)
                printf("%s restarted\n", id);
            continue;
        }
        each_session_fail(&why, &rc, err);
    }
    tell_cut_off(call, &roster, cut_off);
    return rc;
}

const struct cmd cmd_restart = {
    .name = "restart",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] TARGET...",
    .summary = "end agents and start them again in their panes",
    .examples = "mas restart shop lead\n"
                "mas restart shop workers",
    .details = "End each agent with every process that it started, and start its command "
               "again. Messages that wait for the agent stay. If a host was killed, mas "
               "starts the host again too.",
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_restart,
};
