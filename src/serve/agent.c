#include "serve/agent.h"

#include "serve/server.h"
#include "store/owner.h"
#include "store/workspace.h"

static bool on_reply(struct host_call *call, const struct frame *frame, void *arg)
{
    struct json **said = arg;

    if (hosts_reply_error(frame->head, &call->err) == 0)
        *said = json_copy(frame->head);
    return true;
}

/* Answers when the host refused the request, or did not take it. */
static void answer_failure(struct request *request, const struct roster *roster, const char *what)
{
    struct err err = ERR_INIT;

    (void)roster_failure(roster, 0, what, &err);
    if (roster_lost_host(roster, 0))
        err.code = MAS_CONFLICT;
    answer_err(request, &err, roster->calls[0].answer == HOST_ANSWERED ? 409 : 410);
}

int agent_open(const struct request *request, const char *what, const char *target,
               struct roster *roster, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_close_ int dir = workspace_open(root, request->id);
    struct roster_team team;

    if (dir == -1 && errno == ENOENT)
        return err_set(err, MAS_NOT_FOUND, "there is no session '%s'", request->id);
    if (dir != -1 && owner_check(root, dir, request->id, what, err) == -1)
        return -1;
    if (roster_open(root, request->id, &team, err) == -1)
        return -1;
    return roster_add(roster, &team, target, err);
}

int agent_open_one(const struct request *request, const char *what, struct roster *roster,
                   struct err *err)
{
    if (agent_open(request, what, request->agent, roster, err) == -1)
        return -1;
    if (roster->count == 1 && strcmp(roster->agents[0].agent->id, request->agent) == 0)
        return 0; /* and not the name of a group */
    return err_set(err, MAS_NOT_FOUND, "there is no agent '%s' in this session", request->agent);
}

bool agent_ask(struct request *request, const struct roster_request *ask, int wait_ms,
               struct json **ret)
{
    struct json *said = NULL;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct err err = ERR_INIT;

    if (agent_open_one(request, ask->what, &roster, &err) == -1) {
        answer_err(request, &err, 409);
        return false;
    }
    if (roster_ask_live(&request->server->root, &roster, ask, &err) == -1) {
        answer_err(request, &err, 410);
        return false;
    }
    hosts_finish(roster.calls, roster.asked, wait_ms, on_reply, &said);
    if (said == NULL) {
        answer_failure(request, &roster, ask->what);
        return false;
    }
    *ret = said;
    return true;
}

void agent_answer(struct request *request, int status, const struct json *said)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", request->id);
    for (const struct json *node = json_first(said); node != NULL; node = json_next(node))
        if (strcmp(json_key(node), "ok") != 0)
            json_put_node(&out, json_key(node), node);
    json_close(&out, '}');
    answer_json(request, status, &body);
}
