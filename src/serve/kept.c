/* The sessions that an ACP agent itself keeps: its host asks the agent. */
#include "protocol/host.h"
#include "serve/agent.h"
#include "serve/api.h"

static bool wants_all(const struct request *request)
{
    return json_bool(json_get(request->json, "all"), false);
}

static void run_kept(struct job *job)
{
    struct request *request = api_request(job);
    _cleanup_json_ struct json *said = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "kept");
    if (request->method == METHOD_DELETE && wants_all(request))
        json_put_bool(&out, "all", true);
    else if (request->method == METHOD_DELETE)
        json_put(&out, "session", json_get_text(request->json, "session"));
    json_close(&out, '}');
    const struct roster_request ask = {.what = "ask for the sessions of", .head = str_text(&head)};
    if (agent_ask(request, &ask, HOST_KEPT_MS, &said))
        agent_answer(request, 200, said);
}

/* What is to be deleted is always named, so that nobody deletes all by leaving something out. */
enum handled api_kept(struct request *request)
{
    const char *session = json_get_text(request->json, "session");

    if (session != NULL && (session[0] == '\0' || str_has_control(session)))
        answer_error(request, 400, "cannot use the query session: it is not the id of a session");
    else if (request->method == METHOD_DELETE && (session != NULL) == wants_all(request))
        answer_error(request, 400, "cannot do without one of the queries session and all=true");
    else
        return api_later(request, run_kept);
    return HANDLED_NOW;
}
