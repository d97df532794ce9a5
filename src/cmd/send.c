#include "base/loop.h"
#include "base/time.h"
#include "cmd/each_session.h"
#include "cmd/print.h"
#include "cmd/targets.h"
#include "cmd/words.h"
#include "model/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAKE_MS = 10000 }; /* time for a host to accept a message */

static const struct opt opts[] = {
    {0, "file", "FILE", "send the content of FILE", OFFER_FILE},
    {0, "no-enter", NULL, "type the text without Enter", OFFER_NONE},
    {0, "from", "AGENT", "the agent that sends the text; known in a team's pane", OFFER_AGENT},
    {0, "wait", NULL, "return when the agents have processed the text", OFFER_NONE},
    {0, "now", NULL, "let working ACP agents see the text in their present turns", OFFER_NONE},
    {0, "timeout", "TIME", "wait no longer than this, such as 500ms, 30s or 5m", OFFER_NONE},
    {.name = NULL},
};

/* The text to send and the results; the argument of on_reply(). */
struct sending {
    struct roster roster;
    char *text;
    size_t len;
    bool enter, wait, now;
    int timeout_ms; /* of the wait; -1: none */
    const char *from; /* NULL: a person */
    char **outcomes; /* one per agent; NULL: no answer yet */
    char **whys; /* one per agent: why --now could not be had; NULL: it could */
};

static void sending_free(struct sending *sending)
{
    for (size_t i = 0; sending->outcomes != NULL && i < sending->roster.count; i++)
        free(sending->outcomes[i]);
    for (size_t i = 0; sending->whys != NULL && i < sending->roster.count; i++)
        free(sending->whys[i]);
    free(sending->outcomes);
    free(sending->whys);
    free(sending->text);
    roster_free(&sending->roster);
}
#define _cleanup_sending_ __attribute__((cleanup(sending_free)))

/* Reads the text to send from the words, a file or standard input. */
static int read_text(struct call *call, struct sending *sending, struct err *err)
{
    const char *file = call_opt(call, "file");
    bool words = call->operand_count > 0;

    if (words == (file != NULL)) {
        (void)err_set(err, MAS_USAGE, "cannot run 'send': %s",
                      words ? "it takes TEXT or --file, not both" : "it needs TEXT or --file");
        return call_usage(call, err);
    }
    if (file == NULL && call->operand_count == 1 && strcmp(call->operands[0], "-") == 0)
        file = "-";
    if (file == NULL) {
        sending->text = words_join(call);
        sending->len = strlen(sending->text);
    } else if (words_read(file, &sending->text, &sending->len, err) == -1) {
        return -1;
    }
    if (file != NULL && sending->enter && sending->len > 0 &&
        sending->text[sending->len - 1] == '\n')
        sending->len--;
    if (sending->len == 0 && (file != NULL || !sending->enter)) {
        (void)err_set(err, MAS_USAGE, "cannot send: the text is empty");
        return err_hint(err, "to send Enter alone: mas send SESSION TARGET ''");
    }
    return 0;
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
    sending->outcomes[i] = mem_dup(outcome != NULL ? outcome : "queued");
    sending->whys[i] = mem_dup(json_get_text(reply->head, "why"));
    if (sending->wait && is_with_all(sending))
        loop_end_with(STDOUT_FILENO); /* what is left is only to wait */
    return !sending->wait;
}

/* Sets the error if an agent has not accepted the message or, with --wait, not processed it. */
static int find_failure(const struct sending *sending, size_t i, struct err *err)
{
    const struct roster_agent *agent = &sending->roster.agents[i];

    if (sending->wait && sending->outcomes[i] != NULL &&
        sending->roster.calls[i].answer == HOST_LATE)
        return err_set(err, MAS_TIMEOUT, "cannot wait for agent '%s': it is still %s",
                       agent->agent->id,
                       agent->told ? agent_state_name(agent->status.state) : "silent");
    if (roster_failure(&sending->roster, i, sending->outcomes[i] != NULL ? "wait for" : "send to",
                       err) == -1)
        return -1;
    if (sending->wait && agent->told && agent->status.state == AGENT_CRASHED)
        return err_set(err, MAS_FAILED, "cannot wait for agent '%s': it has crashed",
                       agent->agent->id);
    return 0;
}

