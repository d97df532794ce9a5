#include "cli/agent_request.h"
#include "cli/words.h"
#include "model/message.h"

static const struct opt opts[] = {
    {0, "then", "TEXT", "the first prompt of the fresh query; - is standard input"},
    {0, "mode", "NAME", "the permission mode of the fresh query"},
    {0, "from", "AGENT", "clear in the name of this agent"},
    {.name = NULL},
};

/* Reads the text of --then; *ret is NULL without that option. */
static int read_then(const struct call *call, char **ret, size_t *ret_len, struct err *err)
{
    const char *then = call_opt(call, "then");

    if (then == NULL)
        return 0;
    if (words_text(then, ret, ret_len, err) == -1)
        return -1;
    return message_is_blank(*ret, *ret_len)
               ? err_set(err, MAS_USAGE, "cannot clear: the text of --then is empty")
               : 0;
}

static int run_clear(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    _cleanup_free_ char *then = NULL;
    struct json_out out = {.to = &head};
    const char *mode = call_opt(call, "mode");
    size_t then_len = 0;

    if (agent_request_parse(call, "clear", TARGETS_AGENT, &request, err) == -1)
        return -1;
    if (call->operand_count > 0) {
        (void)call_unexpected(call, call->operands[0], err);
        return err_hint(err, "give the prompt for the fresh query with: --then TEXT");
    }
    if (read_then(call, &then, &then_len, err) == -1)
        return -1;
    agent_request_open(&request, "clear", &out);
    if (mode != NULL)
        json_put(&out, "mode", mode);
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, then, then_len, &answer, err) == -1)
        return -1;
    if (json_bool(json_get(answer, "modeUnchecked"), false))
        err_warn("agent '%s' is not running, so its modes are unknown: it gets mode '%s' when it "
                 "starts, if it has this mode",
                 json_get_text(answer, "agent"), mode);
    if (call->json)
        agent_request_print(&request, answer);
    return 0;
}

const struct cmd cmd_clear = {
    .name = "clear",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT",
    .summary = "empty the context of an agent; keep its conversation",
    .examples = "mas clear shop lead\n"
                "mas clear shop lead --then 'read TODO.md and go on'",
    .details = "Cancel the current turn. Queued prompts fail as cleared, and the model sees "
               "nothing from before. The exit status is 0 once the clear is on disk. The "
               "history keeps what was said.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS | WAITS_LONG,
    .run = run_clear,
};
