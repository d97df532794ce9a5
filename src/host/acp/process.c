/*
 * A process comes with process_connect(), speaks from process_begin() on, and is gone with
 * process_ended() and process_disconnect(), which have each part forget what was of this process.
 * In between, protocol/acp.h calls on_*(), and these pass each message to the part that it is for.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/permission.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"
#include "host/talk/usage.h"
#include "protocol/acp_limit.h"
#include "protocol/rpc.h"
#include "session/env.h"

enum {
    WORDS_SHOWN = 200, /* bytes of an agent's words */
    REASON_MAX = 64, /* bytes of a stop reason */
    WHY_MAX = 2000, /* bytes of an agent's own words in an error */
};

/* ---- the answer to a prompt */

/* Ends a turn that the agent has answered with an error, or tries it in another session. */
static void handle_error(struct host *host, const struct acp_answer *answer)
{
    const struct turn *turn = &host->talk->turn;
    const char *why = answer->message != NULL && answer->message[0] != '\0' ? answer->message
                                                                            : "no reason was given";
    _cleanup_free_ char *error =
        mem_printf("the agent answered with an error: %.*s (%lld)", (int)str_fit(why, WHY_MAX), why,
                   (long long)answer->code);

    if (answer->code == ACP_NEEDS_LOGIN) {
        resume_trouble(host, true, why);
        return;
    }
    if (resume_by_next_method(host, error))
        return;
    bool heard = turn->heard;
    turn_end(host, HOST_END_FAILED, answer->code, error);
    if (!heard)
        resume_again(host);
}

/* Handles a turn's end that is a refusal of the provider. Returns false if it is none. */
static bool is_refused(struct host *host, const struct acp_answer *answer)
{
    const struct turn *turn = &host->talk->turn;
    const char *said = host->talk->limit.said;
    const char *why = answer->message != NULL ? answer->message : "";
    struct acp_limit told = {.until_ms = 0};
    int64_t now = time_epoch_ms();
    _cleanup_free_ char *limited = NULL;

    _Static_assert((int)LIMIT_WORDS_MAX == (int)ACP_LIMIT_ANSWER_MAX, "what is kept is looked at");
    if (!turn->on || turn->cancelled)
        return false;
    limited = config_limited(&host->config);
    if (answer->ok) {
        bool stop = answer->stop_reason != NULL && acp_limit_of_stop(answer->stop_reason);
        if (!stop && (turn->tools.count > 0 || turn->employs ||
                      !acp_limit_of_answer(said, limited, now, &told)))
            return false;
        why = said[0] != '\0' ? said : answer->stop_reason;
    } else if (!acp_limit_of_error(answer->code, answer->message, answer->data, limited, now,
                                   &told)) {
        return false;
    }
    const struct limit_refusal refusal = {
        .overloaded = told.overloaded, .until_ms = told.until_ms, .why = why};
    turn_refused(host, &refusal);
    return true;
}

static void turn_answer(struct host *host, const struct acp_answer *answer)
{
    struct conversation *conversation = host->conversation;
    const struct phase_state *phase = &conversation->link.phase;
    const struct turn *turn = &conversation->talk.turn;

    usage_tokens(host, answer->session, &answer->tokens);
    if (phase_waits_for(phase, PHASE_SUMS_UP, answer->serial)) {
        summary_end(host, answer);
        return;
    }
    if (phase->now == PHASE_ENDS_TURN) {
        if (answer->serial == phase->serial)
            leave_turn_ended(host);
        return;
    }
    if (!turn->on || answer->serial != turn->serial || is_refused(host, answer))
        return;
    if (answer->ok) {
        const char *stop = answer->stop_reason != NULL ? answer->stop_reason : "end_turn";
        if (turn->cancelled && strcmp(stop, "end_turn") == 0)
            stop = "cancelled"; /* not all agents say so */
        _cleanup_free_ char *reason = mem_dupn(stop, str_fit(stop, REASON_MAX));
        turn_end(host, reason, 0, NULL);
    } else if (turn->cancelled || answer->code == ACP_CANCELLED) {
        turn_end(host, "cancelled", 0, NULL);
    } else {
        handle_error(host, answer);
    }
}

/* ---- what the agent sends */

static void on_answer(void *arg, const struct acp_answer *answer)
{
    struct host *host = arg;

    if (answer->call == ACP_CALL_FORK &&
        phase_waits_for(&host->conversation->link.phase, PHASE_SUMS_UP, answer->serial)) {
        summary_copied(host, answer);
        return;
    }
    if (kept_answer(host, answer) || aside_answer(host, answer))
        return;
    if (answer->call == ACP_CALL_PROMPT)
        turn_answer(host, answer);
    else if (answer->call == ACP_CALL_STEER)
        steer_answer(host, answer);
    else
        resume_answer(host, answer);
}

static void on_update(void *arg, const struct acp_update *update)
{
    update_handle(arg, update);
}

static void on_permission(void *arg, const struct acp_permission *permission)
{
    ask_permission(arg, permission);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    permission_withdraw(arg, ticket);
}

