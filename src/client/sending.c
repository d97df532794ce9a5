#include "client/sending.h"

enum { TAKE_MS = 10000 }; /* time for a host to accept a text */

void sending_free(struct sending *sending)
{
    for (size_t i = 0; sending->outcomes != NULL && i < sending->roster.count; i++) {
        free(sending->outcomes[i]);
        free(sending->whys[i]);
    }
    free(sending->outcomes);
    free(sending->whys);
    roster_free(&sending->roster);
}

/* Returns true if the agent has processed everything. */
static bool is_at_rest(const struct agent_status *status)
{
    return status->queued == 0 && status->restart_ms == 0 && status->state != AGENT_STARTING &&
           status->state != AGENT_WORKING;
}

/* Returns true if every host that lives has taken or refused the text. */
static bool is_with_all(const struct sending *sending)
{
    for (size_t i = 0; i < sending->roster.asked; i++)
        if (sending->outcomes[i] == NULL && sending->roster.calls[i].answer == HOST_PENDING)
            return false;
    return true;
}

/* Returns true if a host says that of a text (protocol/host.h). */
static bool is_outcome(const char *text)
{
    static const char *const outcomes[] = {"delivered", "queued", "held", "started", "steered"};

    for (size_t i = 0; text != NULL && i < ARRAY_LEN(outcomes); i++)
        if (strcmp(text, outcomes[i]) == 0)
            return true;
    return false;
}

static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct sending *sending = arg;
    size_t i = (size_t)(call - sending->roster.calls);
    const char *outcome = json_get_text(reply->head, "outcome");

    if (sending->outcomes[i] != NULL) { /* a status follows the outcome */
        (void)roster_keep_status(call, reply, &sending->roster);
        return call->err.code != MAS_OK || is_at_rest(&sending->roster.agents[i].status);
    }
    if (hosts_reply_error(reply->head, &call->err) == -1)
        return true;
    if (!is_outcome(outcome)) {
        (void)err_set(&call->err, MAS_DAMAGED, "its host reported an unknown outcome");
        return true;
    }
    sending->outcomes[i] = mem_dup(outcome);
    sending->whys[i] = mem_dup(json_get_text(reply->head, "why"));
    if (sending->options.wait && sending->taken != NULL && is_with_all(sending))
        sending->taken();
    return !sending->options.wait;
}

int sending_send(const struct root *root, struct sending *sending, const char *text, size_t len,
                 struct err *err)
{
    struct roster *roster = &sending->roster;
    _cleanup_str_ struct str head = STR_INIT;

    sending->outcomes = mem_alloc(roster->count * sizeof *sending->outcomes);
    sending->whys = mem_alloc(roster->count * sizeof *sending->whys);
    message_request(&sending->options, &head);
    const struct roster_request request = {
        .what = "send to", .head = head.data, .body = text, .body_len = len};
    if (roster_ask_live(root, roster, &request, err) == -1)
        return -1;
    hosts_finish(roster->calls, roster->asked, sending->options.wait ? sending->wait_ms : TAKE_MS,
                 on_reply, sending);
    return 0;
}

int sending_failure(const struct sending *sending, size_t i, struct err *err)
{
    const struct roster_agent *agent = &sending->roster.agents[i];
    bool waits = sending->options.wait;

    if (waits && sending->outcomes[i] != NULL && sending->roster.calls[i].answer == HOST_LATE)
        return err_set(err, MAS_TIMEOUT, "cannot wait for agent '%s': it is still %s",
                       agent->agent->id,
                       agent->told ? agent_state_name(agent->status.state) : "silent");
    if (roster_failure(&sending->roster, i, sending->outcomes[i] != NULL ? "wait for" : "send to",
                       err) == -1)
        return -1;
    if (waits && agent->told && agent->status.state == AGENT_CRASHED)
        return err_set(err, MAS_FAILED, "cannot wait for agent '%s': it has crashed",
                       agent->agent->id);
    return 0;
}

static void put_outcome(const struct sending *sending, size_t i, struct json_out *out)
{
    const struct roster_agent *agent = &sending->roster.agents[i];
    struct err why = ERR_INIT;

    (void)sending_failure(sending, i, &why);
    json_open(out, NULL, '{');
    json_put(out, "id", agent->agent->id);
    json_put(out, "outcome", sending->outcomes[i] != NULL ? sending->outcomes[i] : "failed");
    if (sending->options.wait && agent->told)
        json_put(out, "state", agent_state_name(agent->status.state));
    if (sending->whys[i] != NULL)
        json_put(out, "why", sending->whys[i]);
    if (why.code != MAS_OK) {
        json_put_int(out, "code", why.code);
        json_put(out, "error", why.text);
    }
    json_close(out, '}');
}

void sending_put(const struct sending *sending, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", sending->roster.teams[0].id);
    json_open(&out, "agents", '[');
    for (size_t i = 0; i < sending->roster.count; i++)
        put_outcome(sending, i, &out);
    json_close(&out, ']');
    json_close(&out, '}');
}
