#include "cli/agent_request.h"

#include "cli/print.h"

enum { ANSWER_MS = 20000 }; /* long, because a host may wait for its disk */

int agent_request_parse(struct call *call, const char *what, enum targets_form form,
                        struct agent_request *request, struct err *err)
{
    request->what = what;
    if (targets_parse(call, form, &request->roster, err) == -1)
        return -1;
    if (targets_check_one(call, &request->roster, err) == -1)
        return -1;
    return targets_sender(call, &request->roster, what, &request->from, err);
}

void agent_request_free(struct agent_request *request)
{
    roster_free(&request->roster);
}

void agent_request_open(const struct agent_request *request, const char *verb, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "do", verb);
    if (request->from != NULL)
        json_put(out, "from", request->from);
}

/* Copies the answer, because the reply is released with its call. */
static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct json **answer = arg;

    if (hosts_reply_error(reply->head, &call->err) == 0)
        *answer = json_copy(reply->head);
    return true;
}

int agent_request_ask(struct call *call, struct agent_request *request, const struct str *head,
                      const char *body, size_t body_len, struct json **ret, struct err *err)
{
    _cleanup_json_ struct json *answer = NULL;
    const struct roster_request asked = {
        .what = request->what, .head = str_text(head), .body = body, .body_len = body_len};

    request->roster.asked = 0; /* of an earlier request */
    if (roster_ask_live(&call->root, &request->roster, &asked, err) == -1)
        return -1;
    hosts_finish(request->roster.calls, request->roster.asked,
                 request->wait_ms > 0 ? request->wait_ms : ANSWER_MS, on_reply, &answer);
    if (roster_failure(&request->roster, 0, request->what, err) == -1)
        return -1;
    *ret = TAKE_PTR(answer);
    return 0;
}

void agent_request_print(const struct agent_request *request, const struct json *answer)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", request->roster.teams[0].id);
    for (const struct json *node = json_first(answer); node != NULL; node = json_next(node))
        if (strcmp(json_key(node), "ok") != 0)
            json_put_node(&out, json_key(node), node);
    json_close(&out, '}');
    print_line(&text);
}

int agent_request_operand(struct call *call, const char **ret, struct err *err)
{
    if (call->operand_count > 1)
        return call_unexpected(call, call->operands[1], err);
    *ret = call->operand_count == 1 ? call->operands[0] : NULL;
    return 0;
}