static void put_outcome(const struct sending *sending, size_t i, const struct err *why,
                        struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "id", sending->roster.agents[i].agent->id);
    json_put(out, "outcome", sending->outcomes[i] != NULL ? sending->outcomes[i] : "failed");
    if (sending->wait && sending->roster.agents[i].told)
        json_put(out, "state", agent_state_name(sending->roster.agents[i].status.state));
    if (sending->whys[i] != NULL)
        json_put(out, "why", sending->whys[i]);
    if (why->code != MAS_OK) {
        json_put_int(out, "code", why->code);
        json_put(out, "error", why->text);
    }
    json_close(out, '}');
}

/* Says that an agent gets the text in a turn of its own. */
static void say_queued(const char *agent, const char *why)
{
    _cleanup_str_ struct str words = STR_INIT;

    str_add_visible(&words, why, strlen(why));
    err_warn("agent '%s' gets the text after its turn: %s", agent, str_text(&words));
}

/* Reports the results as each_session_fail() does; with --json, prints all of them. */
static int report(const struct call *call, const struct sending *sending, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    int rc = 0;

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", sending->roster.teams[0].id);
    json_open(&out, "agents", '[');
    for (size_t i = 0; i < sending->roster.count; i++) {
        struct err why = ERR_INIT;
        (void)find_failure(sending, i, &why);
        put_outcome(sending, i, &why, &out);
        if (sending->whys[i] != NULL)
            say_queued(sending->roster.agents[i].agent->id, sending->whys[i]);
        if (why.code == MAS_OK)
            continue;
        each_session_fail(&why, &rc, err);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    if (call->json)
        print_line(&text);
    return rc;
}

static int run_send(struct call *call, struct err *err)
{
    _cleanup_sending_ struct sending sending = {.roster = ROSTER_INIT, .timeout_ms = -1};
    _cleanup_str_ struct str head = STR_INIT;

    sending.enter = call_opt(call, "no-enter") == NULL;
    sending.wait = call_opt(call, "wait") != NULL;
    sending.now = call_opt(call, "now") != NULL;
    if (sending.now && !sending.enter)
        return err_set(err, MAS_USAGE, "cannot use --now with --no-enter");
    if (call_opt(call, "timeout") != NULL && !sending.wait)
        return err_set(err, MAS_USAGE, "cannot use --timeout without --wait");
    if (targets_timeout(call, &sending.timeout_ms, err) == -1 ||
        targets_parse(call, TARGETS_ONE, &sending.roster, err) == -1 ||
        targets_sender(call, &sending.roster, "send to", &sending.from, err) == -1 ||
        read_text(call, &sending, err) == -1)
        return -1;
    sending.outcomes = mem_alloc(sending.roster.count * sizeof *sending.outcomes);
    sending.whys = mem_alloc(sending.roster.count * sizeof *sending.whys);
    const struct message_options options = {
        .from = sending.from, .no_enter = !sending.enter, .wait = sending.wait, .now = sending.now};
    message_request(&options, &head);
    const struct roster_request request = {
        .what = "send to", .head = head.data, .body = sending.text, .body_len = sending.len};
    if (roster_ask_live(&call->root, &sending.roster, &request, err) == -1)
        return -1;
    hosts_finish(sending.roster.calls, sending.roster.asked,
                 sending.wait ? sending.timeout_ms : TAKE_MS, on_reply, &sending);
    return report(call, &sending, err);
}

const struct cmd cmd_send = {
    .name = "send",
    .group = GROUP_BEGIN,
    .operands = " [SESSION] TARGET TEXT...",
    .summary = "type a text and Enter to agents",
    .examples = "mas send shop lead 'look at the tests first'\n"
                "mas send shop workers --file task.md\n"
                "mas send shop all --wait 'say where you are'",
    .details = "TARGET is an agent's id, a comma-separated list, a unit, managers, workers "
               "or all. mas joins the words of TEXT with single spaces; - is standard input, "
               "'' is Enter alone. Inside a team's pane, omit SESSION. An agent that does "
               "not run is started. The exit status is 0 if the hosts of all agents have "
               "accepted the text.",
    .opts = opts,
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_TARGET,
    .flags =
        CMD_ROOT | CMD_CHANGES | CMD_NO_ROOT_OK | CMD_TARGET | CMD_JSON | CMD_AGENT | CMD_LIGHT,
    .run = run_send,
};
