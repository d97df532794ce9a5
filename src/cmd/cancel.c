#include "cli/agent_request.h"

static const struct opt opts[] = {
    {0, "from", "AGENT", "the agent that cancels; known in a team's pane"},
    {.name = NULL},
};

static int run_cancel(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};
    const char *extra = NULL;

    if (agent_request_parse(call, "cancel the turn of", TARGETS_AGENT, &request, err) == -1 ||
        agent_request_operand(call, &extra, err) == -1)
        return -1;
    if (extra != NULL)
        return call_unexpected(call, extra, err);
    agent_request_open(&request, "cancel", &out);
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, NULL, 0, &answer, err) == -1)
        return -1;
    if (call->json)
        agent_request_print(&request, answer);
    else if (!json_bool(json_get(answer, "cancelled"), false) && isatty(STDERR_FILENO) != 0)
        (void)fprintf(stderr, "no turn is in progress\n");
    return 0;
}

const struct cmd cmd_cancel = {
    .name = "cancel",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT",
    .summary = "cancel the current turn of an agent",
    .examples = "mas cancel shop lead",
    .details = "mas keeps what the agent has said so far; queued prompts follow. If no turn "
               "is in progress, nothing happens.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS,
    .run = run_cancel,
};
