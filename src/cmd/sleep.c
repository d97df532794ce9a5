#include "cli/each_session.h"
#include "cli/targets.h"
#include "store/workspace.h"

enum { SLEEP_MS = 60000 };

/* Keeps the status of an agent that did not have to be put to sleep; the other answers have none.
 */
static bool on_answer(struct host_call *call, const struct frame *reply, void *arg)
{
    if (json_get(reply->head, "state") != NULL)
        return roster_keep_status(call, reply, arg);
    (void)hosts_reply_error(reply->head, &call->err);
    return true;
}

static void tell(const struct call *call, const struct roster *roster, size_t i)
{
    const struct roster_agent *agent = &roster->agents[i];

    if (!agent->told)
        workspace_log(roster->teams[0].dir, config_log_limits(&call->config), "sleep agent=%s",
                      agent->agent->id);
    if (!call->quiet)
        printf("%s %s\n", agent->agent->id, agent->told ? "is asleep already" : "is asleep");
}

/* Returns true for an agent that cannot sleep, which only a request for all agents passes over. */
static bool is_left_out(const struct roster_agent *agent)
{
    return agent->told && !agent->status.acp && agent->status.state != AGENT_ASLEEP;
}

static int run_sleep(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_request request = {.what = "put to sleep"};
    size_t left_out = 0;
    int rc = 0;

    if (targets_parse(call, TARGETS_ALL, &roster, err) == -1)
        return -1;
    bool all = roster.count > 1 && roster.count == roster.teams[0].team.agent_count;
    request.head = all ? "{\"do\":\"sleep\",\"all\":true}" : "{\"do\":\"sleep\"}";
    if (roster_ask_live(&call->root, &roster, &request, err) == -1)
        return -1;
    hosts_finish(roster.calls, roster.count, SLEEP_MS, on_answer, &roster);
    for (size_t i = 0; i < roster.count; i++) {
        struct err why = ERR_INIT;
        if (roster_failure(&roster, i, "put to sleep", &why) == -1)
            each_session_fail(&why, &rc, err);
        else if (is_left_out(&roster.agents[i]))
            left_out++;
        else
            tell(call, &roster, i);
    }
    if (left_out < roster.count)
        return rc;
    return err_set(err, MAS_CONFLICT,
                   "cannot put session '%s' to sleep: its agents run on terminals, and could not "
                   "take up their conversations again",
                   roster_label(&roster.teams[0]).text);
}

const struct cmd cmd_sleep = {
    .name = "sleep",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] [TARGET...]",
    .summary = "end the processes of idle agents until their next prompt",
    .examples = "mas sleep shop\n"
                "mas sleep shop workers",
    .details = "The agent's host stays, and its next prompt, or a key press in its pane, starts "
               "the agent again with its conversation. An agent that is working, or that "
               "something of it may be, is left awake: then mas says why and exits with 4. "
               "Without a TARGET, all agents of the session but programs on "
               "terminals that tell nothing, whose screens would be gone.",
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_QUIET,
    .does = CHANGES_SESSIONS,
    .run = run_sleep,
};