static void on_request(void *arg, const struct acp_request *request)
{
    struct host *host = arg;
    const struct agent_link *link = &host->conversation->link;
    struct turn *turn = &host->talk->turn;
    bool ours = host->talk->session != NULL && strcmp(host->talk->session, request->session) == 0;

    if (aside_is_session(host, request->session)) { /* it reads, and changes nothing */
        work_request(host, request, true);
        return;
    }
    if (strcmp(request->method, "elicitation/create") == 0) {
        elicit_ask(host, request);
        return;
    }
    turn->heard = turn->heard || turn->on;
    if (ours || tasks_subagent(host, request->session) != NULL)
        work_request(host, request, false);
    else
        acp_refuse(link->acp, request->ticket, ACP_NO_SUCH, "there is no such session");
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct host *host = arg;
    struct turn *turn = &host->talk->turn;
    _cleanup_str_ struct str words = STR_INIT;

    if (turn->on && !turn->skipped && strcmp(why, RPC_TOO_LONG) == 0) {
        turn->skipped = true; /* what is missing may be a part of the answer */
        memory_say(host, true, "a message of the agent is missing: it was longer than %d MiB",
                   ACP_LINE_MAX >> 20);
    }
    if (host->conversation->link.garbage++ > 0)
        return; /* one line in the session's log is enough */
    str_addf(&words, "the agent printed an invalid message (%s): ", why);
    str_add_visible(&words, bytes, len < WORDS_SHOWN ? len : WORDS_SHOWN);
    host_log(host, words.data);
}

static void on_completed(void *arg, const char *elicitation)
{
    elicit_complete(arg, elicitation);
}

static const struct acp_ops ops = {
    .answer = on_answer,
    .update = on_update,
    .permission = on_permission,
    .withdrawn = on_withdrawn,
    .request = on_request,
    .completed = on_completed,
    .garbage = on_garbage,
};

/* ---- its life */

int process_connect(struct host *host, int ret_fds[3], struct err *err)
{
    process_disconnect(host);
    return link_connect(host, ret_fds, err);
}

void process_begin(struct host *host)
{
    struct agent_link *link = &host->conversation->link;
    const char *cwd = env_get(host->env, "PWD");

    free(link->cwd);
    link->cwd = mem_dup(cwd != NULL ? cwd : "/");
    link->trouble[0] = '\0';
    link->needs_login = false;
    link->garbage = 0;
    link->has_role = link->refused_role = false;
    link->acp = acp_new(&ops, host);
    if (host->wall.report.sandbox_off && host->preset->sandbox_off.session[0] != '\0')
        acp_set_session_meta(link->acp, host->preset->sandbox_off.session);
    work_open(host);
    link_enter(host, PHASE_INITIALIZES,
               acp_initialize(link->acp, host->preset->offers, host->preset->initialize_ms), -1);
}

void process_flush(struct host *host)
{
    const struct acp *acp = host->conversation->link.acp;

    if (acp == NULL || !acp_is_stuck(acp) || host->child.phase != CHILD_RUNS) {
        link_flush(host);
        return;
    }
    resume_trouble(host, false, "the agent does not read its input");
    child_end(host, child_times(host), 0, false);
}

void process_hang_up(struct host *host)
{
    struct agent_link *link = &host->conversation->link;

    if (host->talk->turn.on && link->acp != NULL && host->talk->session != NULL)
        acp_cancel(link->acp, host->talk->session);
    turn_end(host, HOST_END_STOPPED, 0,
             host->child.again ? "the agent was restarted before its turn ended" : NULL);
    process_flush(host);
    fd_closep(&link->in);
}

void process_ended(struct host *host, const char *why)
{
    struct conversation *conversation = host->conversation;
    _cleanup_str_ struct str words = STR_INIT;

    link_drain(host);
    enum phase phase = conversation->link.phase.now;
    const char *when = phase == PHASE_INITIALIZES ? " before its first answer"
                       : phase < PHASE_READY      ? " before it accepted a prompt"
                                                  : "";
    str_addf(&words, "the agent ended%s: %s", when, why);
    if (!host->child.asked)
        link_add_last_words(host, &words);
    if (conversation->talk.turn.on && !host->child.asked)
        resume_died(host, words.data);
    turn_end(host, HOST_END_FAILED, 0, words.data);
    if (when[0] != '\0' && !host->child.asked)
        link_keep_trouble(&conversation->link, words.data);
    process_disconnect(host);
}

void process_disconnect(struct host *host)
{
    struct conversation *conversation = host->conversation;

    permission_drop_all(host);
    elicit_forget(&host->conversation->visited);
    steer_drop_all(host);
    aside_process_ended(host);
    kept_process_ended(host);
    settings_process_ended(host);
    tasks_forget(host);
    work_close(host);
    sleep_process_ended(host);
    link_close(&conversation->link);
    free(host->talk->session);
    host->talk->session = NULL;
    link_enter(host, PHASE_OFF, 0, -1);
    resume_forget(&conversation->resume);
    offered_forget(&conversation->offered);
}
