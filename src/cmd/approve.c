#include "cmd/agent_request.h"

#include <stdio.h>
#include <string.h>

/* approve and deny: answer a permission request. */

static const struct opt approve_opts[] = {
    {0, "permission", "ID", "answer this request instead of the oldest", OFFER_NONE},
    {0, "mode", "MODE", "with clear: the permission mode for carrying out the plan", OFFER_NONE},
    {0, "from", "AGENT", "the agent that answers; known in a team's pane", OFFER_AGENT},
    {.name = NULL},
};

static const struct opt opts[] = {
    {0, "permission", "ID", "answer this request instead of the oldest", OFFER_NONE},
    {0, "from", "AGENT", "the agent that answers; known in a team's pane", OFFER_AGENT},
    {.name = NULL},
};

/* The words once and always, and no word, for options that each agent names differently. */
static const struct {
    const char *verb, *word, *option;
} known[] = {
    {"approve", NULL, "allow"}, {"approve", "once", "allow"}, {"approve", "always", "allow_always"},
    {"deny", NULL, "deny"},     {"deny", "once", "deny"},     {"deny", "always", "deny_always"},
};

static const char *option_for(const char *verb, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(known[i].verb, verb) == 0 &&
            (word == NULL ? known[i].word == NULL
                          : known[i].word != NULL && strcmp(known[i].word, word) == 0))
            return known[i].option;
    return word;
}

static void say_mode(const char *agent, const char *mode)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_addf(&line, "%s carries out the plan in mode ", agent != NULL ? agent : "the agent");
    str_add_visible(&line, mode, strlen(mode));
    puts(line.data);
}

static int run_permit(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};
    const char *verb = call->cmd->name;
    const char *permission = call_opt(call, "permission");
    const char *word = NULL;

    if (agent_request_parse(call, "answer", TARGETS_AGENT_TEXT, &request, err) == -1 ||
        agent_request_operand(call, &word, err) == -1)
        return -1;
    agent_request_open(&request, "permit", &out);
    if (permission != NULL)
        json_put(&out, "permission", permission);
    json_put(&out, "option", option_for(verb, word));
    if (call_opt(call, "mode") != NULL)
        json_put(&out, "mode", call_opt(call, "mode"));
    json_put(&out, "as", strcmp(verb, "approve") == 0 ? "allow" : "deny");
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, NULL, 0, &answer, err) == -1)
        return -1;
    if (call->json)
        agent_request_print(&request, answer);
    else if (json_get_text(answer, "mode") != NULL)
        say_mode(json_get_text(answer, "agent"), json_get_text(answer, "mode"));
    return 0;
}

const struct cmd cmd_approve = {
    .name = "approve",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT [OPTION]",
    .summary = "grant a permission request of an ACP agent",
    .examples = "mas approve shop lead\n"
                "mas approve shop lead always",
    .details = "Grant the oldest open request. OPTION is once (the default), always, clear "
               "(for a plan: clear the context and carry out the plan), or an option that "
               "the agent offers, as shown in its pane and by 'mas status'. If no request is "
               "open, the exit status is 3.",
    .opts = approve_opts,
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_AGENT,
    .rest = OFFER_ALLOW,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_TARGET | CMD_JSON,
    .run = run_permit,
};

const struct cmd cmd_deny = {
    .name = "deny",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT [OPTION]",
    .summary = "deny a permission request of an ACP agent",
    .examples = "mas deny shop lead\n"
                "mas deny shop lead always",
    .details = "Deny the oldest open request. OPTION is once (the default), always, or an "
               "option that the agent offers. If no request is open, the exit status is 3.",
    .opts = opts,
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_AGENT,
    .rest = OFFER_REJECT,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_TARGET | CMD_JSON,
    .run = run_permit,
};
