#include "cmd/one.h"

#include "cmd/print.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 20000 }; /* a host may wait for its disk */

int one_take(struct call *call, const char *what, enum targets_form form, struct one *one,
             struct err *err)
{
    one->what = what;
    if (targets_take(call, form, &one->roster, err) == -1)
        return -1;
    if (one->roster.count != 1) {
        (void)err_set(err, MAS_USAGE, "cannot %s %zu agents: it takes one", what,
                      one->roster.count);
        return call_usage(call, err);
    }
    return targets_sender(call, &one->roster, what, &one->from, err);
}

void one_free(struct one *one)
{
    roster_free(&one->roster);
}

void one_open(const struct one *one, const char *request, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "do", request);
    if (one->from != NULL)
        json_put(out, "from", one->from);
}

/* Keeps the answer as text: the reply itself is gone when its call is. */
static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct json_out out = {.to = arg};

    if (hosts_reply_error(reply->head, &call->err) == 0)
        json_put_node(&out, NULL, reply->head);
    return true;
}

int one_ask(struct call *call, struct one *one, const struct str *head, const char *body,
            size_t body_len, struct json **ret, struct err *err)
{
    _cleanup_str_ struct str answer = STR_INIT;
    const struct roster_request request = {
        .what = one->what, .head = str_text(head), .body = body, .body_len = body_len};

    if (roster_ask_live(&call->root, &one->roster, &request, err) == -1)
        return -1;
    hosts_finish(one->roster.calls, one->roster.asked, ANSWER_MS, on_reply, &answer);
    if (roster_failure(&one->roster, 0, one->what, err) == -1)
        return -1;
    return json_parse(str_text(&answer), answer.len, answer.len, ret, err);
}

void one_print(const struct one *one, const struct json *answer)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", one->roster.teams[0].id);
    for (const struct json *node = json_first(answer); node != NULL; node = json_next(node))
        if (strcmp(json_key(node), "ok") != 0)
            json_put_node(&out, json_key(node), node);
    json_close(&out, '}');
    print_line(&text);
}

int one_operand(struct call *call, const char **ret, struct err *err)
{
    if (call->operand_count > 1) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': '%s' is one operand too many",
                      call->cmd->name, call->operands[1]);
        return call_usage(call, err);
    }
    *ret = call->operand_count == 1 ? call->operands[0] : NULL;
    return 0;
}
