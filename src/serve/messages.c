/* POST /sessions/{id}/messages: straight to the hosts of the agents; no process is started. */
#include "client/sending.h"
#include "client/survey.h"
#include "serve/agent.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store/workspace.h"

/* Answers 410 if the tmux session is gone. Hosts call that a conflict like any other, or hang up if
 * it goes just now. `lost_host`: the agent has no host, or lost it meanwhile. */
static void answer_unsent(struct request *request, bool lost_host, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct tmux_session *live = NULL;
    struct err ignored = ERR_INIT;
    bool may_be_gone = err->code == MAS_CONFLICT || err->code == MAS_FAILED;
    int conflict = 409;
    _cleanup_close_ int dir = workspace_open(root, request->id);

    if (may_be_gone && dir != -1 && session_load(root, dir, request->id, &session, &ignored) == 0 &&
        survey_find_live(root, session.tmux_socket, request->id, &live, &ignored) == 0) {
        if (live == NULL)
            err->code = MAS_CONFLICT, conflict = 410;
        else if (lost_host)
            err->code = MAS_CONFLICT; /* the agent's host is gone, but not the team */
        tmux_sessions_free(live, live != NULL);
    }
    answer_err(request, err, conflict);
}

static void run_message(struct job *job)
{
    struct request *request = api_request(job);
    const char *target = json_get_text(request->json, "target");
    const char *message = json_get_text(request->json, "message");
    _cleanup_sending_ struct sending sending = SENDING_INIT;
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    sending.options.no_enter = !json_bool(json_get(request->json, "execute"), true);
    sending.options.now = json_bool(json_get(request->json, "now"), false);
    if (agent_open(request, "send to", target, &sending.roster, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    bool lost_host = false;
    int rc = sending_send(&request->server->root, &sending, message, strlen(message), &err);
    for (size_t i = 0; rc == 0 && i < sending.roster.count; i++) {
        rc = sending_failure(&sending, i, &err);
        lost_host = rc == -1 && roster_lost_host(&sending.roster, i);
    }
    if (rc == -1) {
        answer_unsent(request, lost_host, &err);
        return;
    }
    sending_put(&sending, &body);
    answer_json(request, 200, &body);
}

enum handled api_message(struct request *request)
{
    bool enter = json_bool(json_get(request->json, "execute"), true);
    bool now = json_bool(json_get(request->json, "now"), false);
    if (str_has_control(json_get_text(request->json, "target")))
        answer_error(request, 400, "cannot use the body: target: it has a control character");
    else if (now && !enter)
        answer_error(request, 400, "cannot use the body: now: it is for messages with Enter");
    else if (!enter && json_get_text(request->json, "message")[0] == '\0')
        answer_error(request, 400, "cannot use the body: message: it is empty");
    else
        return api_later(request, run_message);
    return HANDLED_NOW;
}
